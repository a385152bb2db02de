/* SPDX-License-Identifier: Apache-2.0 */
#include "slu/base/macros.h"
#include "slu/base/memory.h"
#include "slu/model/json_slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct slu_slice
slice(const char *text)
{
    return (struct slu_slice){text, strlen(text)};
}

static void
test_slice_finds_members_at_any_depth(void **state)
{
    (void) state;
    const struct slu_slice object =
        slice(" { \"a\" : {\"b\":[1,{\"c\":\"}\"}]} , \"d\":\"\\\"x\", \"e\":-12,\"f\":true } ");
    const struct slu_slice inner = slu_slice_member(slu_slice_member(object, "a"), "b");
    assert_true(slu_slice_is(inner, "[1,{\"c\":\"}\"}]"));
    assert_int_equal(slu_slice_int(slu_slice_member(object, "e"), 0), -12);
    assert_true(slu_slice_bool(slu_slice_member(object, "f"), false));
    assert_null(slu_slice_member(object, "g").text);
    assert_null(slu_slice_member(object, "b").text);
}

static void
test_slice_walks_arrays(void **state)
{
    (void) state;
    struct slu_slices slices = slu_slices_of(slice("[1, \"two\",{}]"));
    struct slu_slice name;
    struct slu_slice value;
    assert_true(slu_slices_next(&slices, &name, &value));
    assert_true(slu_slice_is(value, "1"));
    assert_true(slu_slices_next(&slices, &name, &value));
    assert_true(slu_slice_is(value, "\"two\""));
    assert_true(slu_slices_next(&slices, &name, &value));
    assert_true(slu_slice_is(value, "{}"));
    assert_false(slu_slices_next(&slices, &name, &value));
    assert_false(slices.broken);
}

static void
test_slice_undoes_every_escape(void **state)
{
    (void) state;
    SLU_AUTO_FREE char *text =
        slu_slice_strdup(slice("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20ac\\ud83d\\ude00\""));
    assert_string_equal(text, "\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

static void
test_slice_copies_only_what_fits(void **state)
{
    (void) state;
    char text[4];
    assert_true(slu_slice_copy(slice("\"abc\""), text, sizeof text));
    assert_string_equal(text, "abc");
    assert_false(slu_slice_copy(slice("\"abcd\""), text, sizeof text));
    assert_false(slu_slice_copy(slice("12"), text, sizeof text));
}

static const char *const broken[] = {
    "{",          "{\"a\"",     "{\"a\":", "{\"a\":1", "{\"a\" 1}", "{a:1}", "{\"a\":1 \"b\":2}",
    "{\"a\":[1}", "{\"a\":\"x", "[1",      "[,]",      "{\"a\":}",  "{\"\\",
};

static void
test_slice_stops_at_broken_text_without_reading_beyond_it(void **state)
{
    (void) state;
    for (size_t i = 0; i < SLU_COUNT(broken); i++) {
        const size_t size = strlen(broken[i]);
        char *exact = malloc(size); /* So that a sanitizer sees one byte too many. */
        assert_non_null(exact);
        memcpy(exact, broken[i], size);
        struct slu_slices slices = slu_slices_of((struct slu_slice){exact, size});
        struct slu_slice name;
        struct slu_slice value;
        int members = 0;
        while (slu_slices_next(&slices, &name, &value))
            members++;
        if (!slices.broken || members > 1)
            fail_msg("'%s': %d members, broken %d", broken[i], members, slices.broken);
        free(exact);
    }
}

static void
test_slice_refuses_numbers_that_are_none(void **state)
{
    (void) state;
    assert_int_equal(slu_slice_int(slice("1.5"), 7), 7);
    assert_int_equal(slu_slice_int(slice("-"), 7), 7);
    assert_int_equal(slu_slice_int(slice("9999999999999999999"), 7), 7);
    assert_int_equal(slu_slice_int(slice("9007199254740991"), 7), 9007199254740991);
    assert_int_equal(slu_slice_int((struct slu_slice){0}, 7), 7);
}

static void
test_slice_refuses_half_a_surrogate_pair(void **state)
{
    (void) state;
    struct slu_buffer out = {0};
    assert_false(slu_slice_text(slice("\"\\ud83d\""), &out));
    assert_false(slu_slice_text(slice("\"\\u12\""), &out));
    slu_buffer_done(&out);
}

static void
test_slice_finds_several_members_in_one_walk(void **state)
{
    (void) state;
    static const char text[] = "{\"a\":\"x\\\"}{\",\"b\":[1,{\"c\":2}],\"c\":3,\"a\":4}";
    static const char *const names[] = {"c", "a", "missing", "b"};
    struct slu_slice values[SLU_COUNT(names)];
    slu_slice_members((struct slu_slice){text, strlen(text)}, names, SLU_COUNT(names), values);
    assert_true(slu_slice_is(values[0], "3"));
    assert_true(slu_slice_is(values[1], "\"x\\\"}{\"")); /* The first of two. */
    assert_null(values[2].text);
    assert_true(slu_slice_is(values[3], "[1,{\"c\":2}]"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slice_finds_members_at_any_depth),
        cmocka_unit_test(test_slice_finds_several_members_in_one_walk),
        cmocka_unit_test(test_slice_walks_arrays),
        cmocka_unit_test(test_slice_undoes_every_escape),
        cmocka_unit_test(test_slice_copies_only_what_fits),
        cmocka_unit_test(test_slice_stops_at_broken_text_without_reading_beyond_it),
        cmocka_unit_test(test_slice_refuses_numbers_that_are_none),
        cmocka_unit_test(test_slice_refuses_half_a_surrogate_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
