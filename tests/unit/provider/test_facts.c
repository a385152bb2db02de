/* SPDX-License-Identifier: Apache-2.0 */
#include "../../../lib/provider/facts.h"
#include "exchange.h"

static void
test_message_is_cut_at_a_character(void **state)
{
    (void) state;
    char text[1024];
    for (size_t i = 0; i + 1 < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xa9", 2); /* é */
    text[1022] = '\0';
    struct slu_facts facts = {0};
    slu_facts_end(&facts, SLU_OUTCOME_BUSY, "%s", text);
    assert_int_equal(facts.outcome, SLU_OUTCOME_BUSY);
    assert_int_equal(strlen(facts.message), 510);
}

static void
test_message_has_no_control_characters_and_no_broken_ones(void **state)
{
    (void) state;
    struct slu_facts facts = {0};
    slu_facts_end(&facts, SLU_OUTCOME_DONE, "a\nb\x1b[0m\xff c");
    assert_string_equal(facts.message, "a b [0m c");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_is_cut_at_a_character),
        cmocka_unit_test(test_message_has_no_control_characters_and_no_broken_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
