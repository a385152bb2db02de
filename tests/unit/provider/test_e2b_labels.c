/* SPDX-License-Identifier: Apache-2.0 */
#include "../../../lib/provider/e2b.h"
#include "exchange.h"

#define OURS "\"sluice.cluster\":\"c-1\",\"sluice.key\":\"sandbox/s\",\"sluice.uid\":\"3-1\""

static const struct {
    const char *name;
    const char *metadata;
    const char *key;
    int64_t incarnation;
} cases[] = {
    /* clang-format off */
    {"ours", "{" OURS ",\"sluice.incarnation\":\"7\"}", "sandbox/s", 7},
    {"none", "{}", "", 0},
    {"no object", "[]", "", 0},
    {"no incarnation", "{" OURS "}", "", 0},
    {"incarnation is no number", "{" OURS ",\"sluice.incarnation\":\"7x\"}", "", 0},
    {"incarnation is negative", "{" OURS ",\"sluice.incarnation\":\"-7\"}", "", 0},
    {"incarnation is no text", "{" OURS ",\"sluice.incarnation\":7}", "", 0},
    {"incarnation is too long", "{" OURS ",\"sluice.incarnation\":\"11111111111111111111\"}", "", 0},
    {"another cluster", "{\"sluice.cluster\":\"c-2\",\"sluice.key\":\"sandbox/s\",\"sluice.uid\":\"3-1\",\"sluice.incarnation\":\"7\"}", "", 0},
    {"a uid that is too long", "{\"sluice.cluster\":\"c-1\",\"sluice.key\":\"sandbox/s\",\"sluice.uid\":\"1234567890123456789012345678901234567890\",\"sluice.incarnation\":\"7\"}", "", 0},
    /* clang-format on */
};

static void
test_labels_are_read_whole_or_not_at_all(void **state)
{
    (void) state;
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        json_t *metadata = json_loads(cases[i].metadata, 0, NULL);
        struct slu_seen seen = {.key = "old", .uid = "old", .incarnation = 1};
        slu_e2b_labels_read(metadata, "c-1", &seen);
        if (strcmp(seen.key, cases[i].key) != 0 || seen.incarnation != cases[i].incarnation)
            fail_msg("%s: %s %lld", cases[i].name, seen.key, (long long) seen.incarnation);
        json_decref(metadata);
    }
}

static void
test_empty_labels_are_absent(void **state)
{
    (void) state;
    struct slu_call *call = exchange_call(SLU_ACTION_CREATE, "{}");
    call->session_id[0] = '\0';
    json_t *labels = slu_e2b_labels(call);
    assert_null(json_object_get(labels, "sluice.session"));
    assert_non_null(json_object_get(labels, "sluice.tenant"));
    json_decref(labels);
    slu_call_free(call);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels_are_read_whole_or_not_at_all),
        cmocka_unit_test(test_empty_labels_are_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
