/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange.h"

static void
test_every_type_is_found_and_no_other(void **state)
{
    (void) state;
    assert_string_equal(slu_provider_find("e2b")->type, "e2b");
    assert_string_equal(slu_provider_find("local")->type, "local");
    assert_null(slu_provider_find("E2B"));
    assert_null(slu_provider_find(""));
}

static void
test_capabilities_are_sorted_and_known(void **state)
{
    (void) state;
    static const char *const types[] = {"e2b", "local"};
    for (size_t t = 0; t < SLU_COUNT(types); t++) {
        const char *const *words = slu_provider_find(types[t])->capabilities;
        for (size_t i = 1; words[i]; i++)
            assert_true(strcmp(words[i - 1], words[i]) < 0);
    }
    assert_true(slu_provider_has(slu_provider_find("local"), "fences"));
    assert_false(slu_provider_has(slu_provider_find("e2b"), "fences"));
    assert_true(slu_provider_has(slu_provider_find("e2b"), "idempotent_create"));
    assert_false(slu_provider_has(slu_provider_find("local"), "checkpoint"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_is_found_and_no_other),
        cmocka_unit_test(test_capabilities_are_sorted_and_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
