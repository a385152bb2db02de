/* SPDX-License-Identifier: Apache-2.0 */
/* What each answer means: the life table of behaviour.md §2 and the classes of providers.md §6, on
 * answers recorded from the wire. */
#include "exchange.h"

#define A(...)    .answers = {__VA_ARGS__}
#define OUT(word) .outcome = SLU_OUTCOME_##word

static const char egress_spec[] =
    "{\"provider\":\"main\",\"egressRules\":[{\"action\":\"deny\",\"target\":\"0.0.0.0/0\"}]}";

static const struct {
    const char *name;
    enum slu_action action;
    const char *answers[ANSWERS_MAX];
    enum slu_outcome outcome;
    enum slu_life life; /* Of seen[0]; UNKNOWN with seen_count 0. */
    const char *external_id;
    const char *spec;
    const char *requests; /* NULL: not looked at. */
    int64_t retry_after_ms;
} cases[] = {
    /* clang-format off */
    /* --- behaviour.md §2, column E2B --- */
    {"running", SLU_ACTION_INSPECT, A("get-running"), OUT(DONE), SLU_LIFE_RUNNING, "i000000000000001", .requests = "GET /sandboxes/i000000000000001\n"},
    {"paused", SLU_ACTION_INSPECT, A("get-paused"), OUT(DONE), SLU_LIFE_PAUSED, "i000000000000001"},
    {"the older spelling of the id is the same sandbox", SLU_ACTION_INSPECT, A("get-old-spelling"), OUT(DONE), SLU_LIFE_RUNNING, "i000000000000001-c"},
    {"404 with code 404 is gone", SLU_ACTION_INSPECT, A("gone"), OUT(GONE)},
    {"404 of a proxy is not gone", SLU_ACTION_INSPECT, A("404-of-a-proxy"), OUT(AMBIGUOUS)},
    {"404 whose code says otherwise is not gone", SLU_ACTION_INSPECT, A("404-other-code"), OUT(AMBIGUOUS)},
    {"no answer is unknown", SLU_ACTION_INSPECT, A("!timed out"), OUT(AMBIGUOUS)},
    {"never sent says so", SLU_ACTION_INSPECT, A("!never-sent"), OUT(NEVER_SENT)},
    {"401 is unknown, never gone", SLU_ACTION_INSPECT, A("401"), OUT(AMBIGUOUS)},
    {"403 is unknown, never gone", SLU_ACTION_INSPECT, A("403"), OUT(AMBIGUOUS)},
    {"500 is unknown", SLU_ACTION_INSPECT, A("500"), OUT(AMBIGUOUS)},
    {"502 is unknown", SLU_ACTION_INSPECT, A("502-of-a-proxy"), OUT(AMBIGUOUS)},
    {"503 is unknown", SLU_ACTION_INSPECT, A("503-own"), OUT(AMBIGUOUS)},
    {"429 is capacity", SLU_ACTION_INSPECT, A("429-rate"), OUT(CAPACITY), .retry_after_ms = 1000},
    {"a body cut off is unknown", SLU_ACTION_INSPECT, A("get-cut-off"), OUT(AMBIGUOUS)},
    {"a page in HTML is unknown", SLU_ACTION_INSPECT, A("get-html"), OUT(AMBIGUOUS)},
    {"JSON that does not say it is JSON is unknown", SLU_ACTION_INSPECT, A("get-html-json"), OUT(AMBIGUOUS)},
    {"an empty answer is unknown", SLU_ACTION_INSPECT, A("200-empty"), OUT(AMBIGUOUS)},
    {"no state is unknown", SLU_ACTION_INSPECT, A("get-no-state"), OUT(AMBIGUOUS)},
    {"a new word for the state is unknown", SLU_ACTION_INSPECT, A("get-new-word"), OUT(AMBIGUOUS), SLU_LIFE_UNKNOWN, "i000000000000001"},
    {"another sandbox's answer is unknown", SLU_ACTION_INSPECT, A("get-other-id"), OUT(AMBIGUOUS)},
    {"unreadable times do not matter", SLU_ACTION_INSPECT, A("get-bad-times"), OUT(DONE), SLU_LIFE_RUNNING, "i000000000000001"},
    {"anything new is unknown", SLU_ACTION_INSPECT, A("418"), OUT(AMBIGUOUS)},

    /* --- create --- */
    {"created", SLU_ACTION_CREATE, A("created"), OUT(DONE), SLU_LIFE_RUNNING, "i000000000000001", .requests = "POST /v2/sandboxes\n"},
    {"without the newer route: the older", SLU_ACTION_CREATE, A("404-no-route", "created"), OUT(DONE), SLU_LIFE_RUNNING, "i000000000000001", .requests = "POST /v2/sandboxes\nPOST /sandboxes\n"},
    {"no such template", SLU_ACTION_CREATE, A("404-template", "404-template"), OUT(PERMANENT)},
    {"a proxy's 404 for both routes proves nothing", SLU_ACTION_CREATE, A("404-of-a-proxy", "404-of-a-proxy"), OUT(AMBIGUOUS)},
    {"create 400", SLU_ACTION_CREATE, A("400"), OUT(PERMANENT)},
    {"create 401", SLU_ACTION_CREATE, A("401"), OUT(PERMANENT)},
    {"create 403", SLU_ACTION_CREATE, A("403"), OUT(PERMANENT)},
    {"create 422", SLU_ACTION_CREATE, A("422"), OUT(PERMANENT)},
    {"create rate limit", SLU_ACTION_CREATE, A("429-rate"), OUT(CAPACITY), .retry_after_ms = 1000},
    {"create limit without a time", SLU_ACTION_CREATE, A("429-limit"), OUT(CAPACITY)},
    {"create limit with a date: back-off decides", SLU_ACTION_CREATE, A("429-date"), OUT(CAPACITY)},
    {"no capacity", SLU_ACTION_CREATE, A("503-capacity"), OUT(CAPACITY), .retry_after_ms = 7000},
    {"no node", SLU_ACTION_CREATE, A("503-no-node"), OUT(CAPACITY)},
    {"503 of the API", SLU_ACTION_CREATE, A("503-own"), OUT(CAPACITY)},
    {"503 of a proxy may have happened", SLU_ACTION_CREATE, A("503-of-a-proxy"), OUT(AMBIGUOUS)},
    {"boot not confirmed", SLU_ACTION_CREATE, A("503-boot-unconfirmed"), OUT(AMBIGUOUS)},
    {"placement timed out", SLU_ACTION_CREATE, A("504-placement"), OUT(AMBIGUOUS)},
    {"create 500", SLU_ACTION_CREATE, A("500-create-failed"), OUT(AMBIGUOUS)},
    {"create refused for good", SLU_ACTION_CREATE, A("500-create-refused"), OUT(PERMANENT)},
    {"create 502", SLU_ACTION_CREATE, A("502-of-a-proxy"), OUT(AMBIGUOUS)},
    {"same key in progress", SLU_ACTION_CREATE, A("409-in-progress"), OUT(BUSY)},
    {"same key, outcome unknown", SLU_ACTION_CREATE, A("409-outcome-unknown"), OUT(AMBIGUOUS)},
    {"same key, other body", SLU_ACTION_CREATE, A("422-mismatch"), OUT(PERMANENT)},
    {"create unanswered", SLU_ACTION_CREATE, A("!reset"), OUT(AMBIGUOUS)},
    {"create never sent", SLU_ACTION_CREATE, A("!never-sent"), OUT(NEVER_SENT)},
    {"created, but the answer names none", SLU_ACTION_CREATE, A("created-no-id"), OUT(AMBIGUOUS)},
    {"created, but the answer is no id", SLU_ACTION_CREATE, A("created-bad-id"), OUT(AMBIGUOUS)},
    {"created, but the body is empty", SLU_ACTION_CREATE, A("200-empty"), OUT(AMBIGUOUS)},
    {"fenced", SLU_ACTION_CREATE, A("409-stale-epoch"), OUT(REJECTED)},

    /* --- resume --- */
    {"resumed", SLU_ACTION_RESUME, A("resumed"), OUT(DONE), SLU_LIFE_RUNNING, "i000000000000001", .requests = "POST /v2/sandboxes/i000000000000001/connect\n"},
    {"was running already", SLU_ACTION_RESUME, A("was-running"), OUT(DONE), SLU_LIFE_RUNNING, "i000000000000001"},
    {"another id came back", SLU_ACTION_RESUME, A("resumed-other-id"), OUT(DONE), SLU_LIFE_RUNNING, "i000000000000009"},
    {"the network's rules are set again", SLU_ACTION_RESUME, A("resumed", "204"), OUT(DONE), SLU_LIFE_RUNNING, "i000000000000001", egress_spec, "POST /v2/sandboxes/i000000000000001/connect\nPUT /sandboxes/i000000000000001/network\n"},
    {"rules that could not be set again are no success", SLU_ACTION_RESUME, A("resumed", "500"), OUT(AMBIGUOUS), SLU_LIFE_RUNNING, "i000000000000001", egress_spec},
    {"resume of what is gone", SLU_ACTION_RESUME, A("gone", "gone"), OUT(GONE), .requests = "POST /v2/sandboxes/i000000000000001/connect\nGET /sandboxes/i000000000000001\n"},
    {"no newer route: the look tells, then the older", SLU_ACTION_RESUME, A("404-no-route", "get-paused", "resumed"), OUT(DONE), SLU_LIFE_RUNNING, "i000000000000001"},
    {"404, and the look fails", SLU_ACTION_RESUME, A("gone", "500"), OUT(AMBIGUOUS)},
    {"404, and the look is not allowed", SLU_ACTION_RESUME, A("gone", "401"), OUT(AMBIGUOUS)},
    {"404, and the look is never sent", SLU_ACTION_RESUME, A("gone", "!never-sent"), OUT(AMBIGUOUS)},
    {"resume 409", SLU_ACTION_RESUME, A("409-being-paused"), OUT(BUSY)},
    {"start in flight", SLU_ACTION_RESUME, A("409-start-in-flight"), OUT(BUSY)},
    {"resume 503 of the API", SLU_ACTION_RESUME, A("503-own"), OUT(BUSY)},
    {"resume unanswered", SLU_ACTION_RESUME, A("!timed out"), OUT(AMBIGUOUS)},
    {"resume 500", SLU_ACTION_RESUME, A("500"), OUT(AMBIGUOUS)},

    /* --- pause --- */
    {"paused by us", SLU_ACTION_PAUSE, A("204"), OUT(DONE), .requests = "POST /sandboxes/i000000000000001/pause\n"},
    {"already paused, and the look agrees", SLU_ACTION_PAUSE, A("409-already-paused", "get-paused"), OUT(DONE), SLU_LIFE_PAUSED, "i000000000000001"},
    {"already paused, but the look says it runs", SLU_ACTION_PAUSE, A("409-already-paused", "get-running"), OUT(BUSY), SLU_LIFE_RUNNING, "i000000000000001"},
    {"already paused, and gone", SLU_ACTION_PAUSE, A("409-already-paused", "gone"), OUT(GONE)},
    {"pause of what is gone", SLU_ACTION_PAUSE, A("gone", "gone"), OUT(GONE)},
    {"pause 404, but it is there", SLU_ACTION_PAUSE, A("gone", "get-running"), OUT(BUSY), SLU_LIFE_RUNNING, "i000000000000001"},
    {"being changed", SLU_ACTION_PAUSE, A("409-being-paused"), OUT(BUSY)},
    {"node busy", SLU_ACTION_PAUSE, A("503-own"), OUT(BUSY)},
    {"pause failed half-way", SLU_ACTION_PAUSE, A("500"), OUT(AMBIGUOUS)},
    {"pause 401", SLU_ACTION_PAUSE, A("401"), OUT(PERMANENT)},

    /* --- delete --- */
    {"deleted", SLU_ACTION_DELETE, A("204"), OUT(DONE), .requests = "DELETE /sandboxes/i000000000000001\n"},
    {"deleted before", SLU_ACTION_DELETE, A("gone"), OUT(DONE)},
    {"a proxy's 404 deletes nothing", SLU_ACTION_DELETE, A("404-of-a-proxy"), OUT(AMBIGUOUS)},
    {"delete refused for now", SLU_ACTION_DELETE, A("409-being-paused"), OUT(BUSY)},
    {"delete 500", SLU_ACTION_DELETE, A("500"), OUT(AMBIGUOUS)},
    {"delete fenced", SLU_ACTION_DELETE, A("409-stale-epoch"), OUT(REJECTED)},

    /* --- extend --- */
    {"extended", SLU_ACTION_EXTEND, A("204"), OUT(DONE), .requests = "POST /sandboxes/i000000000000001/timeout\n"},
    {"extend of what is gone", SLU_ACTION_EXTEND, A("gone", "gone"), OUT(GONE)},
    {"extend of a paused one: look again", SLU_ACTION_EXTEND, A("gone", "get-paused"), OUT(AMBIGUOUS), SLU_LIFE_PAUSED, "i000000000000001"},
    {"extend 409", SLU_ACTION_EXTEND, A("409-being-paused"), OUT(BUSY)},
    {"extend beyond the limit", SLU_ACTION_EXTEND, A("400"), OUT(PERMANENT)},
    /* clang-format on */
};

static void
check_seen(size_t i, const struct slu_facts *facts)
{
    const char *name = cases[i].name;
    if (facts->outcome != cases[i].outcome)
        fail_msg("%s: outcome %s", name, slu_outcome_names[facts->outcome]);
    if (facts->retry_after_ms != cases[i].retry_after_ms)
        fail_msg("%s: retry after %lld ms", name, (long long) facts->retry_after_ms);
    if (!cases[i].external_id)
        return;
    if (facts->seen_count != 1 || facts->seen[0].life != cases[i].life ||
        strcmp(facts->seen[0].external_id, cases[i].external_id) != 0)
        fail_msg("%s: saw %d, first %s %s", name, facts->seen_count, facts->seen[0].external_id,
                 slu_life_names[facts->seen[0].life]);
}

static void
test_response_means_what_the_tables_say(void **state)
{
    (void) state;
    const struct slu_provider_instance instance = exchange_instance("e2b", "https://api.e2b.app");
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        const char *spec = cases[i].spec ? cases[i].spec : "{\"provider\":\"main\"}";
        struct slu_call *call = exchange_call(cases[i].action, spec);
        SLU_AUTO_BUFFER struct slu_buffer requests = {0};

        const struct slu_facts facts =
            exchange_play(slu_provider_find("e2b"), &instance, call, cases[i].answers, &requests);
        check_seen(i, &facts);
        if (cases[i].requests && strcmp(cases[i].requests, requests.data) != 0)
            fail_msg("%s: asked\n%s", cases[i].name, requests.data);
        slu_call_free(call);
    }
}

static void
test_look_carries_labels_and_lease(void **state)
{
    (void) state;
    const struct slu_provider_instance instance = exchange_instance("e2b", "https://api.e2b.app");
    struct slu_call *call = exchange_call(SLU_ACTION_INSPECT, NULL);
    const char *const answers[ANSWERS_MAX] = {"get-running"};

    const struct slu_facts facts =
        exchange_play(slu_provider_find("e2b"), &instance, call, answers, NULL);
    assert_string_equal(facts.seen[0].key, "sandbox/sbx-1");
    assert_string_equal(facts.seen[0].uid, "3-8841");
    assert_int_equal(facts.seen[0].incarnation, 2);
    assert_int_equal(facts.seen[0].lease_expires_at_ms, 1796004420500); /* 2026-11-30T02:07:00.5Z */
    slu_call_free(call);
}

static void
test_paused_has_no_lease(void **state)
{
    (void) state;
    const struct slu_provider_instance instance = exchange_instance("e2b", "https://api.e2b.app");
    struct slu_call *call = exchange_call(SLU_ACTION_INSPECT, NULL);
    const char *const answers[ANSWERS_MAX] = {"get-paused"};

    const struct slu_facts facts =
        exchange_play(slu_provider_find("e2b"), &instance, call, answers, NULL);
    assert_int_equal(facts.seen[0].lease_expires_at_ms, 0);
    slu_call_free(call);
}

static void
test_foreign_labels_read_as_none(void **state)
{
    (void) state;
    static const char *const fixtures[] = {"get-unlabelled", "get-other-cluster"};
    const struct slu_provider_instance instance = exchange_instance("e2b", "https://api.e2b.app");
    struct slu_call *call = exchange_call(SLU_ACTION_INSPECT, NULL);
    for (size_t i = 0; i < SLU_COUNT(fixtures); i++) {
        const char *const answers[ANSWERS_MAX] = {fixtures[i]};
        const struct slu_facts facts =
            exchange_play(slu_provider_find("e2b"), &instance, call, answers, NULL);
        assert_string_equal(facts.seen[0].key, "");
        assert_string_equal(facts.seen[0].uid, "");
        assert_int_equal(facts.seen[0].incarnation, 0);
    }
    slu_call_free(call);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_response_means_what_the_tables_say),
        cmocka_unit_test(test_look_carries_labels_and_lease),
        cmocka_unit_test(test_paused_has_no_lease),
        cmocka_unit_test(test_foreign_labels_read_as_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
