/* SPDX-License-Identifier: Apache-2.0 */
/* What the host says beyond E2B: all life words, and the fence. */
#include "exchange.h"

static const struct {
    const char *fixture;
    enum slu_outcome outcome;
    enum slu_life life;
} cases[] = {
    {"get-running", SLU_OUTCOME_DONE, SLU_LIFE_RUNNING},
    {"get-paused", SLU_OUTCOME_DONE, SLU_LIFE_PAUSED},
    {"get-pausing", SLU_OUTCOME_DONE, SLU_LIFE_PAUSING},
    {"get-failed", SLU_OUTCOME_DONE, SLU_LIFE_FAILED},
    {"get-new-word", SLU_OUTCOME_AMBIGUOUS, SLU_LIFE_UNKNOWN},
    {"gone", SLU_OUTCOME_GONE, SLU_LIFE_UNKNOWN},
    {"409-stale-epoch", SLU_OUTCOME_REJECTED, SLU_LIFE_UNKNOWN},
};

static void
test_local_knows_every_life_word_and_the_fence(void **state)
{
    (void) state;
    const struct slu_provider_instance instance = exchange_instance("local", "http://h:1");
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct slu_call *call = exchange_call(SLU_ACTION_INSPECT, NULL);
        const char *const answers[ANSWERS_MAX] = {cases[i].fixture};
        const struct slu_facts facts =
            exchange_play(slu_provider_find("local"), &instance, call, answers, NULL);
        if (facts.outcome != cases[i].outcome || facts.seen[0].life != cases[i].life)
            fail_msg("%s: %s, %s", cases[i].fixture, slu_outcome_names[facts.outcome],
                     slu_life_names[facts.seen[0].life]);
        slu_call_free(call);
    }
}

/* A fence may refuse the look inside another call as well. */
static void
test_local_fence_is_heard_in_the_second_exchange(void **state)
{
    (void) state;
    const struct slu_provider_instance instance = exchange_instance("local", "http://h:1");
    struct slu_call *call = exchange_call(SLU_ACTION_PAUSE, NULL);
    const char *const answers[ANSWERS_MAX] = {"409-already-paused", "409-stale-epoch"};
    const struct slu_facts facts =
        exchange_play(slu_provider_find("local"), &instance, call, answers, NULL);
    assert_int_equal(facts.outcome, SLU_OUTCOME_REJECTED);
    slu_call_free(call);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local_knows_every_life_word_and_the_fence),
        cmocka_unit_test(test_local_fence_is_heard_in_the_second_exchange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
