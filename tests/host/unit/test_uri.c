/* SPDX-License-Identifier: Apache-2.0 */
#include "../../../host/uri.h"
#include "slu/base/macros.h"
#include "slu/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
test_paths_mean_what_a_shell_at_home_would_say(void **state)
{
    (void) state;

    static const struct {
        const char *path;
        const char *resolved;
    } cases[] = {
        {"/a/b", "/a/b"},          {"a", "/home/user/a"},
        {"~", "/home/user"},       {"~/x", "/home/user/x"},
        {"~x", "/home/user/~x"},   {"/", "/"},
        {"//a///b//", "/a/b"},     {"/a/./b/../c", "/a/c"},
        {"/../..", "/"},           {"../../../etc", "/etc"},
        {".", "/home/user"},       {"/a/..", "/"},
        {"...", "/home/user/..."}, {"/a b/\xc3\xbc", "/a b/\xc3\xbc"},
    };

    char resolved[SLU_HOST_PATH_MAX];
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        assert_true(slu_host_uri_sandbox_path(cases[i].path, resolved));
        assert_string_equal(resolved, cases[i].resolved);
    }
    assert_false(slu_host_uri_sandbox_path("", resolved));

    char long_path[2 * SLU_HOST_PATH_MAX];
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_false(slu_host_uri_sandbox_path(long_path, resolved));
}

static void
test_decoding_refuses_broken_escapes_and_nul(void **state)
{
    (void) state;

    static const struct {
        const char *text;
        bool plus;
        const char *decoded; /* NULL: refused. */
    } cases[] = {
        {"a%20b", false, "a b"}, {"a+b", false, "a+b"},   {"a+b", true, "a b"},
        {"%2F%3a", false, "/:"}, {"", false, ""},         {"%", false, NULL},
        {"%2", false, NULL},     {"%2g", false, NULL},    {"%00", false, NULL},
        {"x%zz", true, NULL},    {"%252F", false, "%2F"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        char *decoded = NULL;
        const bool good =
            slu_host_uri_decode(cases[i].text, strlen(cases[i].text), cases[i].plus, &decoded);
        assert_int_equal(good, cases[i].decoded != NULL);
        if (good)
            assert_string_equal(decoded, cases[i].decoded);
        if (good)
            slu_free_ptr(&decoded);
    }
}

static void
test_a_pattern_takes_one_segment(void **state)
{
    (void) state;

    static const struct {
        const char *pattern;
        const char *path;
        bool matches;
        const char *segment;
    } cases[] = {
        {"/health", "/health", true, NULL},
        {"/health", "/health/", false, NULL},
        {"/health", "/healt", false, NULL},
        {"/sandboxes/{id}", "/sandboxes/i1", true, "i1"},
        {"/sandboxes/{id}", "/sandboxes/", false, NULL},
        {"/sandboxes/{id}", "/sandboxes/a/b", false, NULL},
        {"/sandboxes/{id}/pause", "/sandboxes/i1/pause", true, "i1"},
        {"/sandboxes/{id}/pause", "/sandboxes//pause", false, NULL},
        {"/templates/{id}", "/templates/t%3Adefault", true, "t:default"},
        {"/templates/{id}", "/templates/a%2Fb", true, "a/b"},
        {"/templates/{id}", "/templates/%zz", false, NULL},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        char *segment = NULL;
        const bool matches =
            slu_host_uri_match(cases[i].pattern, cases[i].path, strlen(cases[i].path), &segment);
        assert_int_equal(matches, cases[i].matches);
        if (matches && cases[i].segment)
            assert_string_equal(segment, cases[i].segment);
        if (matches && segment)
            slu_free_ptr(&segment);
    }
}

static void
test_a_query_gives_the_first_value_of_a_name(void **state)
{
    (void) state;
    static const char query[] = "ab=0&a=1%262&a=3&empty=&bad=%zz";
    char *value = slu_host_uri_query(query, "a");
    assert_string_equal(value, "1&2");
    slu_free_ptr(&value);
    value = slu_host_uri_query(query, "empty");
    assert_string_equal(value, "");
    slu_free_ptr(&value);
    assert_null(slu_host_uri_query(query, "bad"));
    assert_null(slu_host_uri_query(query, "b"));
    assert_null(slu_host_uri_query(NULL, "a"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_mean_what_a_shell_at_home_would_say),
        cmocka_unit_test(test_decoding_refuses_broken_escapes_and_nul),
        cmocka_unit_test(test_a_pattern_takes_one_segment),
        cmocka_unit_test(test_a_query_gives_the_first_value_of_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
