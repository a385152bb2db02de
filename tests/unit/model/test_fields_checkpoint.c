/* SPDX-License-Identifier: Apache-2.0 */
/* The checkpoint's wish against contract-map §3.2. */
#include "unit/model/decode_support.h"

static const char valid[] = "{\"sandboxId\":\"sbx-1\"}";

#define ALLOWED NULL, NULL

static void
test_defaults_are_the_contracts(void **state)
{
    (void) state;
    check_canonical(
        SLU_KIND_CHECKPOINT, valid,
        "{\"sandboxId\":\"sbx-1\",\"type\":\"portable_workspace\",\"settled\":\"settled\","
        "\"pinned\":false,\"state\":\"ready\"}");
}

static void
test_bounds_and_words(void **state)
{
    (void) state;
    static const struct slu_change_case rows[] = {
        {"sandboxId", NULL, "spec.sandboxId", "missing"},
        {"sandboxId", "\"a b\"", "spec.sandboxId", NULL},
        {"type", "\"provider_native\"", ALLOWED},
        {"type", "\"memory\"", "spec.type", "one of portable_workspace, provider_native"},
        {"source", "null", ALLOWED},
        {"source", "{}", "spec.source", "at least one of turnId, toolCallId"},
        {"source", "{\"turnId\":\"t\"}", ALLOWED},
        {"source", "{\"toolCallId\":\"c\"}", ALLOWED},
        {"source.turnId", "*256", ALLOWED},
        {"source.turnId", "*257", "spec.source.turnId", "1 to 256 characters"},
        {"source.toolCallId", "*256", ALLOWED},
        {"source.toolCallId", "*257", "spec.source.toolCallId", NULL},
        {"source", "{\"turnId\":\"\"}", "spec.source.turnId", NULL},
        {"settled", "\"pending\"", ALLOWED},
        {"settled", "\"interrupted\"", ALLOWED},
        {"settled", "\"rejected\"", "spec.settled", "one of settled, pending, interrupted"},
        {"pinned", "true", ALLOWED},
        {"pinned", "null", "spec.pinned", "null is not allowed"},
        {"state", "\"deleted\"", ALLOWED},
        {"state", "\"running\"", "spec.state", "one of ready, deleted"},
        {"keepLast", "1", "spec.keepLast", "unknown field"},
    };
    check_changes(SLU_KIND_CHECKPOINT, valid, rows, SLU_COUNT(rows));
}

static void
test_what_a_later_generation_may_change(void **state)
{
    (void) state;
    static const struct slu_follow_case rows[] = {
        {"sandboxId", "\"a\"", "\"b\"", SLU_CODE_INVALID, NULL},
        {"type", "\"portable_workspace\"", "\"provider_native\"", SLU_CODE_INVALID, NULL},
        {"source", NULL, "{\"turnId\":\"t\"}", SLU_CODE_NONE, NULL},
        {"source", "{\"turnId\":\"t\"}", "{\"turnId\":\"u\"}", SLU_CODE_INVALID, NULL},
        {"source", "{\"turnId\":\"t\"}", NULL, SLU_CODE_INVALID, NULL},
        {"settled", "\"pending\"", "\"settled\"", SLU_CODE_NONE, NULL}, /* One way: admission's. */
        {"pinned", "false", "true", SLU_CODE_NONE, NULL},
        {"state", "\"ready\"", "\"deleted\"", SLU_CODE_NONE, NULL},
    };
    check_follows(SLU_KIND_CHECKPOINT, valid, rows, SLU_COUNT(rows));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_the_contracts),
        cmocka_unit_test(test_bounds_and_words),
        cmocka_unit_test(test_what_a_later_generation_may_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
