/* SPDX-License-Identifier: Apache-2.0 */
/* The look by labels: what counts, and which lists prove nothing by what they lack. */
#include "exchange.h"

#define A(...) .answers = {__VA_ARGS__}

static const struct {
    const char *name;
    const char *answers[ANSWERS_MAX];
    enum slu_outcome outcome;
    bool incomplete;
    int seen_count;
} cases[] = {
    /* clang-format off */
    {"none, to the end of the list", A("list-none"), SLU_OUTCOME_DONE, false, 0},
    {"one", A("list-one"), SLU_OUTCOME_DONE, false, 1},
    {"two: the surplus one is seen too", A("list-two"), SLU_OUTCOME_DONE, false, 2},
    {"an ignored filter: foreign ones are left out, the list proves nothing", A("list-foreign"), SLU_OUTCOME_DONE, true, 1},
    {"only foreign ones: absence is not proven", A("list-foreign-only"), SLU_OUTCOME_DONE, true, 0},
    {"two pages, one of them seen again after a resume", A("list-page-1", "list-page-2"), SLU_OUTCOME_DONE, false, 2},
    {"a page that comes again", A("list-page-1", "list-page-1-again"), SLU_OUTCOME_DONE, true, 1},
    {"a cursor that comes again", A("list-page-1", "list-page-same-cursor"), SLU_OUTCOME_DONE, true, 2},
    {"an item that cannot be read", A("list-unreadable-item"), SLU_OUTCOME_DONE, true, 1},
    {"more than there is room for", A("list-many"), SLU_OUTCOME_DONE, true, SLU_SEEN_MAX},
    {"no array", A("list-object"), SLU_OUTCOME_AMBIGUOUS, false, 0},
    {"HTML", A("get-html"), SLU_OUTCOME_AMBIGUOUS, false, 0},
    {"404 is no proof for a list", A("gone"), SLU_OUTCOME_AMBIGUOUS, false, 0},
    {"401", A("401"), SLU_OUTCOME_AMBIGUOUS, false, 0},
    {"429 on the second page", A("list-page-1", "429-rate"), SLU_OUTCOME_CAPACITY, false, 1},
    {"the second page never sent", A("list-page-1", "!never-sent"), SLU_OUTCOME_AMBIGUOUS, false, 1},
    /* clang-format on */
};

static void
test_list_says_what_was_seen_and_what_is_proven(void **state)
{
    (void) state;
    const struct slu_provider_instance instance = exchange_instance("e2b", "https://api.e2b.app");
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct slu_call *call = exchange_call(SLU_ACTION_INSPECT, NULL);
        call->by_label = true;
        const struct slu_facts facts =
            exchange_play(slu_provider_find("e2b"), &instance, call, cases[i].answers, NULL);
        if (facts.outcome != cases[i].outcome || facts.incomplete != cases[i].incomplete ||
            facts.seen_count != cases[i].seen_count)
            fail_msg("%s: %s, incomplete %d, seen %d", cases[i].name,
                     slu_outcome_names[facts.outcome], facts.incomplete, facts.seen_count);
        slu_call_free(call);
    }
}

/* A server that always has one more page, each different, is cut off. */
static void
test_list_ends_after_a_bounded_number_of_pages(void **state)
{
    (void) state;
    const struct slu_provider *provider = slu_provider_find("e2b");
    const struct slu_provider_instance instance = exchange_instance("e2b", "https://api.e2b.app");
    struct slu_call *call = exchange_call(SLU_ACTION_INSPECT, NULL);
    struct slu_exchange exchange = {0};
    call->by_label = true;

    int pages = 0;
    for (enum slu_more more = SLU_MORE; more == SLU_MORE && pages < 1000; pages++) {
        struct slu_http_response response = {.end = SLU_HTTP_ANSWERED, .status = 200};
        snprintf(response.headers[0].name, sizeof(response.headers[0].name), "content-type");
        snprintf(response.headers[0].value, sizeof(response.headers[0].value), "application/json");
        snprintf(response.headers[1].name, sizeof(response.headers[1].name), "x-next-token");
        snprintf(response.headers[1].value, sizeof(response.headers[1].value), "c%d", pages);
        response.header_count = 2;
        slu_buffer_printf(&response.body, "[{\"sandboxID\":\"x%d\",\"state\":\"running\"}]", pages);
        more = provider->response(&instance, call, &exchange, &response);
        slu_http_response_done(&response);
    }
    assert_int_equal(pages, 20);
    assert_true(exchange.facts.incomplete);
    slu_call_free(call);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_says_what_was_seen_and_what_is_proven),
        cmocka_unit_test(test_list_ends_after_a_bounded_number_of_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
