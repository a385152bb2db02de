/* SPDX-License-Identifier: Apache-2.0 */
/* The life of one sandbox through the engine: behaviour.md §1–3, rule by rule, one leader. */
#include "support/engine_rig.h"

#define KEY "sandbox/s1"
#define DOCUMENT(members, spec)                                                        \
    "{\"kind\":\"Sandbox\",\"id\":\"s1\",\"scope\":{\"tenantId\":\"t\",\"projectId\":" \
    "\"p\"}," members                                                                  \
    "\"spec\":{\"provider\":\"local\",\"placement\":{\"provider_pool\":\"default\"}," spec "}}"
#define RUNNING DOCUMENT("", "\"ttlMs\":3600000")
#define PAUSED  DOCUMENT("", "\"ttlMs\":3600000,\"state\":\"paused\"")
#define STOPPED DOCUMENT("", "\"ttlMs\":3600000,\"state\":\"stopped\"")
#define SESSION(more)                                                                           \
    DOCUMENT(                                                                                   \
        "",                                                                                     \
        "\"ttlMs\":3600000,\"session\":{\"sessionId\":\"a1\",\"idlePauseAfterSeconds\":10" more \
        "}")
#define WITH_INIT SESSION(",\"init\":{\"commands\":[\"one\",\"two\"]}")

static int
setup(void **state)
{
    static struct rig rig;
    rig_start(&rig);
    *state = &rig;
    return 0;
}

static int
teardown(void **state)
{
    rig_stop(*state);
    return 0;
}

static void
make_running(struct rig *rig, const char *document)
{
    rig_publish(rig, KEY, document);
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
}

static void
test_engine_creates_what_is_wished_and_says_so(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_no_call(rig);
    assert_string_equal(rig_history(rig, KEY), "accepted starting created");
    assert_member(rig, KEY, "phase", "\"running\"");
    assert_member(rig, KEY, "incarnation", "1");
    assert_member(rig, KEY, "detail.instance.externalId", "\"i1\"");
    assert_member(rig, KEY, "record.lifecycle", "\"ready\"");
    assert_member(rig, KEY, "record.expiresAtMs", "4600000");
    assert_member(rig, KEY, "pending", "");
    assert_member(rig, KEY, "uid", "\"0-0\"");
}

static void
test_engine_holds_a_call_until_its_cause_has_committed(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    slu_engine_turn(rig->engine, rig->now_ms, 0);
    assert_null(slu_engine_next_call(rig->engine));
    struct slu_batch *batch = slu_engine_take_batch(rig->engine, false);
    assert_non_null(batch);
    assert_null(slu_engine_next_call(rig->engine));
    rig_keep(rig, batch);
    assert_memory_equal(
        rig_member(rig, KEY, "pending"),
        "[{\"action\":\"create\",\"call\":1,\"sinceMs\":1000000,\"bodySha256\":", 60);
    slu_engine_committed(rig->engine, rig->now_ms);
    struct slu_call *call = slu_engine_next_call(rig->engine);
    assert_non_null(call);
    assert_int_equal(call->action, SLU_ACTION_CREATE);
    slu_call_free(call);
}

static void
test_engine_gives_a_create_the_same_key_whatever_the_call_number(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    struct slu_call *first = rig_call(rig, SLU_ACTION_CREATE);
    char key[SLU_IDEMPOTENCY_KEY_SIZE];
    memcpy(key, first->idempotency_key, sizeof key);
    const struct slu_facts lost = rig_facts(SLU_OUTCOME_AMBIGUOUS);
    rig_answer(rig, first, &lost);
    rig_wait(rig, 2000);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE); /* By label: nothing there. */
    struct slu_call *again = rig_call(rig, SLU_ACTION_CREATE);
    assert_string_equal(again->idempotency_key, key);
    assert_int_equal(again->incarnation, 1);
    slu_call_free(again);
}

static void
test_engine_adopts_what_a_lost_create_made(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    rig_end(rig, SLU_ACTION_CREATE, SLU_OUTCOME_AMBIGUOUS);
    rig_wait(rig, 2000);
    struct slu_call *look = rig_call(rig, SLU_ACTION_INSPECT);
    assert_true(look->by_label);
    const struct slu_facts facts = rig_seen(look, "i9", SLU_LIFE_RUNNING);
    rig_answer(rig, look, &facts);
    rig_no_call(rig);
    assert_string_equal(rig_history(rig, KEY), "accepted starting adopted created");
    assert_member(rig, KEY, "detail.instance.externalId", "\"i9\"");
}

static void
test_engine_deletes_the_second_instance_of_one_incarnation(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    rig_end(rig, SLU_ACTION_CREATE, SLU_OUTCOME_AMBIGUOUS);
    rig_wait(rig, 2000);
    struct slu_call *look = rig_call(rig, SLU_ACTION_INSPECT);
    struct slu_facts facts = rig_seen(look, "i5", SLU_LIFE_RUNNING);
    facts.seen[1] = facts.seen[0];
    snprintf(facts.seen[1].external_id, sizeof facts.seen[1].external_id, "i3");
    facts.seen_count = 2;
    rig_answer(rig, look, &facts);
    assert_member(rig, KEY, "detail.instance.externalId", "\"i3\"");
    struct slu_call *surplus = rig_call(rig, SLU_ACTION_DELETE);
    assert_string_equal(surplus->external_id, "i5");
    const struct slu_facts done = rig_facts(SLU_OUTCOME_DONE);
    rig_answer(rig, surplus, &done);
    assert_string_equal(rig_history(rig, KEY), "accepted starting adopted created surplus_deleted");
}

static void
test_engine_pauses_and_resumes_by_wish(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_publish(rig, KEY, PAUSED);
    rig_serve(rig, SLU_ACTION_PAUSE, "i1", SLU_LIFE_PAUSED);
    assert_member(rig, KEY, "phase", "\"paused\"");
    assert_member(rig, KEY, "session.status", "\"paused\"");
    rig_publish(rig, KEY, RUNNING);
    rig_serve(rig, SLU_ACTION_RESUME, "i1", SLU_LIFE_RUNNING);
    assert_member(rig, KEY, "phase", "\"running\"");
    assert_string_equal(rig_history(rig, KEY), "accepted starting created accepted pausing paused "
                                               "accepted resuming resumed");
}

static void
test_engine_counts_another_id_after_a_resume_as_a_new_incarnation(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_publish(rig, KEY, PAUSED);
    rig_serve(rig, SLU_ACTION_PAUSE, "i1", SLU_LIFE_PAUSED);
    rig_publish(rig, KEY, RUNNING);
    rig_serve(rig, SLU_ACTION_RESUME, "i2", SLU_LIFE_RUNNING);
    assert_member(rig, KEY, "incarnation", "2");
    assert_member(rig, KEY, "detail.instance.externalId", "\"i2\"");
}

static void
test_engine_looks_after_a_pause_without_an_answer(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_publish(rig, KEY, PAUSED);
    rig_end(rig, SLU_ACTION_PAUSE, SLU_OUTCOME_AMBIGUOUS);
    rig_no_call(rig); /* Backing off. */
    rig_wait(rig, 1000);
    rig_serve(rig, SLU_ACTION_INSPECT, "i1", SLU_LIFE_PAUSED);
    rig_no_call(rig);
    assert_member(rig, KEY, "phase", "\"paused\"");
    assert_member(rig, KEY, "pending", "");
}

static void
test_engine_pauses_again_what_was_resumed_behind_its_back(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_publish(rig, KEY, PAUSED);
    rig_serve(rig, SLU_ACTION_PAUSE, "i1", SLU_LIFE_PAUSED);
    rig_wait(rig, 60000);
    rig_serve(rig, SLU_ACTION_INSPECT, "i1", SLU_LIFE_RUNNING);
    rig_serve(rig, SLU_ACTION_PAUSE, "i1", SLU_LIFE_PAUSED);
    assert_member(rig, KEY, "phase", "\"paused\"");
}

static void
test_engine_deletes_with_two_looks(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_publish(rig, KEY, NULL);
    rig_end(rig, SLU_ACTION_DELETE, SLU_OUTCOME_DONE);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_GONE);
    assert_member(rig, KEY, "phase", "\"deleting\"");
    struct slu_call *look = rig_call(rig, SLU_ACTION_INSPECT);
    assert_true(look->by_label);
    const struct slu_facts none = rig_facts(SLU_OUTCOME_DONE);
    rig_answer(rig, look, &none);
    assert_member(rig, KEY, "phase", "\"deleted\"");
    assert_member(rig, KEY, "incarnation", "2");
    assert_string_equal(rig_history(rig, KEY),
                        "accepted starting created accepted deleting deleted");
}

static void
test_engine_calls_nothing_gone_while_another_carries_its_labels(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_publish(rig, KEY, NULL);
    rig_end(rig, SLU_ACTION_DELETE, SLU_OUTCOME_GONE);
    rig_serve(rig, SLU_ACTION_INSPECT, "i2", SLU_LIFE_RUNNING); /* A second one of this life. */
    assert_member(rig, KEY, "phase", "\"deleting\"");
    struct slu_call *other = rig_call(rig, SLU_ACTION_DELETE);
    assert_string_equal(other->external_id, "i2");
    slu_call_free(other);
}

static void
test_engine_buries_a_deleted_life_after_its_retention(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_publish(rig, KEY, NULL);
    rig_end(rig, SLU_ACTION_DELETE, SLU_OUTCOME_GONE);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    rig_wait(rig, (int64_t) 24 * 3600 * 1000 - 1);
    assert_non_null(rig_status(rig, KEY).text);
    rig_wait(rig, 1);
    assert_null(rig_status(rig, KEY).text);
    assert_int_equal(slu_engine_resource_count(rig->engine), 0);
}

static void
test_engine_deletes_again_when_the_instance_stays(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_publish(rig, KEY, NULL);
    rig_end(rig, SLU_ACTION_DELETE, SLU_OUTCOME_DONE);
    rig_serve(rig, SLU_ACTION_INSPECT, "i1", SLU_LIFE_RUNNING);
    rig_no_call(rig);
    rig_wait(rig, 1000);
    rig_end(rig, SLU_ACTION_DELETE, SLU_OUTCOME_DONE);
    assert_member(rig, KEY, "phase", "\"deleting\"");
}

static void
test_engine_waits_for_a_create_in_flight_before_it_calls_it_deleted(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    struct slu_call *create = rig_call(rig, SLU_ACTION_CREATE);
    rig_publish(rig, KEY, NULL);
    rig_no_call(rig);
    assert_member(rig, KEY, "phase", "\"deleting\"");
    const struct slu_facts facts = rig_seen(create, "i1", SLU_LIFE_RUNNING);
    rig_answer(rig, create, &facts);
    struct slu_call *gone = rig_call(rig, SLU_ACTION_DELETE);
    assert_string_equal(gone->external_id, "i1");
    slu_call_free(gone);
}

static void
test_engine_calls_nothing_gone_while_a_create_may_still_land(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    struct slu_call *create = rig_call(rig, SLU_ACTION_CREATE);
    rig_publish(rig, KEY, NULL);
    const struct slu_facts lost = rig_facts(SLU_OUTCOME_AMBIGUOUS);
    rig_answer(rig, create, &lost);
    rig_wait(rig, 1000);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE); /* Nothing listed yet. */
    assert_member(rig, KEY, "phase", "\"deleting\"");
    rig_wait(rig, 60000);
    rig_serve(rig, SLU_ACTION_INSPECT, "i4", SLU_LIFE_RUNNING); /* It landed late. */
    struct slu_call *gone = rig_call(rig, SLU_ACTION_DELETE);
    assert_string_equal(gone->external_id, "i4");
    slu_call_free(gone);
}

/* An init command has ten minutes; nothing comes of one whose instance is gone. */
static void
test_engine_waits_for_no_init_before_it_calls_deleted(void **state)
{
    struct rig *rig = *state;
    make_running(rig, WITH_INIT);
    struct slu_call *init = rig_call(rig, SLU_ACTION_INIT);
    const struct slu_facts lost = rig_facts(SLU_OUTCOME_AMBIGUOUS);
    rig_answer(rig, init, &lost);
    rig_publish(rig, KEY, NULL);
    rig_wait(rig, 1000);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_GONE);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    assert_member(rig, KEY, "phase", "\"deleted\"");
}

static void
test_engine_removes_the_old_instance_before_a_new_life_creates(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_publish(rig, KEY, NULL);
    struct slu_call *first = rig_call(rig, SLU_ACTION_DELETE);
    rig_publish(rig, KEY, RUNNING);
    rig_no_call(rig);
    assert_member(rig, KEY, "uid", "\"0-2\"");
    const struct slu_facts gone = rig_facts(SLU_OUTCOME_GONE);
    rig_answer(rig, first, &gone);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    rig_serve(rig, SLU_ACTION_CREATE, "i2", SLU_LIFE_RUNNING);
    assert_member(rig, KEY, "phase", "\"running\"");
    assert_member(rig, KEY, "incarnation", "2");
    assert_member(rig, KEY, "observedGeneration", "3");
}

static void
test_engine_stops_for_good(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_publish(rig, KEY, STOPPED);
    rig_end(rig, SLU_ACTION_DELETE, SLU_OUTCOME_GONE);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    assert_member(rig, KEY, "phase", "\"stopped\"");
    assert_member(rig, KEY, "record.lifecycle", "\"stopped\"");
    rig_publish(rig, KEY, RUNNING);
    rig_turn(rig);
    char code[32] = "";
    assert_true(
        slu_slice_copy(slu_slice_member(rig_last_event(rig, KEY), "code"), code, sizeof code));
    assert_string_equal(code, "INVALID_STATE");
    rig_no_call(rig);
}

static void
test_engine_expires_only_after_the_log_was_read_beyond_the_deadline(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    slu_engine_read_through(rig->engine, rig->now_ms + 3599999, rig->now_ms);
    rig->now_ms += 3600000;
    rig_turn(rig);
    assert_true(slu_engine_wants_read_through(rig->engine));
    assert_member(rig, KEY, "phase", "\"running\"");
    slu_engine_read_through(rig->engine, rig->now_ms, rig->now_ms);
    rig_turn(rig);
    assert_member(rig, KEY, "phase", "\"stopping\"");
}

static void
test_engine_lets_a_renewal_win_over_its_deadline(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig->now_ms += 3600000;
    rig_turn(rig);
    rig_publish(rig, KEY, DOCUMENT("", "\"ttlMs\":7200000"));
    slu_engine_read_through(rig->engine, rig->now_ms, rig->now_ms);
    rig_turn(rig);
    assert_member(rig, KEY, "phase", "\"running\"");
    assert_member(rig, KEY, "record.expiresAtMs", "8200000");
}

static void
test_engine_does_not_extend_a_deadline_that_is_sent_again(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_wait(rig, 1000);
    rig_publish(rig, KEY, PAUSED);
    rig_turn(rig);
    assert_member(rig, KEY, "record.expiresAtMs", "4600000");
}

static void
test_engine_pauses_the_idle_and_wakes_it_on_use(void **state)
{
    struct rig *rig = *state;
    make_running(rig, SESSION(""));
    assert_member(rig, KEY, "detail.idleDeadlineAtMs", "1010000");
    rig_wait(rig, 9999);
    rig_no_call(rig);
    rig_wait(rig, 1);
    assert_member(rig, KEY, "detail.idle", "true");
    rig_serve(rig, SLU_ACTION_PAUSE, "i1", SLU_LIFE_PAUSED);
    assert_member(rig, KEY, "spec.state", "\"running\"");
    rig_publish(rig, "activity/s1/a1",
                "{\"kind\":\"Activity\",\"id\":\"a1\",\"scope\":{\"tenantId\":\"t\",\"projectId\":"
                "\"p\"},\"spec\":{\"sandboxId\":\"s1\",\"active\":true}}");
    rig_serve(rig, SLU_ACTION_RESUME, "i1", SLU_LIFE_RUNNING);
    assert_member(rig, KEY, "detail.idle", "");
    assert_member(rig, KEY, "phase", "\"running\"");
    rig_wait(rig, 30000);
    assert_member(rig, KEY, "phase", "\"running\""); /* Active for an hour. */
}

static void
test_engine_counts_a_resume_at_the_provider_as_use_of_an_idle_one(void **state)
{
    struct rig *rig = *state;
    make_running(rig, SESSION(""));
    rig_wait(rig, 10000);
    rig_serve(rig, SLU_ACTION_PAUSE, "i1", SLU_LIFE_PAUSED);
    rig_wait(rig, 60000);
    rig_serve(rig, SLU_ACTION_INSPECT, "i1", SLU_LIFE_RUNNING);
    rig_no_call(rig);
    assert_member(rig, KEY, "detail.idle", "");
    assert_member(rig, KEY, "phase", "\"running\"");
}

static void
test_engine_makes_nothing_before_first_use_when_lazy(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, SESSION(",\"autoStart\":false"));
    rig_no_call(rig);
    assert_member(rig, KEY, "phase", "\"pending\"");
    rig_publish(rig, "activity/s1/a1",
                "{\"kind\":\"Activity\",\"id\":\"a1\",\"scope\":{\"tenantId\":\"t\",\"projectId\":"
                "\"p\"},\"spec\":{\"sandboxId\":\"s1\",\"active\":true}}");
    struct slu_call *create = rig_call(rig, SLU_ACTION_CREATE);
    assert_member(rig, KEY, "detail.started", "true");
    slu_call_free(create);
}

static void
test_engine_refuses_activity_of_nobody(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, "activity/s1/a1",
                "{\"kind\":\"Activity\",\"id\":\"a1\",\"scope\":{\"tenantId\":\"t\",\"projectId\":"
                "\"p\"},\"spec\":{\"sandboxId\":\"s1\",\"active\":true}}");
    rig_turn(rig);
    assert_string_equal(rig_history(rig, "activity/s1/a1"), "refused");
}

static void
end_init(struct rig *rig, int index, int exit_code)
{
    struct slu_call *call = rig_call(rig, SLU_ACTION_INIT);
    assert_int_equal(call->init_index, index);
    const struct slu_facts facts = {
        .outcome = SLU_OUTCOME_DONE, .has_exit = true, .exit_code = exit_code};
    rig_answer(rig, call, &facts);
}

static void
test_engine_runs_init_commands_in_order(void **state)
{
    struct rig *rig = *state;
    make_running(rig, WITH_INIT);
    end_init(rig, 0, 0);
    end_init(rig, 1, 0);
    rig_no_call(rig);
    assert_string_equal(rig_history(rig, KEY), "accepted starting created initialized");
    assert_string_equal(rig_member(rig, KEY, "detail.init.attempts"), "0");
    assert_member(rig, KEY, "detail.init.completedAtMs", "1000000");
}

static void
test_engine_starts_init_again_after_a_command_failed(void **state)
{
    struct rig *rig = *state;
    make_running(rig, WITH_INIT);
    struct slu_call *call = rig_call(rig, SLU_ACTION_INIT);
    char first[17];
    memcpy(first, call->init_hash, sizeof first);
    const struct slu_facts good = {.outcome = SLU_OUTCOME_DONE, .has_exit = true};
    rig_answer(rig, call, &good);
    end_init(rig, 1, 3);
    assert_member(rig, KEY, "session.lastInitError", "\"init command 2 of 2: exit code 3\"");
    assert_member(rig, KEY, "phase", "\"running\"");
    rig_wait(rig, 1000);
    call = rig_call(rig, SLU_ACTION_INIT);
    assert_int_equal(call->init_index, 0);
    assert_string_not_equal(call->init_hash, first);
    slu_call_free(call);
}

static void
test_engine_sets_no_init_error_for_a_transport_error(void **state)
{
    struct rig *rig = *state;
    make_running(rig, WITH_INIT);
    rig_end(rig, SLU_ACTION_INIT, SLU_OUTCOME_AMBIGUOUS);
    rig_wait(rig, 1000);
    rig_serve(rig, SLU_ACTION_INSPECT, "i1", SLU_LIFE_RUNNING);
    end_init(rig, 0, 0);
    assert_member(rig, KEY, "session.lastInitError", "");
}

static void
test_engine_extends_the_provider_lease_at_a_third(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    for (int i = 0; i < 6; i++) {
        rig_wait(rig, 60000);
        rig_serve(rig, SLU_ACTION_INSPECT, "i1", SLU_LIFE_RUNNING);
    }
    rig_no_call(rig);
    rig_wait(rig, 40000);
    struct slu_call *extend = rig_call(rig, SLU_ACTION_EXTEND);
    assert_int_equal(extend->lease_seconds, 1200);
    const struct slu_facts done = rig_facts(SLU_OUTCOME_DONE);
    rig_answer(rig, extend, &done);
    assert_member(rig, KEY, "detail.lease.refreshedAtMs", "1400000");
    rig_wait(rig, 20000);
    rig_serve(rig, SLU_ACTION_INSPECT, "i1", SLU_LIFE_RUNNING);
    rig_no_call(rig);
}

static void
test_engine_records_a_loss_before_it_replaces(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_wait(rig, 60000);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_GONE);
    assert_member(rig, KEY, "phase", "\"running\""); /* One look is no proof. */
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    struct slu_call *create = rig_call(rig, SLU_ACTION_CREATE);
    assert_int_equal(create->incarnation, 2);
    const struct slu_facts facts = rig_seen(create, "i2", SLU_LIFE_RUNNING);
    rig_answer(rig, create, &facts);
    assert_string_equal(rig_history(rig, KEY), "accepted starting created lost starting recovered");
    assert_member(rig, KEY, "incarnation", "2");
}

static void
test_engine_takes_no_failure_of_a_look_for_a_loss(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_wait(rig, 60000);
    for (int i = 0; i < 4; i++) {
        rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_AMBIGUOUS);
        rig_wait(rig, 60000);
    }
    assert_member(rig, KEY, "phase", "\"running\"");
    assert_string_equal(rig_history(rig, KEY), "accepted starting created");
}

static void
test_engine_leaves_a_loss_to_the_hand_when_wished(void **state)
{
    struct rig *rig = *state;
    make_running(rig, DOCUMENT("", "\"ttlMs\":3600000,\"recovery\":\"manual\""));
    rig_wait(rig, 60000);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_GONE);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    rig_no_call(rig);
    assert_member(rig, KEY, "phase", "\"lost\"");
    assert_true(rig_publish_with(
        rig, KEY, DOCUMENT("", "\"ttlMs\":3600000,\"recovery\":\"manual\""), "slu-redrive", "1"));
    rig_serve(rig, SLU_ACTION_CREATE, "i2", SLU_LIFE_RUNNING);
    assert_member(rig, KEY, "phase", "\"running\"");
}

static void
test_engine_parks_a_permanent_failure_and_tries_again_later(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    rig_end(rig, SLU_ACTION_CREATE, SLU_OUTCOME_PERMANENT);
    rig_no_call(rig);
    assert_member(rig, KEY, "phase", "\"failed\"");
    assert_member(rig, KEY, "detail.parked.reason", "\"ProviderRefuses\"");
    rig_wait(rig, 600000);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    struct slu_call *create = rig_call(rig, SLU_ACTION_CREATE);
    assert_int_equal(create->incarnation, 2); /* The first CREATE was spent. */
    slu_call_free(create);
}

static void
test_engine_parks_after_five_failures(void **state)
{
    struct rig *rig = *state;
    make_running(rig, RUNNING);
    rig_publish(rig, KEY, PAUSED);
    for (int i = 0; i < 5; i++) {
        rig_end(rig, SLU_ACTION_PAUSE, SLU_OUTCOME_BUSY);
        rig_wait(rig, 20000);
        if (i < 4)
            rig_serve(rig, SLU_ACTION_INSPECT, "i1", SLU_LIFE_RUNNING);
    }
    rig_no_call(rig);
    assert_member(rig, KEY, "detail.parked.reason", "\"TooManyFailures\"");
    assert_member(rig, KEY, "detail.parked.action", "\"pause\"");
}

static void
test_engine_never_parks_for_capacity(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    for (int i = 0; i < 12; i++) {
        rig_end(rig, SLU_ACTION_CREATE, SLU_OUTCOME_CAPACITY);
        rig_wait(rig, 61000);
    }
    assert_member(rig, KEY, "detail.parked", "");
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    assert_member(rig, KEY, "incarnation", "1");
}

static void
test_engine_goes_on_after_a_redrive(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    rig_end(rig, SLU_ACTION_CREATE, SLU_OUTCOME_PERMANENT);
    rig_no_call(rig);
    assert_true(rig_publish_with(rig, KEY, RUNNING, "slu-redrive", "1"));
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    struct slu_call *create = rig_call(rig, SLU_ACTION_CREATE);
    slu_call_free(create);
}

static void
test_engine_lets_a_delete_overtake_a_long_init(void **state)
{
    struct rig *rig = *state;
    make_running(rig, WITH_INIT);
    struct slu_call *init = rig_call(rig, SLU_ACTION_INIT);
    rig_publish(rig, KEY, NULL);
    struct slu_call *gone = rig_call(rig, SLU_ACTION_DELETE);
    slu_call_free(init);
    slu_call_free(gone);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_engine_creates_what_is_wished_and_says_so),
        TEST(test_engine_holds_a_call_until_its_cause_has_committed),
        TEST(test_engine_gives_a_create_the_same_key_whatever_the_call_number),
        TEST(test_engine_adopts_what_a_lost_create_made),
        TEST(test_engine_deletes_the_second_instance_of_one_incarnation),
        TEST(test_engine_pauses_and_resumes_by_wish),
        TEST(test_engine_counts_another_id_after_a_resume_as_a_new_incarnation),
        TEST(test_engine_looks_after_a_pause_without_an_answer),
        TEST(test_engine_pauses_again_what_was_resumed_behind_its_back),
        TEST(test_engine_deletes_with_two_looks),
        TEST(test_engine_calls_nothing_gone_while_another_carries_its_labels),
        TEST(test_engine_buries_a_deleted_life_after_its_retention),
        TEST(test_engine_deletes_again_when_the_instance_stays),
        TEST(test_engine_waits_for_a_create_in_flight_before_it_calls_it_deleted),
        TEST(test_engine_calls_nothing_gone_while_a_create_may_still_land),
        TEST(test_engine_waits_for_no_init_before_it_calls_deleted),
        TEST(test_engine_removes_the_old_instance_before_a_new_life_creates),
        TEST(test_engine_stops_for_good),
        TEST(test_engine_expires_only_after_the_log_was_read_beyond_the_deadline),
        TEST(test_engine_lets_a_renewal_win_over_its_deadline),
        TEST(test_engine_does_not_extend_a_deadline_that_is_sent_again),
        TEST(test_engine_pauses_the_idle_and_wakes_it_on_use),
        TEST(test_engine_counts_a_resume_at_the_provider_as_use_of_an_idle_one),
        TEST(test_engine_makes_nothing_before_first_use_when_lazy),
        TEST(test_engine_refuses_activity_of_nobody),
        TEST(test_engine_runs_init_commands_in_order),
        TEST(test_engine_starts_init_again_after_a_command_failed),
        TEST(test_engine_sets_no_init_error_for_a_transport_error),
        TEST(test_engine_extends_the_provider_lease_at_a_third),
        TEST(test_engine_records_a_loss_before_it_replaces),
        TEST(test_engine_takes_no_failure_of_a_look_for_a_loss),
        TEST(test_engine_leaves_a_loss_to_the_hand_when_wished),
        TEST(test_engine_parks_a_permanent_failure_and_tries_again_later),
        TEST(test_engine_parks_after_five_failures),
        TEST(test_engine_never_parks_for_capacity),
        TEST(test_engine_goes_on_after_a_redrive),
        TEST(test_engine_lets_a_delete_overtake_a_long_init),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
