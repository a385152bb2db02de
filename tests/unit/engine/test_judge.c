/* SPDX-License-Identifier: Apache-2.0 */
/* Admission through the engine: design.md §3–4, a record and a judgement at a time. */
#include "support/engine_rig.h"

#define KEY "sandbox/s1"
#define DOCUMENT(members, spec)                                                        \
    "{\"kind\":\"Sandbox\",\"id\":\"s1\",\"scope\":{\"tenantId\":\"t\",\"projectId\":" \
    "\"p\"}," members                                                                  \
    "\"spec\":{\"provider\":\"local\",\"placement\":{\"provider_pool\":\"default\"}," spec "}}"
#define GENERATION(n) "\"generation\":" #n ","
#define IF(n)         "\"ifGeneration\":" #n ","
#define A             "\"ttlMs\":60000"
#define B             "\"ttlMs\":120000"

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

/* Publishes and returns "accepted 4", "repeated 4" or the refusal's code. */
static const char *
judge_with(
    struct rig *rig, const char *key, const char *value, const char *header, const char *text)
{
    static char verdict[4][64];
    static int turn;
    char *ret = verdict[turn++ % 4];
    assert_true(rig_publish_with(rig, key, value, header, text));
    struct slu_batch *batch = slu_engine_take_batch(rig->engine, false);
    assert_non_null(batch);
    rig_keep(rig, batch);
    slu_engine_committed(rig->engine, rig->now_ms);
    for (size_t i = rig->output_count; i > 0; i--) {
        const struct slu_output *output = &rig->outputs[i - 1];
        const struct slu_slice data = {output->value, output->value_size};
        const struct slu_slice cause = slu_slice_member(data, "cause");
        if (output->topic != SLU_TOPIC_EVENTS ||
            slu_slice_int(slu_slice_member(cause, "offset"), -1) != rig->next_offset - 1)
            continue;
        if (slu_slice_copy(slu_slice_member(data, "code"), ret, sizeof verdict[0]))
            return ret;
        if (!slu_slice_member(data, "generation").text || slu_slice_member(data, "from").text)
            continue;
        snprintf(ret, sizeof verdict[0], "%s %lld",
                 slu_slice_member(data, "repeated").text ? "repeated" : "accepted",
                 (long long) slu_slice_int(slu_slice_member(data, "generation"), -1));
        return ret;
    }
    return "no judgement";
}

static const char *
judge(struct rig *rig, const char *value)
{
    return judge_with(rig, KEY, value, NULL, NULL);
}

static void
test_judge_counts_generations_where_none_is_given(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge(rig, DOCUMENT("", A)), "accepted 1");
    assert_string_equal(judge(rig, DOCUMENT("", B)), "accepted 2");
    assert_string_equal(judge(rig, DOCUMENT("", B)), "repeated 2");
    assert_string_equal(judge(rig, DOCUMENT("", B ",\"state\":\"running\"")), "repeated 2");
}

static void
test_judge_orders_by_generation_where_it_is_given(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge(rig, DOCUMENT(GENERATION(7), A)), "accepted 7");
    assert_string_equal(judge(rig, DOCUMENT(GENERATION(7), A)), "repeated 7");
    assert_string_equal(judge(rig, DOCUMENT(GENERATION(7), B)), "REVISION_CONFLICT");
    assert_string_equal(judge(rig, DOCUMENT(GENERATION(6), B)), "REVISION_CONFLICT");
    assert_string_equal(judge(rig, DOCUMENT(GENERATION(9), A)), "accepted 9");
    assert_member(rig, KEY, "observedGeneration", "9");
}

static void
test_judge_holds_conditions(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge(rig, DOCUMENT(IF(1), A)), "REVISION_CONFLICT");
    assert_string_equal(judge(rig, DOCUMENT(IF(0), A)), "accepted 1");
    assert_string_equal(judge(rig, DOCUMENT(IF(0), B)), "CONFLICT");
    assert_string_equal(judge(rig, DOCUMENT(IF(1), B)), "accepted 2");
    assert_string_equal(judge(rig, DOCUMENT(IF(1), A)), "REVISION_CONFLICT");
}

static void
test_judge_never_takes_a_conditional_record_for_a_repeat_of_its_bytes(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge(rig, DOCUMENT("", A)), "accepted 1");
    assert_string_equal(judge(rig, DOCUMENT(IF(1), B)), "accepted 2");
    assert_string_equal(judge(rig, DOCUMENT(IF(1), B)), "REVISION_CONFLICT");
}

static void
test_judge_recognises_the_creating_record_by_its_id(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge_with(rig, KEY, DOCUMENT(IF(0), A), "ce_id", "e-1"), "accepted 1");
    assert_string_equal(judge(rig, DOCUMENT("", B)), "accepted 2");
    assert_string_equal(judge_with(rig, KEY, DOCUMENT(IF(0), A), "ce_id", "e-1"), "repeated 2");
    assert_string_equal(judge_with(rig, KEY, DOCUMENT(IF(0), B), "ce_id", "e-1"), "CONFLICT");
    assert_string_equal(judge(rig, NULL), "accepted 3");
    assert_string_equal(judge_with(rig, KEY, DOCUMENT(IF(0), A), "ce_id", "e-1"), "repeated 3");
    assert_member(rig, KEY, "phase", "\"deleting\"");
}

static void
test_judge_accepts_the_deletion_of_what_is_not_there(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge(rig, NULL), "accepted 0");
    assert_null(rig_status(rig, KEY).text);
    assert_string_equal(judge(rig, DOCUMENT("", A ",\"state\":\"deleted\"")), "accepted 0");
    assert_null(rig_status(rig, KEY).text);
}

static void
test_judge_goes_on_counting_in_the_next_life(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge(rig, DOCUMENT(GENERATION(5), A)), "accepted 5");
    assert_string_equal(judge(rig, DOCUMENT("", A ",\"state\":\"deleted\"")), "accepted 6");
    assert_string_equal(judge(rig, DOCUMENT(GENERATION(6), A)), "REVISION_CONFLICT");
    assert_string_equal(judge(rig, DOCUMENT("", A)), "accepted 7");
    assert_member(rig, KEY, "uid", "\"0-3\"");
}

static void
test_judge_refuses_an_unknown_provider_and_names_the_configured(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(
        judge(rig,
              "{\"kind\":\"Sandbox\",\"id\":\"s1\",\"scope\":{\"tenantId\":\"t\",\"projectId\":"
              "\"p\"},\"spec\":{\"provider\":\"mars\",\"placement\":{\"provider_pool\":"
              "\"default\"},\"ttlMs\":60000}}"),
        "INVALID");
    char message[256];
    assert_true(slu_slice_copy(slu_slice_member(rig_last_event(rig, KEY), "message"), message,
                               sizeof message));
    assert_string_equal(message, "spec.provider: 'mars' is not configured; configured are local");
}

static void
test_judge_takes_the_deployments_provider_where_none_is_named(void **state)
{
    struct rig *rig = *state;
    const char *document = "{\"kind\":\"Sandbox\",\"id\":\"s1\",\"scope\":{\"tenantId\":\"t\","
                           "\"projectId\":\"p\"},\"spec\":{\"placement\":{\"provider_pool\":"
                           "\"default\"},\"ttlMs\":60000}}";
    assert_string_equal(judge(rig, document), "INVALID"); /* The contract's default: e2b. */
    slu_engine_free(rig->engine);
    rig->config.default_provider = "local";
    rig->engine = slu_engine_new(&rig->config);
    const struct slu_shard_record first = {.cluster = "c0ffee", .shard_count = RIG_SHARDS};
    rig_claim(rig, &first);
    assert_string_equal(judge(rig, document), "accepted 1");
    assert_member(rig, KEY, "spec.provider", "\"local\"");
}

static void
test_judge_keeps_a_resource_in_its_scope(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge(rig, DOCUMENT("", A)), "accepted 1");
    assert_string_equal(
        judge(rig,
              "{\"kind\":\"Sandbox\",\"id\":\"s1\",\"scope\":{\"tenantId\":\"x\",\"projectId\":"
              "\"p\"},\"spec\":{\"provider\":\"local\",\"placement\":{\"provider_pool\":"
              "\"default\"},\"ttlMs\":60000}}"),
        "INVALID");
}

static void
test_judge_refuses_to_change_what_is_fixed(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge(rig, DOCUMENT("", A ",\"profile\":{\"a\":\"1\"}")), "accepted 1");
    assert_string_equal(judge(rig, DOCUMENT("", A ",\"profile\":{\"a\":\"2\"}")), "INVALID");
    assert_member(rig, KEY, "spec.profile.a", "\"1\"");
}

static void
test_judge_dead_letters_what_is_no_document_and_refuses_it_too(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge(rig, "{\"kind\":"), "INVALID");
    assert_int_equal(rig_count(rig, SLU_TOPIC_DEADLETTER), 1);
}

static void
test_judge_dead_letters_a_record_without_a_usable_key(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge_with(rig, "nothing", DOCUMENT("", A), NULL, NULL), "no judgement");
    assert_int_equal(rig_count(rig, SLU_TOPIC_DEADLETTER), 1);
    assert_int_equal(slu_engine_next_offset(rig->engine, 0), 1);
}

static void
test_judge_refuses_a_forward_that_was_overtaken(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge(rig, DOCUMENT("", A)), "accepted 1");
    assert_true(rig_publish_with(rig, KEY, DOCUMENT("", B), "slu-origin", "3/77/999999"));
    assert_true(rig_commit(rig));
    assert_member(rig, KEY, "observedGeneration", "1");
    char code[32];
    assert_true(
        slu_slice_copy(slu_slice_member(rig_last_event(rig, KEY), "code"), code, sizeof code));
    assert_string_equal(code, "REVISION_CONFLICT");
    const struct slu_slice cause = slu_slice_member(rig_last_event(rig, KEY), "cause");
    assert_int_equal(slu_slice_int(slu_slice_member(cause, "partition"), -1), 3);
    assert_int_equal(slu_slice_int(slu_slice_member(cause, "offset"), -1), 77);
}

static void
test_judge_judges_no_record_twice(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge(rig, DOCUMENT("", A)), "accepted 1");
    rig->next_offset = 0;
    rig_publish(rig, KEY, DOCUMENT("", B));
    assert_false(rig_commit(rig));
    assert_member(rig, KEY, "observedGeneration", "1");
}

static void
test_judge_blocks_what_it_cannot_drive_yet(void **state)
{
    struct rig *rig = *state;
    assert_string_equal(judge(rig, DOCUMENT("", A)), "accepted 1");
    const char *checkpoint =
        "{\"kind\":\"Checkpoint\",\"id\":\"c1\",\"scope\":{\"tenantId\":\"t\",\"projectId\":\"p\"},"
        "\"spec\":{\"sandboxId\":\"s1\"}}";
    assert_string_equal(judge_with(rig, "checkpoint/s1/c1", checkpoint, NULL, NULL), "accepted 1");
    const char *conditions = rig_member(rig, "checkpoint/s1/c1", "conditions");
    assert_non_null(strstr(conditions, "\"type\":\"Blocked\",\"status\":\"True\",\"reason\":"
                                       "\"NotImplemented\""));
    assert_string_equal(judge(rig, NULL), "accepted 2");
    assert_member(rig, "checkpoint/s1/c1", "phase", "\"deleted\"");
}

static void
test_judge_refuses_a_checkpoint_of_nobody(void **state)
{
    struct rig *rig = *state;
    const char *checkpoint =
        "{\"kind\":\"Checkpoint\",\"id\":\"c1\",\"scope\":{\"tenantId\":\"t\",\"projectId\":\"p\"},"
        "\"spec\":{\"sandboxId\":\"s1\"}}";
    assert_string_equal(judge_with(rig, "checkpoint/s1/c1", checkpoint, NULL, NULL), "NOT_FOUND");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_judge_counts_generations_where_none_is_given),
        TEST(test_judge_orders_by_generation_where_it_is_given),
        TEST(test_judge_holds_conditions),
        TEST(test_judge_never_takes_a_conditional_record_for_a_repeat_of_its_bytes),
        TEST(test_judge_recognises_the_creating_record_by_its_id),
        TEST(test_judge_accepts_the_deletion_of_what_is_not_there),
        TEST(test_judge_goes_on_counting_in_the_next_life),
        TEST(test_judge_refuses_an_unknown_provider_and_names_the_configured),
        TEST(test_judge_takes_the_deployments_provider_where_none_is_named),
        TEST(test_judge_keeps_a_resource_in_its_scope),
        TEST(test_judge_refuses_to_change_what_is_fixed),
        TEST(test_judge_dead_letters_what_is_no_document_and_refuses_it_too),
        TEST(test_judge_dead_letters_a_record_without_a_usable_key),
        TEST(test_judge_refuses_a_forward_that_was_overtaken),
        TEST(test_judge_judges_no_record_twice),
        TEST(test_judge_blocks_what_it_cannot_drive_yet),
        TEST(test_judge_refuses_a_checkpoint_of_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
