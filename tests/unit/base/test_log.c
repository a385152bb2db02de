/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines, read back through a pipe in the place of standard error. */
#include "slu/base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Runs one SLU_LOG and gives its line behind the time stamp. */
#define LOGGED(ret_line, ...)                                                     \
    do {                                                                          \
        int pipe_ends[2];                                                         \
        assert_int_equal(pipe(pipe_ends), 0);                                     \
        const int standard_error = dup(STDERR_FILENO);                            \
        assert_true(dup2(pipe_ends[1], STDERR_FILENO) >= 0);                      \
        SLU_LOG(__VA_ARGS__);                                                     \
        assert_true(dup2(standard_error, STDERR_FILENO) >= 0);                    \
        close(standard_error);                                                    \
        close(pipe_ends[1]);                                                      \
        const ssize_t got = read(pipe_ends[0], (ret_line), sizeof(ret_line) - 1); \
        close(pipe_ends[0]);                                                      \
        assert_true(got >= 0);                                                    \
        (ret_line)[got] = '\0';                                                   \
    } while (0)

static const char *
behind_time(const char *line)
{
    const char *level = strstr(line, "level");
    assert_non_null(level);
    return level;
}

static void
test_a_line_is_keys_and_values(void **state)
{
    (void) state;
    char line[4096];
    slu_log_setup("sluice-test", SLU_LOG_INFO, false);
    LOGGED(line, WARN, "plan", SLU_TEXT("id", "sbx-1"), SLU_TEXT("reason", "two words"),
           SLU_INT("shard", -3));
    assert_string_equal(
        behind_time(line),
        "level=warn program=sluice-test event=plan id=sbx-1 reason=\"two words\" shard=-3\n");
    assert_int_equal(strncmp(line, "time=2", 6), 0);
}

static void
test_a_line_is_json_when_asked(void **state)
{
    (void) state;
    char line[4096];
    slu_log_setup("sluice-test", SLU_LOG_INFO, true);
    LOGGED(line, ERROR, "plan", SLU_TEXT("id", "a\"b"), SLU_INT("shard", 3));
    assert_string_equal(behind_time(line), "level\":\"error\",\"program\":\"sluice-test\","
                                           "\"event\":\"plan\",\"id\":\"a\\\"b\",\"shard\":3}\n");
    assert_int_equal(line[0], '{');
}

static void
test_text_from_outside_cannot_break_its_line(void **state)
{
    (void) state;
    char line[4096];
    slu_log_setup("sluice-test", SLU_LOG_INFO, false);
    LOGGED(line, INFO, "plan", SLU_TEXT("id", "x\nlevel=error event=forged \xff \x1b[31m"));
    assert_non_null(strstr(line, "id=\"x\\nlevel=error event=forged ? \\u001B[31m\"\n"));
    assert_ptr_equal(strchr(line, '\n') + 1, line + strlen(line));
}

static void
test_long_values_are_cut_at_1_kib(void **state)
{
    (void) state;
    char line[4096], text[2001];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    slu_log_setup("sluice-test", SLU_LOG_INFO, false);
    LOGGED(line, INFO, "plan", SLU_TEXT("id", text));

    const char *value = strstr(line, "id=\"");
    assert_non_null(value);
    assert_int_equal(strspn(value + 4, "a"), 1024);
    assert_string_equal(value + 4 + 1024, "…\"\n");
}

static void
test_what_is_below_the_level_is_not_written(void **state)
{
    (void) state;
    char line[64];
    slu_log_setup("sluice-test", SLU_LOG_WARN, false);
    LOGGED(line, INFO, "plan", SLU_INT("shard", 1));
    assert_string_equal(line, "");
}

static void
test_levels_have_names(void **state)
{
    (void) state;
    enum slu_log_level level = SLU_LOG_ERROR;
    assert_true(slu_log_level_parse("debug", &level));
    assert_int_equal(level, SLU_LOG_DEBUG);
    assert_true(slu_log_level_parse("error", &level));
    assert_int_equal(level, SLU_LOG_ERROR);
    assert_false(slu_log_level_parse("loud", &level));
    assert_int_equal(level, SLU_LOG_ERROR);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_is_keys_and_values),
        cmocka_unit_test(test_a_line_is_json_when_asked),
        cmocka_unit_test(test_text_from_outside_cannot_break_its_line),
        cmocka_unit_test(test_long_values_are_cut_at_1_kib),
        cmocka_unit_test(test_what_is_below_the_level_is_not_written),
        cmocka_unit_test(test_levels_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
