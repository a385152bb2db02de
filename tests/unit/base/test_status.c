/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: the status comes back, the message is whole, cut or prefixed, and always valid UTF-8. */
#include "slu/base/status.h"
#include "slu/base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
test_fail_returns_its_status_and_fills_the_message(void **state)
{
    (void) state;
    struct slu_error error = {.code = 7, .retry_after_ms = 9, .message = "old"};

    assert_int_equal(slu_fail(&error, SLU_RETRY, "port %d is %s", 80, "closed"), SLU_RETRY);
    assert_string_equal(error.message, "port 80 is closed");
    assert_int_equal(error.code, 0);
    assert_int_equal(error.retry_after_ms, 0);
}

static void
test_fail_takes_no_error_at_all(void **state)
{
    (void) state;
    assert_int_equal(slu_fail(NULL, SLU_FATAL, "nobody asks"), SLU_FATAL);
}

static void
test_a_long_message_is_cut_between_characters(void **state)
{
    (void) state;
    char text[2 * SLU_ERROR_MESSAGE_MAX];
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    memcpy(text + SLU_ERROR_MESSAGE_MAX - 1, "é", 2); /* Its second byte does not fit. */

    struct slu_error error;
    assert_int_equal(slu_fail(&error, SLU_INVALID, "%s", text), SLU_INVALID);
    assert_int_equal(strlen(error.message), SLU_ERROR_MESSAGE_MAX - 1);
    assert_int_equal(error.message[SLU_ERROR_MESSAGE_MAX - 2], 'a');
}

static void
test_a_prefix_stands_before_the_message(void **state)
{
    (void) state;
    struct slu_error error;
    assert_int_equal(slu_fail(&error, SLU_RETRY, "refused"), SLU_RETRY);
    slu_error_prefix(&error, "creating %s", "sbx-1");
    assert_string_equal(error.message, "creating sbx-1: refused");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fail_returns_its_status_and_fills_the_message),
        cmocka_unit_test(test_fail_takes_no_error_at_all),
        cmocka_unit_test(test_a_long_message_is_cut_between_characters),
        cmocka_unit_test(test_a_prefix_stands_before_the_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
