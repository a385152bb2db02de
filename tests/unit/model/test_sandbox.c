/* SPDX-License-Identifier: Apache-2.0 */
/* The wish as numbers, and the words of a sandbox's states. */
#include "slu/model/sandbox.h"
#include "unit/model/decode_support.h"

static struct slu_sandbox_wish
read_wish(const char *spec_text)
{
    json_t *spec = parse_json(spec_text);
    struct slu_refusal refusal;
    json_t *decoded = slu_fields_decode(slu_spec_fields(SLU_KIND_SANDBOX), spec, "spec", &refusal);
    if (!decoded)
        fail_msg("%s", refusal.message);
    struct slu_sandbox_wish wish;
    slu_sandbox_wish_read(decoded, &wish);
    json_decref(decoded);
    json_decref(spec);
    return wish;
}

/* Contract-map X5: without a session nothing pauses by itself, and it starts at once. */
static void
test_a_wish_without_session_never_idles(void **state)
{
    (void) state;
    const struct slu_sandbox_wish wish =
        read_wish("{\"placement\":{\"computer\":\"c\"},\"ttlMs\":1000}");
    assert_int_equal(wish.state, SLU_WISH_RUNNING);
    assert_int_equal(wish.ttl_ms, 1000);
    assert_int_equal(wish.expires_at_ms, 0);
    assert_true(wish.ttl_paused_time_counts);
    assert_false(wish.has_session);
    assert_true(wish.auto_start);
    assert_false(wish.idle_pause);
    assert_false(wish.resume_on_use);
    assert_int_equal(wish.recovery, SLU_RECOVERY_REPLACE);
    assert_int_equal(wish.provider_lease_seconds, 1200);
    assert_int_equal(wish.init_count, 0);
    assert_true(wish.init_hash == 0);
}

static void
test_a_wish_with_session_has_the_contracts_defaults(void **state)
{
    (void) state;
    const struct slu_sandbox_wish wish = read_wish(
        "{\"placement\":{\"computer\":\"c\"},\"ttlMs\":1000,\"session\":{\"sessionId\":\"s\"}}");
    assert_true(wish.has_session);
    assert_true(wish.auto_start);
    assert_true(wish.idle_pause);
    assert_int_equal(wish.idle_pause_after_seconds, 180);
}

static void
test_every_number_is_read(void **state)
{
    (void) state;
    const struct slu_sandbox_wish wish = read_wish(
        "{\"placement\":{\"computer\":\"c\"},\"expiresAtMs\":1796006712000,\"state\":\"paused\","
        "\"ttlPausedTimeCounts\":false,\"recovery\":\"manual\",\"resumeOnUse\":true,"
        "\"providerLeaseSeconds\":60,"
        "\"session\":{\"sessionId\":\"s\",\"autoStart\":false,\"idlePauseAfterSeconds\":5,"
        "\"idlePauseEnabled\":false,"
        "\"init\":{\"commands\":[\"a\",\"b\"]}}}");
    assert_int_equal(wish.state, SLU_WISH_PAUSED);
    assert_int_equal(wish.ttl_ms, 0);
    assert_true(wish.expires_at_ms == INT64_C(1796006712000));
    assert_false(wish.ttl_paused_time_counts);
    assert_false(wish.auto_start);
    assert_false(wish.idle_pause);
    assert_int_equal(wish.idle_pause_after_seconds, 5);
    assert_true(wish.resume_on_use);
    assert_int_equal(wish.recovery, SLU_RECOVERY_MANUAL);
    assert_int_equal(wish.provider_lease_seconds, 60);
    assert_int_equal(wish.init_count, 2);
    assert_true(wish.init_hash != 0);
}

static uint64_t
init_hash(const char *commands)
{
    char spec[256];
    snprintf(spec, sizeof(spec),
             "{\"placement\":{\"computer\":\"c\"},\"ttlMs\":1000,\"session\":{\"sessionId\":\"s\","
             "\"init\":{\"commands\":%s}}}",
             commands);
    return read_wish(spec).init_hash;
}

static void
test_another_list_of_commands_has_another_hash(void **state)
{
    (void) state;
    assert_true(init_hash("[\"a\",\"b\"]") == init_hash("[ \"\\u0061\", \"b\" ]"));
    assert_true(init_hash("[\"a\",\"b\"]") != init_hash("[\"b\",\"a\"]"));
    assert_true(init_hash("[\"a\",\"b\"]") != init_hash("[\"ab\"]"));
}

static void
test_words_are_found_by_name(void **state)
{
    (void) state;
    assert_int_equal(slu_name_index(slu_wish_names, SLU_WISH_COUNT, "deleted"), SLU_WISH_DELETED);
    assert_int_equal(slu_name_index(slu_life_names, SLU_LIFE_COUNT, "resuming"), SLU_LIFE_RESUMING);
    assert_int_equal(slu_name_index(slu_action_names, SLU_ACTION_COUNT, "extend"),
                     SLU_ACTION_EXTEND);
    assert_int_equal(slu_name_index(slu_phase_names, SLU_PHASE_COUNT, "expired"),
                     SLU_PHASE_EXPIRED);
    assert_int_equal(slu_name_index(slu_goal_names, SLU_GOAL_COUNT, "gone"), SLU_GOAL_GONE);
    assert_int_equal(slu_name_index(slu_goal_names, SLU_GOAL_COUNT, "Gone"), -1);
}

/* Contract-map §3.0, row phase. */
static void
test_phases_are_the_contract_maps_in_order(void **state)
{
    (void) state;
    static const char *const phases[] = {"pending",  "starting", "running", "pausing", "paused",
                                         "resuming", "stopping", "stopped", "expired", "lost",
                                         "failed",   "deleting", "deleted"};
    assert_int_equal(SLU_COUNT(phases), SLU_PHASE_COUNT);
    for (size_t i = 0; i < SLU_COUNT(phases); i++)
        assert_string_equal(slu_phase_names[i], phases[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wish_without_session_never_idles),
        cmocka_unit_test(test_a_wish_with_session_has_the_contracts_defaults),
        cmocka_unit_test(test_every_number_is_read),
        cmocka_unit_test(test_another_list_of_commands_has_another_hash),
        cmocka_unit_test(test_words_are_found_by_name),
        cmocka_unit_test(test_phases_are_the_contract_maps_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
