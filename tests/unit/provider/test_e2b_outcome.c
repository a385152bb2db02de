/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of failed calls; which outcome they have is tested in test_e2b_response.c. */
#include "../../../lib/provider/e2b.h"
#include "exchange.h"

static void
fail_with(const char *body, struct slu_facts *ret_facts)
{
    const struct slu_provider_instance instance = exchange_instance("e2b", "http://h:1");
    struct slu_call *call = exchange_call(SLU_ACTION_CREATE, NULL);
    struct slu_http_response response = {.end = SLU_HTTP_ANSWERED, .status = 400};
    snprintf(response.headers[0].name, sizeof(response.headers[0].name), "content-type");
    snprintf(response.headers[0].value, sizeof(response.headers[0].value), "application/json");
    response.header_count = 1;
    slu_buffer_puts(&response.body, body);
    *ret_facts = (struct slu_facts){0};
    slu_e2b_fail(&instance, call, ret_facts, &response);
    slu_http_response_done(&response);
    slu_call_free(call);
}

static void
test_message_names_call_place_and_cause(void **state)
{
    (void) state;
    struct slu_facts facts;
    fail_with("{\"code\":400,\"error_code\":\"bad_thing\",\"message\":\"too long\"}", &facts);
    assert_string_equal(facts.message, "create at main answered 400 bad_thing: too long");
}

static void
test_message_never_repeats_the_key(void **state)
{
    (void) state;
    struct slu_facts facts;
    fail_with("{\"code\":400,\"message\":\"key e2b_0123 is wrong\"}", &facts);
    assert_string_equal(facts.message, "create at main answered 400");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_names_call_place_and_cause),
        cmocka_unit_test(test_message_never_repeats_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
