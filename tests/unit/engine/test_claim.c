/* SPDX-License-Identifier: Apache-2.0 */
/* Taking over: what one leader committed is all that the next one knows. */
#include "support/engine_rig.h"

#define KEY "sandbox/s1"
#define DOCUMENT(spec)                                                                            \
    "{\"kind\":\"Sandbox\",\"id\":\"s1\",\"scope\":{\"tenantId\":\"t\",\"projectId\":"            \
    "\"p\"},\"spec\":{\"provider\":\"local\",\"placement\":{\"provider_pool\":\"default\"}," spec \
    "}}"
#define RUNNING DOCUMENT("\"ttlMs\":3600000")
#define PAUSED  DOCUMENT("\"ttlMs\":3600000,\"state\":\"paused\"")
#define SESSION                                                                                 \
    DOCUMENT("\"ttlMs\":3600000,\"session\":{\"sessionId\":\"a\",\"idlePauseAfterSeconds\":60," \
             "\"init\":{\"commands\":[\"one\",\"two\"]}}")

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
keep_status(struct slu_slice status, char *ret_text, size_t size)
{
    assert_true(status.size < size);
    memcpy(ret_text, status.text, status.size);
    ret_text[status.size] = 0;
}

static void
collect(void *context, const char *key, const char *status, size_t status_size)
{
    (void) key;
    keep_status((struct slu_slice){status, status_size}, context, 8192);
}

static void
assert_restored_as_written(struct rig *rig)
{
    char before[8192];
    char after[8192];
    keep_status(rig_status(rig, KEY), before, sizeof before);
    rig_take_over(rig);
    slu_engine_each_status(rig->engine, collect, after);
    assert_string_equal(after, before);
}

static void
test_claim_restores_a_status_byte_for_byte(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, SESSION);
    rig_turn(rig);
    assert_restored_as_written(rig); /* With a CREATE pending. */
}

static void
test_claim_restores_what_runs_byte_for_byte(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, SESSION);
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    const struct slu_facts failed = {.outcome = SLU_OUTCOME_DONE, .has_exit = true, .exit_code = 2};
    rig_answer(rig, rig_call(rig, SLU_ACTION_INIT), &failed);
    assert_restored_as_written(rig); /* With an init error and a lease. */
}

static void
test_claim_restores_times_of_a_record_that_waited_to_be_read(void **state)
{
    struct rig *rig = *state;
    rig->now_ms += 5;
    const struct slu_record record = {.timestamp_ms = rig->now_ms - 5,
                                      .key = KEY,
                                      .key_size = strlen(KEY),
                                      .value = SESSION,
                                      .value_size = strlen(SESSION)};
    assert_true(slu_engine_record(rig->engine, &record, rig->now_ms));
    rig->next_offset = 1;
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    assert_member(rig, KEY, "record.createdAtMs", "1000000");
    assert_restored_as_written(rig);
}

static void
test_claim_restores_what_was_lost_byte_for_byte(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, PAUSED);
    rig_publish(rig, KEY, RUNNING);
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    rig_publish(rig, KEY, PAUSED);
    rig_serve(rig, SLU_ACTION_PAUSE, "i1", SLU_LIFE_PAUSED);
    rig_wait(rig, 60000);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_GONE);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    assert_member(rig, KEY, "phase", "\"lost\"");
    assert_restored_as_written(rig);
}

static void
test_claim_counts_the_epoch_and_names_the_owner(void **state)
{
    struct rig *rig = *state;
    rig_take_over(rig);
    const struct slu_output *last = &rig->outputs[rig->output_count - 1];
    const struct slu_slice shard = {last->value, last->value_size};
    assert_int_equal(last->topic, SLU_TOPIC_SHARDS);
    assert_int_equal(slu_slice_int(slu_slice_member(shard, "epoch"), 0), 2);
    assert_int_equal(slu_slice_int(slu_slice_member(shard, "seq"), 0), 2);
    assert_true(slu_slice_is(slu_slice_member(shard, "owner"), "\"http://127.0.0.1:1\""));
}

static void
test_claim_refuses_another_cluster_and_another_n(void **state)
{
    struct rig *rig = *state;
    struct slu_engine_config config = rig->config;
    config.cluster = "other";
    struct slu_shard_record last = {.cluster = "c0ffee", .shard_count = RIG_SHARDS};
    struct slu_error error;
    struct slu_engine *engine = slu_engine_new(&config);
    assert_int_equal(slu_engine_claim(engine, &last, &error), SLU_FATAL);
    slu_engine_free(engine);
    config.cluster = "";
    last.shard_count = 2;
    engine = slu_engine_new(&config);
    assert_int_equal(slu_engine_claim(engine, &last, &error), SLU_FATAL);
    slu_engine_free(engine);
}

static void
test_claim_looks_by_label_for_a_create_whose_answer_went_to_another_leader(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    slu_call_free(rig_call(rig, SLU_ACTION_CREATE));
    rig_take_over(rig);
    struct slu_call *look = rig_call(rig, SLU_ACTION_INSPECT);
    assert_true(look->by_label);
    const struct slu_facts facts = rig_seen(look, "i1", SLU_LIFE_RUNNING);
    rig_answer(rig, look, &facts);
    rig_no_call(rig);
    assert_member(rig, KEY, "phase", "\"running\"");
    assert_string_equal(rig_history(rig, KEY), "accepted starting adopted created");
}

static void
test_claim_repeats_a_create_that_was_never_made_under_its_key(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    struct slu_call *first = rig_call(rig, SLU_ACTION_CREATE);
    rig_take_over(rig);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    struct slu_call *again = rig_call(rig, SLU_ACTION_CREATE);
    assert_string_equal(again->idempotency_key, first->idempotency_key);
    slu_call_free(first);
    slu_call_free(again);
}

static void
test_claim_waits_out_a_create_where_the_provider_knows_no_keys(void **state)
{
    struct rig *rig = *state;
    static const char *const few[] = {"exec", "pause", NULL};
    rig->instance.capabilities = few;
    rig_publish(rig, KEY, RUNNING);
    slu_call_free(rig_call(rig, SLU_ACTION_CREATE));
    rig_take_over(rig);
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    rig_wait(rig, 62000);
    rig_no_call(rig);
    rig_wait(rig, 1000); /* 60 s of time-out and 3 s of proof. */
    rig_end(rig, SLU_ACTION_INSPECT, SLU_OUTCOME_DONE);
    struct slu_call *again = rig_call(rig, SLU_ACTION_CREATE);
    slu_call_free(again);
}

static void
test_claim_looks_before_it_repeats_a_pause(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    rig_publish(rig, KEY, PAUSED);
    struct slu_call *pause = rig_call(rig, SLU_ACTION_PAUSE);
    rig_take_over(rig);
    rig_serve(rig, SLU_ACTION_INSPECT, "i1", SLU_LIFE_RUNNING);
    struct slu_call *again = rig_call(rig, SLU_ACTION_PAUSE);
    assert_string_equal(again->idempotency_key, pause->idempotency_key);
    slu_call_free(pause);
    slu_call_free(again);
}

static void
test_claim_goes_on_with_init_where_the_wrapper_left_it(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, SESSION);
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    struct slu_call *first = rig_call(rig, SLU_ACTION_INIT);
    rig_take_over(rig);
    rig_serve(rig, SLU_ACTION_INSPECT, "i1", SLU_LIFE_RUNNING);
    struct slu_call *again = rig_call(rig, SLU_ACTION_INIT);
    assert_string_equal(again->init_hash, first->init_hash);
    assert_int_equal(again->init_index, 0);
    slu_call_free(first);
    slu_call_free(again);
}

static void
test_claim_spares_the_look_where_the_cache_says_as_wanted(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    rig_take_over(rig);
    slu_engine_observed_before(rig->engine, KEY, "i1", SLU_LIFE_RUNNING, rig->now_ms + 59000);
    rig_wait(rig, 59999);
    rig_no_call(rig);
}

static void
test_claim_lets_no_cached_observation_lead_to_a_change(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    rig_take_over(rig);
    slu_engine_observed_before(rig->engine, KEY, "i1", SLU_LIFE_PAUSED, rig->now_ms);
    rig_publish(rig, KEY, DOCUMENT("\"ttlMs\":3600001"));
    rig_serve(rig, SLU_ACTION_INSPECT, "i1", SLU_LIFE_RUNNING);
    rig_no_call(rig);
}

static void
test_claim_ignores_the_cache_about_another_instance(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    rig_take_over(rig);
    slu_engine_observed_before(rig->engine, KEY, "i7", SLU_LIFE_RUNNING, rig->now_ms);
    rig_wait(rig, 60000);
    struct slu_call *look = rig_call(rig, SLU_ACTION_INSPECT);
    slu_call_free(look);
}

static void
test_claim_counts_idleness_from_the_take_over(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY,
                DOCUMENT("\"ttlMs\":3600000,\"session\":{\"sessionId\":\"a\","
                         "\"idlePauseAfterSeconds\":30}"));
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    rig->now_ms += 25000;
    rig_take_over(rig);
    rig_wait(rig, 29000);
    assert_member(rig, KEY, "detail.idle", "");
    rig_wait(rig, 1000);
    assert_member(rig, KEY, "detail.idle", "true");
}

/* Each leader says that it tries the record alone, and stops before it does. */
static void
stop_a_leader(struct rig *rig)
{
    assert_false(rig_publish_with(rig, KEY, RUNNING, NULL, NULL));
    assert_true(rig_commit(rig));
    rig_take_over(rig);
}

static void
test_claim_puts_aside_the_record_that_stops_every_leader(void **state)
{
    struct rig *rig = *state;
    for (int i = 0; i < 3; i++)
        rig_take_over(rig);
    for (int i = 0; i < 3; i++)
        stop_a_leader(rig);
    assert_false(rig_publish_with(rig, KEY, RUNNING, NULL, NULL));
    assert_true(rig_commit(rig));
    assert_true(rig_publish_with(rig, KEY, RUNNING, NULL, NULL));
    rig_turn(rig);
    assert_int_equal(rig_count(rig, SLU_TOPIC_DEADLETTER), 1);
    assert_string_equal(rig_history(rig, KEY), "refused");
    assert_null(rig_status(rig, KEY).text);
    rig_publish(rig, KEY, RUNNING); /* The shard goes on. */
    rig_turn(rig);
    assert_non_null(rig_status(rig, KEY).text);
}

static void
test_claim_admits_alone_what_stopped_two_leaders_for_reasons_of_their_own(void **state)
{
    struct rig *rig = *state;
    for (int i = 0; i < 3; i++)
        rig_take_over(rig);
    for (int i = 0; i < 2; i++)
        stop_a_leader(rig);
    assert_false(rig_publish_with(rig, KEY, RUNNING, NULL, NULL));
    assert_true(rig_commit(rig));
    assert_true(rig_publish_with(rig, KEY, RUNNING, NULL, NULL));
    rig_turn(rig);
    assert_int_equal(rig_count(rig, SLU_TOPIC_DEADLETTER), 0);
    assert_member(rig, KEY, "observedGeneration", "1");
}

static void
test_claim_keeps_members_of_a_newer_version(void **state)
{
    struct rig *rig = *state;
    rig_publish(rig, KEY, RUNNING);
    rig_serve(rig, SLU_ACTION_CREATE, "i1", SLU_LIFE_RUNNING);
    for (size_t i = 0; i < rig->output_count; i++) {
        struct slu_output *output = &rig->outputs[i];
        if (output->topic != SLU_TOPIC_STATUS)
            continue;
        struct slu_buffer value = {0};
        slu_buffer_append(&value, output->value, output->value_size - 1);
        slu_buffer_puts(&value, ",\"future\":{\"a\":[1,2]}}");
        free(output->value);
        output->value_size = value.size;
        output->value = slu_buffer_take(&value);
    }
    rig_take_over(rig);
    rig_publish(rig, KEY, PAUSED);
    rig_turn(rig);
    assert_member(rig, KEY, "future", "{\"a\":[1,2]}");
}

static void
test_claim_stops_at_a_status_that_is_none_of_ours(void **state)
{
    struct rig *rig = *state;
    static const char value[] = "{\"kind\":\"Sandbox\",\"phase\":\"running\"}";
    const struct slu_record record = {
        .key = KEY, .key_size = strlen(KEY), .value = value, .value_size = sizeof value - 1};
    struct slu_error error;
    struct slu_engine *engine = slu_engine_new(&rig->config);
    assert_int_equal(slu_engine_restore(engine, &record, &error), SLU_INVALID);
    slu_engine_free(engine);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_claim_restores_a_status_byte_for_byte),
        TEST(test_claim_restores_what_runs_byte_for_byte),
        TEST(test_claim_restores_times_of_a_record_that_waited_to_be_read),
        TEST(test_claim_restores_what_was_lost_byte_for_byte),
        TEST(test_claim_counts_the_epoch_and_names_the_owner),
        TEST(test_claim_refuses_another_cluster_and_another_n),
        TEST(test_claim_looks_by_label_for_a_create_whose_answer_went_to_another_leader),
        TEST(test_claim_repeats_a_create_that_was_never_made_under_its_key),
        TEST(test_claim_waits_out_a_create_where_the_provider_knows_no_keys),
        TEST(test_claim_looks_before_it_repeats_a_pause),
        TEST(test_claim_goes_on_with_init_where_the_wrapper_left_it),
        TEST(test_claim_spares_the_look_where_the_cache_says_as_wanted),
        TEST(test_claim_lets_no_cached_observation_lead_to_a_change),
        TEST(test_claim_ignores_the_cache_about_another_instance),
        TEST(test_claim_counts_idleness_from_the_take_over),
        TEST(test_claim_puts_aside_the_record_that_stops_every_leader),
        TEST(test_claim_admits_alone_what_stopped_two_leaders_for_reasons_of_their_own),
        TEST(test_claim_keeps_members_of_a_newer_version),
        TEST(test_claim_stops_at_a_status_that_is_none_of_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
