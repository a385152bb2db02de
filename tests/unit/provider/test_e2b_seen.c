/* SPDX-License-Identifier: Apache-2.0 */
#include "../../../lib/provider/e2b.h"
#include "exchange.h"

static void
test_same_id_knows_the_older_spelling(void **state)
{
    (void) state;
    assert_true(slu_e2b_same_id("i1", "i1"));
    assert_true(slu_e2b_same_id("i1", "i1-client"));
    assert_true(slu_e2b_same_id("i1-client", "i1"));
    assert_false(slu_e2b_same_id("i1", "i12"));
    assert_false(slu_e2b_same_id("i1", "i2-i1"));
}

static const struct {
    const char *sandbox;
    bool readable;
} cases[] = {
    {"{\"sandboxID\":\"i1\",\"state\":\"running\"}", true},
    {"{\"sandboxID\":\"i1\",\"state\":\"new word\"}", true},
    {"{\"sandboxID\":\"i1\"}", false},
    {"{\"state\":\"running\"}", false},
    {"{\"sandboxID\":\"\",\"state\":\"running\"}", false},
    {"{\"sandboxID\":\"a/b\",\"state\":\"running\"}", false},
    {"{\"sandboxID\":7,\"state\":\"running\"}", false},
    {"[]", false},
};

static void
test_seen_needs_an_id_and_a_state(void **state)
{
    (void) state;
    const struct slu_e2b_dialect dialect = {0};
    struct slu_call *call = exchange_call(SLU_ACTION_INSPECT, NULL);
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        json_t *sandbox = json_loads(cases[i].sandbox, 0, NULL);
        struct slu_seen seen;
        if (slu_e2b_seen(&dialect, call, sandbox, &seen) != cases[i].readable)
            fail_msg("%s", cases[i].sandbox);
        json_decref(sandbox);
    }
    slu_call_free(call);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_id_knows_the_older_spelling),
        cmocka_unit_test(test_seen_needs_an_id_and_a_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
