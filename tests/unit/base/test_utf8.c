/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: what is a character, and where one may cut. */
#include "slu/base/macros.h"
#include "slu/base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
test_lengths_follow_the_table_of_well_formed_sequences(void **state)
{
    (void) state;

    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        {"a", 1},
        {"\xc2\x80", 2},
        {"\xdf\xbf", 2},
        {"\xe0\xa0\x80", 3},
        {"\xed\x9f\xbf", 3},
        {"\xef\xbf\xbf", 3},
        {"\xf0\x90\x80\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\x80", 0},             /* A continuation alone. */
        {"\xc0\x80", 0},         /* Overlong NUL. */
        {"\xc1\xbf", 0},         /* Overlong. */
        {"\xe0\x9f\xbf", 0},     /* Overlong. */
        {"\xed\xa0\x80", 0},     /* A surrogate. */
        {"\xf0\x8f\xbf\xbf", 0}, /* Overlong. */
        {"\xf4\x90\x80\x80", 0}, /* Above U+10FFFF. */
        {"\xf5\x80\x80\x80", 0},
        {"\xff", 0},
        {"\xc3", 0}, /* Incomplete. */
        {"\xe2\x9c", 0},
        {"\xe2\x9c\x41", 0},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        if (slu_utf8_length(cases[i].bytes, strlen(cases[i].bytes)) != cases[i].length)
            fail_msg("case %zu: not %zu bytes", i, cases[i].length);
    }
    assert_int_equal(slu_utf8_length("", 0), 0);
}

static void
test_cut_never_halves_a_character(void **state)
{
    (void) state;
    const char text[] = "aé✓";
    assert_int_equal(slu_utf8_cut(text, 6, 6), 6);
    assert_int_equal(slu_utf8_cut(text, 6, 5), 3);
    assert_int_equal(slu_utf8_cut(text, 6, 4), 3);
    assert_int_equal(slu_utf8_cut(text, 6, 3), 3);
    assert_int_equal(slu_utf8_cut(text, 6, 2), 1);
    assert_int_equal(slu_utf8_cut(text, 6, 0), 0);
}

static void
test_trim_takes_an_incomplete_end_away(void **state)
{
    (void) state;

    static const struct {
        const char *before, *after;
    } cases[] = {
        {"", ""}, {"abc", "abc"}, {"aé", "aé"}, {"a\xc3", "a"}, {"a\xe2\x9c", "a"}, {"✓", "✓"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        char text[16] = "";
        memcpy(text, cases[i].before, strlen(cases[i].before));
        slu_utf8_trim(text);
        assert_string_equal(text, cases[i].after);
    }
}

static void
test_count_counts_characters(void **state)
{
    (void) state;
    assert_int_equal(slu_utf8_count("aé✓", 6), 3);
    assert_int_equal(slu_utf8_count("", 0), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths_follow_the_table_of_well_formed_sequences),
        cmocka_unit_test(test_cut_never_halves_a_character),
        cmocka_unit_test(test_trim_takes_an_incomplete_end_away),
        cmocka_unit_test(test_count_counts_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
