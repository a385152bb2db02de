/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and the wishes that change while they are on their way: each of these was found by the
 * simulator (tests/sim). */
#include "support/engine_rig.h"

#define KEY "sandbox/s1"
#define DOCUMENT(spec)                                                                            \
    "{\"kind\":\"Sandbox\",\"id\":\"s1\",\"scope\":{\"tenantId\":\"t\",\"projectId\":"            \
    "\"p\"},\"spec\":{\"provider\":\"local\",\"placement\":{\"provider_pool\":\"default\"}," spec \
    "}}"
#define RUNNING        DOCUMENT("\"ttlMs\":3600000")
#define LEASE(seconds) DOCUMENT("\"ttlMs\":3600000,\"providerLeaseSeconds\":" #seconds)
#define SESSION(more)                                                                             \
    DOCUMENT("\"ttlMs\":3600000,\"session\":{\"sessionId\":\"a\",\"idlePauseEnabled\":false" more \
             "}")
#define IDLE(alias)                                                                  \
    DOCUMENT("\"ttlMs\":3600000,\"alias\":\"" alias "\",\"session\":{\"sessionId\":" \
             "\"a\",\"idlePauseAfterSeconds\":10}")
#define INIT(commands) SESSION(",\"init\":{\"commands\":[" commands "]}")

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
serve_init(struct rig *rig, int index)
{
    struct slu_call *call = rig_call(rig, SLU_ACTION_INIT);
    assert_int_equal(call->init_index, index);
    struct slu_facts facts = rig_facts(SLU_OUTCOME_DONE);
    facts.has_exit = true;
    rig_answer(rig, call, &facts);
}

static void
test_calls_renew_a_lease_at_once_when_its_length_changes(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, LEASE(60));
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    rig_publish(rig, KEY, LEASE(1200));
    struct slu_call *extend = rig_call(rig, SLU_ACTION_EXTEND);
    assert_int_equal(extend->lease_seconds, 1200);
    assert_member(rig, KEY, "detail.lease.durationSeconds", "60");
    const struct slu_facts done = rig_facts(SLU_OUTCOME_DONE);
    rig_answer(rig, extend, &done);
    assert_member(rig, KEY, "detail.lease.durationSeconds", "1200");
    rig_no_call(rig);
}

static void
test_calls_leave_a_sandbox_running_that_becomes_lazy_after_it_was_made(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, SESSION(""));
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    rig_publish(rig, KEY, SESSION(",\"autoStart\":false"));
    rig_no_call(rig);
    assert_member(rig, KEY, "phase", "\"running\"");
}

static void
test_calls_begin_a_changed_init_list_with_its_first_command(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, INIT("\"one\",\"two\""));
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    struct slu_call *first = rig_call(rig, SLU_ACTION_INIT);
    rig_publish(rig, KEY, INIT("\"three\",\"four\""));
    struct slu_facts facts = rig_facts(SLU_OUTCOME_DONE);
    facts.has_exit = true;
    rig_answer(rig, first, &facts);
    serve_init(rig, 0);
    serve_init(rig, 1);
    rig_no_call(rig);
}

static void
test_calls_of_one_decision_keep_its_number(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, INIT("\"one\",\"two\""));
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    struct slu_call *first = rig_call(rig, SLU_ACTION_INIT);
    const int64_t number = first->call;
    rig_wait(rig, 400000); /* A third of the lease: extended beside the long command. */
    rig_end(rig, SLU_ACTION_EXTEND, SLU_OUTCOME_DONE);
    struct slu_facts facts = rig_facts(SLU_OUTCOME_DONE);
    facts.has_exit = true;
    rig_answer(rig, first, &facts);
    struct slu_call *second = rig_call(rig, SLU_ACTION_INIT);
    assert_int_equal(second->call, number);
    slu_call_free(second);
}

static void
test_calls_overtaken_before_they_left_do_not_leave(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, INIT("\"one\""));
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    slu_call_free(rig_call(rig, SLU_ACTION_INIT));
    rig->now_ms += 400000;
    slu_engine_turn(rig->engine, rig->now_ms, 0); /* Decides EXTEND; its batch is not taken yet. */
    rig_publish(rig, KEY, NULL);
    slu_call_free(rig_call(rig, SLU_ACTION_DELETE));
    rig_no_call(rig); /* The status that was written tells of no EXTEND. */
}

/* The id is deleted, made anew and deleted again while the first CREATE is on its way. */
static void
test_calls_of_an_earlier_life_are_waited_for_by_the_deletion_of_a_later_one(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    struct slu_call *create = rig_call(rig, SLU_ACTION_CREATE);
    rig_publish(rig, KEY, NULL);
    rig_publish(rig, KEY, RUNNING);
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
test_calls_never_delete_what_a_list_shows_twice(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    rig_end(rig, SLU_ACTION_CREATE, SLU_OUTCOME_AMBIGUOUS);
    rig_wait(rig, 2000);
    struct slu_call *look = rig_call(rig, SLU_ACTION_INSPECT);
    struct slu_facts facts = rig_seen(look, "i1", SLU_LIFE_RUNNING);
    facts.seen[1] = facts.seen[0];
    facts.seen_count = 2;
    rig_answer(rig, look, &facts);
    rig_no_call(rig);
    assert_member(rig, KEY, "detail.instance.externalId", "\"i1\"");
}

static void
test_calls_pause_for_idleness_counted_from_the_last_change_of_the_wish(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, IDLE("1"));
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    rig_publish(
        rig, "activity/s1/a",
        "{\"kind\":\"Activity\",\"id\":\"a\",\"scope\":{\"tenantId\":\"t\",\"projectId\":\"p\"},"
        "\"spec\":{\"sandboxId\":\"s1\",\"active\":true,\"ttlMs\":5000}}");
    rig_turn(rig);
    rig->now_ms += 6000;
    rig_publish(rig, KEY, IDLE("2")); /* Later use than the end of that activity. */
    rig_wait(rig, 0);
    rig_wait(rig, 9999);
    rig_no_call(rig);
    rig_wait(rig, 1);
    slu_call_free(rig_call(rig, SLU_ACTION_PAUSE));
}

/* Own and stray partition in turn: naming each the record on trial in turn would never end. */
static void
test_calls_settle_one_record_on_trial_before_the_next(void **state)
{
    struct rig *rig = *state;
    for (int i = 0; i < 3; i++)
        rig_take_over(rig);
    const struct slu_record stray = {.partition = 1,
                                     .timestamp_ms = rig->now_ms,
                                     .key = KEY,
                                     .key_size = strlen(KEY),
                                     .value = RUNNING,
                                     .value_size = strlen(RUNNING)};
    int turns = 0;
    bool own = false;
    for (bool other = false; !(own && other); turns++) {
        assert_true(turns < 8);
        own = own || rig_publish_with(rig, KEY, RUNNING, NULL, NULL);
        other = other || slu_engine_record(rig->engine, &stray, rig->now_ms);
        rig_turn(rig);
    }
    assert_int_equal(rig_count(rig, SLU_TOPIC_DEADLETTER), 0);
}

static void
test_calls_renew_a_lease_whose_extension_went_to_another_leader(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, LEASE(1200));
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    rig_publish(rig, KEY, LEASE(60));
    slu_call_free(rig_call(rig, SLU_ACTION_EXTEND)); /* Carried out, and the leader dies. */
    rig_publish(rig, KEY, LEASE(1200));
    rig_turn(rig);
    rig_take_over(rig);
    rig_serve(rig, SLU_ACTION_INSPECT, "i1", SLU_LIFE_RUNNING);
    struct slu_call *extend = rig_call(rig, SLU_ACTION_EXTEND);
    assert_int_equal(extend->lease_seconds, 1200);
    slu_call_free(extend);
}

/* A new life's CREATE has no answer yet when the instance of the earlier life turns up. */
static void
test_calls_without_an_answer_are_waited_for_beside_an_earlier_instance(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    rig_end(rig, SLU_ACTION_CREATE, SLU_OUTCOME_AMBIGUOUS);
    rig_publish(rig, KEY, NULL);
    rig_wait(rig, 2000);
    struct slu_call *look = rig_call(rig, SLU_ACTION_INSPECT);
    struct slu_facts facts = rig_seen(look, "i0", SLU_LIFE_RUNNING);
    facts.seen[0].incarnation = 1; /* The deletion counted on. */
    rig_answer(rig, look, &facts);
    rig_end(rig, SLU_ACTION_DELETE, SLU_OUTCOME_GONE);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE); /* By label: nothing listed. */
    rig_no_call(rig);
    assert_member(rig, KEY, "phase", "\"deleting\"");
    rig_wait(rig, 60000); /* The CREATE's full time-out. */
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    rig_turn(rig);
    assert_member(rig, KEY, "phase", "\"deleted\"");
}

/* A CREATE that may still land is repeated only word for word; another body waits for it. */
static void
test_calls_with_another_body_wait_until_the_first_can_land_no_more(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, LEASE(1200));
    rig_end(rig, SLU_ACTION_CREATE, SLU_OUTCOME_AMBIGUOUS);
    rig_publish(rig, KEY, LEASE(600));
    rig_wait(rig, 2000);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE); /* Nothing listed yet. */
    rig_no_call(rig);
    rig_wait(rig, 60000);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    struct slu_call *create = rig_call(rig, SLU_ACTION_CREATE);
    assert_int_equal(create->incarnation, 2);
    slu_call_free(create);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_calls_renew_a_lease_at_once_when_its_length_changes),
        TEST(test_calls_leave_a_sandbox_running_that_becomes_lazy_after_it_was_made),
        TEST(test_calls_begin_a_changed_init_list_with_its_first_command),
        TEST(test_calls_of_one_decision_keep_its_number),
        TEST(test_calls_overtaken_before_they_left_do_not_leave),
        TEST(test_calls_of_an_earlier_life_are_waited_for_by_the_deletion_of_a_later_one),
        TEST(test_calls_never_delete_what_a_list_shows_twice),
        TEST(test_calls_with_another_body_wait_until_the_first_can_land_no_more),
        TEST(test_calls_renew_a_lease_whose_extension_went_to_another_leader),
        TEST(test_calls_without_an_answer_are_waited_for_beside_an_earlier_instance),
        TEST(test_calls_settle_one_record_on_trial_before_the_next),
        TEST(test_calls_pause_for_idleness_counted_from_the_last_change_of_the_wish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
