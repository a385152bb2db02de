/* SPDX-License-Identifier: Apache-2.0 */
/* Activity against contract-map §3.3. */
#include "unit/model/decode_support.h"

static const char valid[] = "{\"sandboxId\":\"sbx-1\",\"active\":true}";

#define ALLOWED NULL, NULL

static void
test_defaults_are_the_contracts(void **state)
{
    (void) state;
    check_canonical(SLU_KIND_ACTIVITY, valid,
                    "{\"sandboxId\":\"sbx-1\",\"active\":true,\"ttlMs\":3600000}");
}

static void
test_bounds(void **state)
{
    (void) state;
    static const struct slu_change_case rows[] = {
        {"sandboxId", NULL, "spec.sandboxId", "missing"},
        {"active", NULL, "spec.active", "missing: active must be true or false"},
        {"active", "null", "spec.active", "null is not allowed"},
        {"active", "1", "spec.active", NULL},
        {"atMs", "0", ALLOWED},
        {"atMs", "-1", "spec.atMs", NULL},
        {"atMs", "9007199254740991", ALLOWED},
        {"atMs", "9007199254740992", "spec.atMs", NULL},
        {"ttlMs", "1000", ALLOWED},
        {"ttlMs", "999", "spec.ttlMs", "between 1000 and 86400000"},
        {"ttlMs", "86400000", ALLOWED},
        {"ttlMs", "86400001", "spec.ttlMs", NULL},
        {"state", "\"deleted\"", "spec.state", "known fields are sandboxId, active, atMs, ttlMs"},
    };
    check_changes(SLU_KIND_ACTIVITY, valid, rows, SLU_COUNT(rows));
}

static void
test_what_a_later_generation_may_change(void **state)
{
    (void) state;
    static const struct slu_follow_case rows[] = {
        {"sandboxId", "\"a\"", "\"b\"", SLU_CODE_INVALID, NULL},
        {"active", "true", "false", SLU_CODE_NONE, NULL},
        {"atMs", "1", "0", SLU_CODE_NONE, NULL},
        {"ttlMs", "1000", "2000", SLU_CODE_NONE, NULL},
    };
    check_follows(SLU_KIND_ACTIVITY, valid, rows, SLU_COUNT(rows));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_the_contracts),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_what_a_later_generation_may_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
