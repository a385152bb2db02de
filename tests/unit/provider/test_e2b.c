/* SPDX-License-Identifier: Apache-2.0 */
/* What E2B has not: other life words than two, fences, sizes. */
#include "exchange.h"

static void
test_e2b_knows_two_life_words(void **state)
{
    (void) state;
    const struct slu_provider_instance instance = exchange_instance("e2b", "http://h:1");
    struct slu_call *call = exchange_call(SLU_ACTION_INSPECT, NULL);
    const char *const answers[ANSWERS_MAX] = {"get-pausing"};
    const struct slu_facts facts =
        exchange_play(slu_provider_find("e2b"), &instance, call, answers, NULL);
    assert_int_equal(facts.outcome, SLU_OUTCOME_AMBIGUOUS);
    assert_int_equal(facts.seen[0].life, SLU_LIFE_UNKNOWN);
    slu_call_free(call);
}

static void
test_e2b_gets_no_fence(void **state)
{
    (void) state;
    const struct slu_provider_instance instance = exchange_instance("e2b", "http://h:1");
    struct slu_call *call = exchange_call(SLU_ACTION_DELETE, NULL);
    const struct slu_exchange exchange = {0};
    struct slu_http_request request = {0};
    assert_int_equal(slu_provider_find("e2b")->request(&instance, call, &exchange, &request, NULL),
                     SLU_OK);
    for (size_t i = 0; i < request.header_count; i++)
        assert_int_not_equal(strncmp(request.headers[i].name, "slu-", 4), 0);
    slu_http_request_done(&request);
    slu_call_free(call);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_e2b_knows_two_life_words),
        cmocka_unit_test(test_e2b_gets_no_fence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
