/* SPDX-License-Identifier: Apache-2.0 */
#include "../../../host/metadata_filter.h"
#include "slu/base/macros.h"
#include "slu/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The parameter as it stands after the server's first decoding (providers.md 1.5). */
static void
test_a_filter_is_decoded_twice_more(void **state)
{
    (void) state;

    static const struct {
        const char *text;
        const char *pairs;
    } cases[] = {
        {"a=b%2520c&k=x%2526y", "{\"a\":\"b c\",\"k\":\"x&y\"}"},
        {"a=1", "{\"a\":\"1\"}"},
        {"a=", "{\"a\":\"\"}"},
        {"a%253Db=1", "{\"a=b\":\"1\"}"},
        {"", "{}"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        json_t *pairs = NULL;
        struct slu_error error;
        assert_int_equal(slu_host_metadata_parse(cases[i].text, &pairs, &error), SLU_OK);
        json_t *expected = json_loads(cases[i].pairs, 0, NULL);
        assert_true(json_equal(pairs, expected));
        json_decref(pairs);
        json_decref(expected);
    }
}

static void
test_a_filter_that_cannot_be_read_is_an_error(void **state)
{
    (void) state;
    static const char *const cases[] = {"a", "a=b=c", "=x", "%zz", "a=%25zz", "a=1&b", "a=%2500"};
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        json_t *pairs = NULL;
        struct slu_error error;
        assert_int_equal(slu_host_metadata_parse(cases[i], &pairs, &error), SLU_INVALID);
        assert_non_null(strstr(error.message, "metadata"));
    }
}

static void
test_every_pair_must_match_exactly(void **state)
{
    (void) state;
    json_t *metadata = json_loads("{\"a\":\"1\",\"b\":\"2\"}", 0, NULL);

    static const struct {
        const char *pairs;
        bool matches;
    } cases[] = {
        {"{}", true},
        {"{\"a\":\"1\"}", true},
        {"{\"a\":\"1\",\"b\":\"2\"}", true},
        {"{\"a\":\"1\",\"b\":\"3\"}", false},
        {"{\"c\":\"1\"}", false},
        {"{\"a\":\"\"}", false},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        json_t *pairs = json_loads(cases[i].pairs, 0, NULL);
        assert_int_equal(slu_host_metadata_matches(metadata, pairs), cases[i].matches);
        json_decref(pairs);
    }
    json_decref(metadata);
}

static void
test_a_cursor_comes_back_as_it_went(void **state)
{
    (void) state;
    for (int ascending = 0; ascending < 2; ascending++) {
        const struct slu_host_cursor cursor = {
            .created_at_ms = 1764469512345, .id = "i0123456789", .ascending = ascending};
        struct slu_host_cursor again;
        struct slu_error error;
        char *text = slu_host_cursor_encode(&cursor);
        assert_int_equal(slu_host_cursor_decode(text, &again, &error), SLU_OK);
        assert_int_equal(again.created_at_ms, cursor.created_at_ms);
        assert_string_equal(again.id, cursor.id);
        assert_int_equal(again.ascending, ascending);
        slu_free_ptr(&text);
    }
}

static void
test_a_cursor_of_somebody_else_is_refused(void **state)
{
    (void) state;
    static const char *const cases[] = {"", "!", "bm90LW91cnM", "MjAyNi0xMS0zMFQwMjo0NToxMi4wMDBa"};
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct slu_host_cursor cursor;
        struct slu_error error;
        assert_int_equal(slu_host_cursor_decode(cases[i], &cursor, &error), SLU_INVALID);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_filter_is_decoded_twice_more),
        cmocka_unit_test(test_a_filter_that_cannot_be_read_is_an_error),
        cmocka_unit_test(test_every_pair_must_match_exactly),
        cmocka_unit_test(test_a_cursor_comes_back_as_it_went),
        cmocka_unit_test(test_a_cursor_of_somebody_else_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
