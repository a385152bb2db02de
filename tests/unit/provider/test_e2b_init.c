/* SPDX-License-Identifier: Apache-2.0 */
/* INIT's stream: only the wrapper's own line tells an exit; everything else is "not known". */
#include "../../../lib/provider/connect_frames.h"
#include "exchange.h"

#include <sodium.h>

static const char spec[] =
    "{\"session\":{\"init\":{\"commands\":[\"true\",\"export KEY=hush; make\"]}}}";

static void
add_frame(struct slu_buffer *body, const char *text)
{
    if (strcmp(text, "{}") == 0 || strstr(text, "\"error\"")) {
        const char header[5] = {2, 0, 0, 0, (char) strlen(text)};
        slu_buffer_append(body, header, sizeof(header));
        slu_buffer_puts(body, text);
        return;
    }
    slu_connect_write(body, text, strlen(text));
}

#define START "{\"event\":{\"start\":{\"pid\":42}}}"
#define EXIT_0 \
    "{\"event\":{\"data\":{\"stdout\":\"c2x1LWluaXQgZXhpdCAwCg==\"}}}" /* slu-init exit 0 */
#define EXIT_3         "{\"event\":{\"data\":{\"stdout\":\"c2x1LWluaXQgZXhpdCAzCg==\"}}}"
#define NOISE          "{\"event\":{\"data\":{\"stdout\":\"aGkK\"}}}"
#define KEEPALIVE      "{\"event\":{\"keepalive\":{}}}"
#define PROCESS_END    "{\"event\":{\"end\":{\"exited\":true,\"status\":\"exit status 0\"}}}"
#define END            "{}"
#define END_WITH(code) "{\"error\":{\"code\":\"" code "\",\"message\":\"hush\"}}"

static const struct {
    const char *name;
    const char *frames[6];
    enum slu_outcome outcome;
    int exit_code; /* −1: none. */
} cases[] = {
    /* clang-format off */
    {"exit 0", {START, EXIT_0, PROCESS_END, END}, SLU_OUTCOME_DONE, 0},
    {"exit 3", {START, KEEPALIVE, EXIT_3, PROCESS_END, END}, SLU_OUTCOME_DONE, 3},
    {"no line of the wrapper", {START, PROCESS_END, END}, SLU_OUTCOME_AMBIGUOUS, -1},
    {"something else before it", {START, NOISE, EXIT_0, PROCESS_END, END}, SLU_OUTCOME_AMBIGUOUS, -1},
    {"the line twice", {START, EXIT_0, EXIT_0, PROCESS_END, END}, SLU_OUTCOME_AMBIGUOUS, -1},
    {"the process's end is missing", {START, EXIT_0, END}, SLU_OUTCOME_AMBIGUOUS, -1},
    {"the stream's end is missing", {START, EXIT_0, PROCESS_END}, SLU_OUTCOME_AMBIGUOUS, -1},
    {"no JSON in a frame", {START, "{", END}, SLU_OUTCOME_AMBIGUOUS, -1},
    {"deadline", {START, END_WITH("deadline_exceeded")}, SLU_OUTCOME_AMBIGUOUS, -1},
    {"unavailable", {END_WITH("unavailable")}, SLU_OUTCOME_AMBIGUOUS, -1},
    {"no such folder", {END_WITH("invalid_argument")}, SLU_OUTCOME_PERMANENT, -1},
    {"too many processes", {END_WITH("resource_exhausted")}, SLU_OUTCOME_CAPACITY, -1},
    /* clang-format on */
};

static struct slu_facts
play(const char *const *frames, const char *type, int status)
{
    const struct slu_provider_instance instance = exchange_instance("e2b", "https://api.e2b.app");
    struct slu_call *call = exchange_call(SLU_ACTION_INIT, spec);
    struct slu_exchange exchange = {.step = 4};
    struct slu_http_response response = {.end = SLU_HTTP_ANSWERED, .status = status};
    snprintf(response.headers[0].name, sizeof(response.headers[0].name), "content-type");
    snprintf(response.headers[0].value, sizeof(response.headers[0].value), "%s", type);
    response.header_count = 1;
    for (int i = 0; frames[i]; i++)
        add_frame(&response.body, frames[i]);

    assert_int_equal(slu_provider_find("e2b")->response(&instance, call, &exchange, &response),
                     SLU_LAST);
    slu_http_response_done(&response);
    slu_call_free(call);
    return exchange.facts;
}

static void
test_stream_tells_the_exit_or_nothing(void **state)
{
    (void) state;
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        const struct slu_facts facts = play(cases[i].frames, "application/connect+json", 200);
        const int exit_code = facts.has_exit ? facts.exit_code : -1;
        if (facts.outcome != cases[i].outcome || exit_code != cases[i].exit_code)
            fail_msg("%s: %s, exit %d: %s", cases[i].name, slu_outcome_names[facts.outcome],
                     exit_code, facts.message);
        assert_null(strstr(facts.message, "hush")); /* Neither command nor output nor error text. */
    }
}

static void
test_answer_that_is_no_stream_is_ambiguous(void **state)
{
    (void) state;
    const char *const frames[] = {START, EXIT_0, PROCESS_END, END, NULL};
    assert_int_equal(play(frames, "text/html", 200).outcome, SLU_OUTCOME_AMBIGUOUS);
    assert_int_equal(play(frames, "application/connect+json", 502).outcome, SLU_OUTCOME_AMBIGUOUS);
    assert_int_equal(play(frames, "application/connect+json", 401).outcome, SLU_OUTCOME_AMBIGUOUS);
}

/* Where the command goes, and with which credential (providers.md §2.1). */
static const struct {
    const char *url, *data_url, *fixture, *expect;
} addresses[] = {
    /* clang-format off */
    {"https://api.e2b.app", "", "get-running", "https://sandbox.e2b.app/process.Process/Start"},
    {"https://api.box.example", "", "get-running", "https://49983-i000000000000001.box.example/process.Process/Start"},
    {"https://api.e2b.app", "", "get-domain", "https://49983-i000000000000001.eu.sandboxes.example/process.Process/Start"},
    {"https://api.e2b.app", "http://127.0.0.1:9", "get-domain", "http://127.0.0.1:9/process.Process/Start"},
    {"http://127.0.0.1:8", "", "get-running", "http://127.0.0.1:8/process.Process/Start"},
    /* clang-format on */
};

static void
test_command_goes_to_the_data_plane_with_its_own_token(void **state)
{
    (void) state;
    const struct slu_provider *provider = slu_provider_find("e2b");
    for (size_t i = 0; i < SLU_COUNT(addresses); i++) {
        struct slu_provider_instance instance = exchange_instance("e2b", addresses[i].url);
        snprintf(instance.data_url, sizeof(instance.data_url), "%s", addresses[i].data_url);
        struct slu_call *call = exchange_call(SLU_ACTION_INIT, spec);
        call->init_index = 1;
        struct slu_exchange exchange = {0};
        struct slu_http_response response;
        exchange_load(addresses[i].fixture, &response);
        assert_int_equal(provider->response(&instance, call, &exchange, &response), SLU_MORE);

        struct slu_http_request request = {0};
        assert_int_equal(provider->request(&instance, call, &exchange, &request, NULL), SLU_OK);
        assert_string_equal(request.url.data, addresses[i].expect);
        assert_string_equal(request.headers[0].value, "application/connect+json");
        assert_string_equal(request.headers[2].name, "connect-timeout-ms");
        assert_string_equal(request.headers[2].value, "60000");
        assert_string_equal(request.headers[5].name, "x-access-token");
        assert_string_equal(request.headers[5].value, "tok_i000000000000001");
        assert_int_equal(request.header_count, 6); /* The account's key does not go there. */
        assert_true(request.secret_headers);
        slu_http_request_done(&request);
        slu_http_response_done(&response);
        slu_call_free(call);
    }
}

static void
test_command_beyond_the_list_is_refused(void **state)
{
    (void) state;
    const struct slu_provider_instance instance = exchange_instance("e2b", "http://h:1");
    struct slu_call *call = exchange_call(SLU_ACTION_INIT, spec);
    const struct slu_exchange exchange = {.step = 4};
    struct slu_http_request request = {0};
    call->init_index = 2;
    assert_int_equal(slu_provider_find("e2b")->request(&instance, call, &exchange, &request, NULL),
                     SLU_INVALID);
    slu_http_request_done(&request);
    slu_call_free(call);
}

static void
test_init_needs_a_running_sandbox(void **state)
{
    (void) state;
    const struct slu_provider_instance instance = exchange_instance("e2b", "http://h:1");
    struct slu_call *call = exchange_call(SLU_ACTION_INIT, spec);
    const char *const paused[ANSWERS_MAX] = {"get-paused"};
    const char *const gone[ANSWERS_MAX] = {"gone"};
    const struct slu_provider *provider = slu_provider_find("e2b");
    assert_int_equal(exchange_play(provider, &instance, call, paused, NULL).outcome,
                     SLU_OUTCOME_AMBIGUOUS);
    assert_int_equal(exchange_play(provider, &instance, call, gone, NULL).outcome,
                     SLU_OUTCOME_GONE);
    slu_call_free(call);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream_tells_the_exit_or_nothing),
        cmocka_unit_test(test_answer_that_is_no_stream_is_ambiguous),
        cmocka_unit_test(test_command_goes_to_the_data_plane_with_its_own_token),
        cmocka_unit_test(test_command_beyond_the_list_is_refused),
        cmocka_unit_test(test_init_needs_a_running_sandbox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
