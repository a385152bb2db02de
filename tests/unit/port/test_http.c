/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and answers: headers are added and found, and nothing stays behind. */
#include "slu/port/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void
test_headers_are_added_in_order(void **state)
{
    (void) state;
    struct slu_http_request request = {.method = "GET"};
    slu_http_header_add(&request, "x-api-key", "%s-%d", "abc", 7);
    slu_http_header_add(&request, "accept", "application/json");
    assert_int_equal(request.header_count, 2);
    assert_string_equal(request.headers[0].name, "x-api-key");
    assert_string_equal(request.headers[0].value, "abc-7");
    assert_string_equal(request.headers[1].name, "accept");
    slu_http_request_done(&request);
}

static void
test_done_wipes_a_request(void **state)
{
    (void) state;
    static const struct slu_http_request empty;
    struct slu_http_request request = {.secret_headers = true};
    slu_http_header_add(&request, "authorization", "Bearer %s", "hunter2");
    slu_buffer_puts(&request.url, "http://127.0.0.1/");
    slu_buffer_puts(&request.body, "hunter2");
    slu_http_request_done(&request);
    assert_memory_equal(&request, &empty, sizeof(empty));
}

static void
test_header_names_are_found_in_any_case(void **state)
{
    (void) state;
    struct slu_http_response response = {.header_count = 1};
    snprintf(response.headers[0].name, sizeof(response.headers[0].name), "retry-after");
    snprintf(response.headers[0].value, sizeof(response.headers[0].value), "3");
    assert_string_equal(slu_http_header_find(&response, "Retry-After"), "3");
    assert_null(slu_http_header_find(&response, "content-type"));
    slu_http_response_done(&response);
    assert_int_equal(response.header_count, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers_are_added_in_order),
        cmocka_unit_test(test_done_wipes_a_request),
        cmocka_unit_test(test_header_names_are_found_in_any_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
