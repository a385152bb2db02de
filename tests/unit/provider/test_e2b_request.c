/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of each request: method, URL, headers, body. */
#include "exchange.h"

static const char plain_spec[] = "{\"provider\":\"main\",\"session\":{\"sessionId\":\"ses-1\","
                                 "\"providerConfig\":{},\"init\":{\"commands\":[\"true\"]}}}";

#define E2B_HEADERS   "x-api-key: e2b_0123\n"
#define LOCAL_HEADERS "slu-cluster: c-1\nslu-shard: 3\nslu-epoch: 5\n" E2B_HEADERS
#define JSON_HEADER   "content-type: application/json\n"
#define KEY_HEADER    "idempotency-key: slu-0123456789012345678901234567890123456789\n"
#define LABELS                                                                             \
    "{\"sluice.cluster\":\"c-1\",\"sluice.shard\":\"3\",\"sluice.key\":\"sandbox/sbx-1\"," \
    "\"sluice.uid\":\"3-8841\",\"sluice.incarnation\":\"2\",\"sluice.session\":\"ses-1\"," \
    "\"sluice.tenant\":\"acme\",\"sluice.project\":\"web\"}"

static const struct {
    const char *name;
    const char *type;
    enum slu_action action;
    bool by_label;
    int step;
    const char *cursor;
    const char *text;
} cases[] = {
    /* clang-format off */
    {"look by id", "e2b", SLU_ACTION_INSPECT, .text =
        "GET http://h:1/sandboxes/i000000000000001\n" E2B_HEADERS "\n"},
    {"look by label: each value is escaped three times", "e2b", SLU_ACTION_INSPECT, .by_label = true, .text =
        "GET http://h:1/v2/sandboxes?metadata=sluice.cluster%3Dc-1%26sluice.key%3Dsandbox%25252Fsbx-1&state=running,paused&limit=100\n" E2B_HEADERS "\n"},
    {"next page", "e2b", SLU_ACTION_INSPECT, .by_label = true, .cursor = "a b=", .text =
        "GET http://h:1/v2/sandboxes?metadata=sluice.cluster%3Dc-1%26sluice.key%3Dsandbox%25252Fsbx-1&state=running,paused&limit=100&nextToken=a%20b%3D\n" E2B_HEADERS "\n"},
    {"create", "e2b", SLU_ACTION_CREATE, .text =
        "POST http://h:1/v2/sandboxes\n" KEY_HEADER E2B_HEADERS JSON_HEADER "\n"
        "{\"templateID\":\"base\",\"timeout\":1200,\"autoPause\":true,\"metadata\":" LABELS "}"},
    {"create on the older route", "e2b", SLU_ACTION_CREATE, .step = 1, .text =
        "POST http://h:1/sandboxes\n" KEY_HEADER E2B_HEADERS JSON_HEADER "\n"
        "{\"templateID\":\"base\",\"timeout\":1200,\"autoPause\":true,\"metadata\":" LABELS ",\"secure\":true}"},
    {"create at the host carries the fence and sizes", "local", SLU_ACTION_CREATE, .text =
        "POST http://h:1/v2/sandboxes\n" KEY_HEADER LOCAL_HEADERS JSON_HEADER "\n"
        "{\"templateID\":\"base\",\"timeout\":1200,\"autoPause\":true,\"metadata\":" LABELS ",\"cpuCount\":2,\"memoryMB\":512}"},
    {"resume", "e2b", SLU_ACTION_RESUME, .text =
        "POST http://h:1/v2/sandboxes/i000000000000001/connect\n" E2B_HEADERS JSON_HEADER "\n{\"timeout\":1200}"},
    {"pause", "e2b", SLU_ACTION_PAUSE, .text =
        "POST http://h:1/sandboxes/i000000000000001/pause\n" E2B_HEADERS JSON_HEADER "\n{}"},
    {"delete", "e2b", SLU_ACTION_DELETE, .text =
        "DELETE http://h:1/sandboxes/i000000000000001\n" E2B_HEADERS "\n"},
    {"extend", "e2b", SLU_ACTION_EXTEND, .text =
        "POST http://h:1/sandboxes/i000000000000001/timeout\n" E2B_HEADERS JSON_HEADER "\n{\"timeout\":1200}"},
    {"a look at the host carries the fence too", "local", SLU_ACTION_INSPECT, .text =
        "GET http://h:1/sandboxes/i000000000000001\n" LOCAL_HEADERS "\n"},
    {"init looks first", "local", SLU_ACTION_INIT, .text =
        "GET http://h:1/sandboxes/i000000000000001\n" LOCAL_HEADERS "\n"},
    /* clang-format on */
};

static void
write_text(const struct slu_http_request *request, struct slu_buffer *out)
{
    slu_buffer_printf(out, "%s %s\n", request->method, request->url.data);
    for (size_t i = 0; i < request->header_count; i++)
        slu_buffer_printf(out, "%s: %s\n", request->headers[i].name, request->headers[i].value);
    slu_buffer_putc(out, '\n');
    slu_buffer_append(out, request->body.data, request->body.size);
}

static void
test_request_is_these_bytes(void **state)
{
    (void) state;
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct slu_provider_instance instance = exchange_instance(cases[i].type, "http://h:1");
        instance.default_cpu_count = 2;
        instance.default_memory_mb = 512;
        struct slu_call *call = exchange_call(cases[i].action, plain_spec);
        struct slu_exchange exchange = {.step = cases[i].step};
        call->by_label = cases[i].by_label;
        if (cases[i].cursor)
            snprintf(exchange.cursor, sizeof(exchange.cursor), "%s", cases[i].cursor);

        struct slu_http_request request = {0};
        struct slu_error error = {0};
        SLU_AUTO_BUFFER struct slu_buffer text = {0};
        assert_int_equal(
            slu_provider_find(cases[i].type)->request(&instance, call, &exchange, &request, &error),
            SLU_OK);
        write_text(&request, &text);
        if (strcmp(text.data, cases[i].text) != 0)
            fail_msg("%s:\n%s\ninstead of\n%s", cases[i].name, text.data, cases[i].text);
        assert_true(request.secret_headers);
        assert_true(request.timeout_ms > 0);
        slu_http_request_done(&request);
        slu_call_free(call);
    }
}

static void
test_request_refuses_what_it_cannot_say(void **state)
{
    (void) state;

    static const enum slu_action actions[] = {SLU_ACTION_CHECKPOINT, SLU_ACTION_REWIND,
                                              SLU_ACTION_RESTORE};
    const struct slu_provider_instance instance = exchange_instance("e2b", "http://h:1");
    for (size_t i = 0; i < SLU_COUNT(actions); i++) {
        struct slu_call *call = exchange_call(actions[i], NULL);
        const struct slu_exchange exchange = {0};
        struct slu_http_request request = {0};
        struct slu_error error = {0};
        assert_int_equal(
            slu_provider_find("e2b")->request(&instance, call, &exchange, &request, &error),
            SLU_INVALID);
        assert_non_null(strstr(error.message, slu_action_names[actions[i]]));
        slu_http_request_done(&request);
        slu_call_free(call);
    }
}

static void
test_request_needs_an_external_id(void **state)
{
    (void) state;
    const struct slu_provider_instance instance = exchange_instance("e2b", "http://h:1");
    struct slu_call *call = exchange_call(SLU_ACTION_DELETE, NULL);
    const struct slu_exchange exchange = {0};
    struct slu_http_request request = {0};
    struct slu_error error = {0};
    call->external_id[0] = '\0';
    assert_int_equal(
        slu_provider_find("e2b")->request(&instance, call, &exchange, &request, &error),
        SLU_INVALID);
    slu_http_request_done(&request);
    slu_call_free(call);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_is_these_bytes),
        cmocka_unit_test(test_request_refuses_what_it_cannot_say),
        cmocka_unit_test(test_request_needs_an_external_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
