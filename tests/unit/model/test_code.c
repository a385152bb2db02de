/* SPDX-License-Identifier: Apache-2.0 */
/* Codes, their HTTP status (behaviour.md §8, contract-map §2.12), and refusals. */
#include "slu/model/code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
test_codes_have_the_contracts_words_and_statuses(void **state)
{
    (void) state;

    static const struct {
        enum slu_code code;
        const char *name;
        int status;
    } cases[] = {
        {SLU_CODE_INVALID, "INVALID", 400},
        {SLU_CODE_NOT_FOUND, "NOT_FOUND", 404},
        {SLU_CODE_FORBIDDEN, "FORBIDDEN", 403},
        {SLU_CODE_CONFLICT, "CONFLICT", 409},
        {SLU_CODE_INVALID_STATE, "INVALID_STATE", 409},
        {SLU_CODE_ARTIFACT_UNAVAILABLE, "ARTIFACT_UNAVAILABLE", 409},
        {SLU_CODE_CAPABILITY_UNSUPPORTED, "CAPABILITY_UNSUPPORTED", 422},
        {SLU_CODE_TICKET_EXPIRED, "TICKET_EXPIRED", 401},
        {SLU_CODE_LEASE_REQUIRED, "LEASE_REQUIRED", 428},
        {SLU_CODE_STALE_FENCING_TOKEN, "STALE_FENCING_TOKEN", 409},
        {SLU_CODE_REVISION_CONFLICT, "REVISION_CONFLICT", 412},
        {SLU_CODE_RATE_LIMITED, "RATE_LIMITED", 429},
        {SLU_CODE_UNAVAILABLE, "UNAVAILABLE", 503},
        {SLU_CODE_UNAUTHENTICATED, "UNAUTHENTICATED", 401},
    };

    assert_int_equal(SLU_COUNT(cases) + 1, SLU_CODE_COUNT);
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        assert_string_equal(slu_code_names[cases[i].code], cases[i].name);
        assert_int_equal(slu_code_http_status(cases[i].code), cases[i].status);
    }
}

static void
test_a_refusal_begins_with_its_path(void **state)
{
    (void) state;
    struct slu_refusal refusal;
    assert_false(slu_refuse(&refusal, SLU_CODE_CONFLICT, "spec.alias", "%d are there", 2));
    assert_int_equal(refusal.code, SLU_CODE_CONFLICT);
    assert_string_equal(refusal.path, "spec.alias");
    assert_string_equal(refusal.message, "spec.alias: 2 are there");
}

static void
test_a_refusal_of_no_field_has_no_path(void **state)
{
    (void) state;
    struct slu_refusal refusal;
    assert_false(slu_refuse(&refusal, SLU_CODE_INVALID, NULL, "empty"));
    assert_string_equal(refusal.path, "");
    assert_string_equal(refusal.message, "empty");
}

static void
test_a_refusal_may_be_told_anew_with_its_own_path(void **state)
{
    (void) state;
    struct slu_refusal refusal;
    assert_false(slu_refuse(&refusal, SLU_CODE_INVALID, "spec.a", "first"));
    assert_false(slu_refuse(&refusal, SLU_CODE_FORBIDDEN, refusal.path, "second"));
    assert_string_equal(refusal.message, "spec.a: second");
}

static void
test_a_long_refusal_is_cut_between_characters(void **state)
{
    (void) state;
    char text[SLU_REFUSAL_MESSAGE_MAX + 10];
    memset(text, 'a', sizeof(text));
    memcpy(text + SLU_REFUSAL_MESSAGE_MAX - 1, "✓", 3);
    text[sizeof(text) - 1] = '\0';
    struct slu_refusal refusal;
    assert_false(slu_refuse(&refusal, SLU_CODE_INVALID, NULL, "%s", text));
    assert_int_equal(strlen(refusal.message), SLU_REFUSAL_MESSAGE_MAX - 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes_have_the_contracts_words_and_statuses),
        cmocka_unit_test(test_a_refusal_begins_with_its_path),
        cmocka_unit_test(test_a_refusal_of_no_field_has_no_path),
        cmocka_unit_test(test_a_refusal_may_be_told_anew_with_its_own_path),
        cmocka_unit_test(test_a_long_refusal_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
