/* SPDX-License-Identifier: Apache-2.0 */
#include "../../../host/connect_frame.h"
#include "slu/base/macros.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
test_frames_are_a_flag_a_length_and_the_payload(void **state)
{
    (void) state;
    SLU_AUTO_BUFFER struct slu_buffer out = {0};
    slu_connect_frame(&out, 0, "{}", 2);
    slu_connect_end(&out, NULL, NULL);
    assert_int_equal(out.size, 14);
    assert_memory_equal(out.data, "\0\0\0\0\2{}\2\0\0\0\2{}", 14);
}

static void
test_the_last_frame_carries_the_error(void **state)
{
    (void) state;
    static const char expected[] =
        "{\"error\":{\"code\":\"not_found\",\"message\":\"no \\\"x\\\"\"}}";
    SLU_AUTO_BUFFER struct slu_buffer out = {0};
    slu_connect_end(&out, "not_found", "no \"x\"");
    assert_int_equal(out.data[0], SLU_CONNECT_END);
    assert_string_equal(out.data + SLU_CONNECT_HEADER_SIZE, expected);
}

static void
test_a_request_is_one_whole_uncompressed_object(void **state)
{
    (void) state;
#define BODY(text) text, sizeof(text) - 1

    static const struct {
        const char *body;
        size_t size;
        enum slu_status status;
    } cases[] = {
        {BODY("\0\0\0\0\2{}"), SLU_OK},
        {BODY("\0\0\0\0\2{}\2\0\0\0\2{}"), SLU_OK}, /* What follows is the client's own end. */
        {BODY(""), SLU_INVALID},
        {BODY("\0\0\0\0"), SLU_INVALID},
        {BODY("\0\0\0\0\3{}"), SLU_INVALID},
        {BODY("\1\0\0\0\2{}"), SLU_INVALID},
        {BODY("\0\xff\xff\xff\xff{}"), SLU_INVALID},
        {BODY("\0\0\0\0\2[]"), SLU_INVALID},
        {BODY("\0\0\0\0\2{{"), SLU_INVALID},
        {BODY("\0\0\0\0\0"), SLU_INVALID},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        json_t *message = NULL;
        struct slu_error error;
        assert_int_equal(slu_connect_read_one(cases[i].body, cases[i].size, &message, &error),
                         cases[i].status);
        json_decref(message);
    }
}

/* providers.md 2.4. */
static void
test_codes_have_their_http_status(void **state)
{
    (void) state;

    static const struct {
        const char *code;
        unsigned status;
    } cases[] = {
        {"canceled", 499},           {"invalid_argument", 400},  {"failed_precondition", 400},
        {"out_of_range", 400},       {"deadline_exceeded", 504}, {"not_found", 404},
        {"already_exists", 409},     {"aborted", 409},           {"permission_denied", 403},
        {"resource_exhausted", 429}, {"unimplemented", 501},     {"unavailable", 503},
        {"internal", 500},           {"unknown", 500},           {"data_loss", 500},
        {"unauthenticated", 401},    {"no such word", 500},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++)
        assert_int_equal(slu_connect_status(cases[i].code), cases[i].status);
}

static void
test_base64_is_the_standard_one_with_padding(void **state)
{
    (void) state;
    SLU_AUTO_BUFFER struct slu_buffer out = {0};
    slu_base64_append(&out, "hi\n", 3);
    slu_base64_append(&out, "\xff\xfe", 2);
    assert_string_equal(out.data, "aGkK//4=");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_are_a_flag_a_length_and_the_payload),
        cmocka_unit_test(test_the_last_frame_carries_the_error),
        cmocka_unit_test(test_a_request_is_one_whole_uncompressed_object),
        cmocka_unit_test(test_codes_have_their_http_status),
        cmocka_unit_test(test_base64_is_the_standard_one_with_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
