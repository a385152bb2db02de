/* SPDX-License-Identifier: Apache-2.0 */
/* Drives one engine by hand: publish records, commit batches, answer calls, read what came out. For
 * unit tests of lib/engine; it decides nothing itself. */
#ifndef SLU_TESTS_ENGINE_RIG_H
#define SLU_TESTS_ENGINE_RIG_H

#include "slu/base/memory.h"
#include "slu/engine/engine.h"
#include "slu/model/json_slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    RIG_OUTPUTS_MAX = 4096,
    RIG_SHARDS = 1
};

static const char *const rig_capabilities[] = {"exec", "idempotent_create", "pause", NULL};
static char rig_pool[] = "default";

struct rig {
    struct slu_provider_instance instance;
    struct slu_engine_config config;
    struct slu_engine *engine;
    int64_t now_ms;
    int64_t next_offset;
    struct slu_output outputs[RIG_OUTPUTS_MAX]; /* Every output committed, oldest first. */
    size_t output_count;
};

static inline void
rig_keep(struct rig *rig, struct slu_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        assert_true(rig->output_count < RIG_OUTPUTS_MAX);
        rig->outputs[rig->output_count++] = batch->outputs[i];
    }
    batch->count = 0; /* The rig owns them now. */
    slu_batch_free(batch);
}

/* One transaction, committed at once. False when there was nothing to write. */
static inline bool
rig_commit(struct rig *rig)
{
    struct slu_batch *batch = slu_engine_take_batch(rig->engine, false);
    if (!batch)
        return false;
    rig_keep(rig, batch);
    slu_engine_committed(rig->engine, rig->now_ms);
    return true;
}

static inline void
rig_claim(struct rig *rig, const struct slu_shard_record *last)
{
    struct slu_error error;
    assert_int_equal(slu_engine_claim(rig->engine, last, &error), SLU_OK);
    assert_true(rig_commit(rig));
}

static inline void
rig_start(struct rig *rig)
{
    *rig = (struct rig){.now_ms = 1000000};
    snprintf(rig->instance.name, sizeof rig->instance.name, "local");
    snprintf(rig->instance.type, sizeof rig->instance.type, "local");
    rig->instance.pools[0] = rig_pool;
    rig->instance.pool_count = 1;
    rig->instance.capabilities = rig_capabilities;
    rig->config = (struct slu_engine_config){.shard = 0,
                                             .shard_count = RIG_SHARDS,
                                             .cluster = "",
                                             .owner_url = "http://127.0.0.1:1",
                                             .instances = &rig->instance,
                                             .instance_count = 1,
                                             .seed = 7};
    rig->engine = slu_engine_new(&rig->config);
    const struct slu_shard_record first = {.cluster = "c0ffee", .shard_count = RIG_SHARDS};
    rig_claim(rig, &first);
}

static inline void
rig_stop(struct rig *rig)
{
    slu_engine_free(rig->engine);
    for (size_t i = 0; i < rig->output_count; i++) {
        free(rig->outputs[i].key);
        free(rig->outputs[i].value);
        for (size_t j = 0; j < rig->outputs[i].header_count; j++)
            free(rig->outputs[i].headers[j].value);
    }
}

/* Hands over one desired record with one optional header. `value` NULL is a tombstone. */
static inline bool
rig_publish_with(
    struct rig *rig, const char *key, const char *value, const char *name, const char *text)
{
    struct slu_record record = {.partition = 0,
                                .offset = rig->next_offset,
                                .timestamp_ms = rig->now_ms,
                                .key = key,
                                .key_size = strlen(key),
                                .value = value,
                                .value_size = value ? strlen(value) : 0};
    if (name) {
        record.headers[0] = (struct slu_header){name, text, strlen(text)};
        record.header_count = 1;
    }
    if (!slu_engine_record(rig->engine, &record, rig->now_ms))
        return false;
    rig->next_offset++;
    return true;
}

static inline void
rig_publish(struct rig *rig, const char *key, const char *value)
{
    assert_true(rig_publish_with(rig, key, value, NULL, NULL));
}

/* Plans what is due, and commits until nothing is left to write. */
static inline void
rig_turn(struct rig *rig)
{
    slu_engine_turn(rig->engine, rig->now_ms, 0);
    while (rig_commit(rig))
        slu_engine_turn(rig->engine, rig->now_ms, 0);
}

/* Time passes, and the log has been read up to it. */
static inline void
rig_wait(struct rig *rig, int64_t ms)
{
    rig->now_ms += ms;
    rig_turn(rig);
    slu_engine_read_through(rig->engine, rig->now_ms, rig->now_ms);
    rig_turn(rig);
}

/* The next call, which must be `action`. The caller frees it. */
static inline struct slu_call *
rig_call(struct rig *rig, enum slu_action action)
{
    rig_turn(rig);
    struct slu_call *call = slu_engine_next_call(rig->engine);
    if (!call) {
        fail_msg("expected a call %s, there is none", slu_action_names[action]);
        abort(); /* Never reached, which the linter cannot know. */
    }
    if (call->action != action)
        fail_msg("expected a call %s, got %s", slu_action_names[action],
                 slu_action_names[call->action]);
    return call;
}

static inline void
rig_no_call(struct rig *rig)
{
    rig_turn(rig);
    struct slu_call *call = slu_engine_next_call(rig->engine);
    if (call)
        fail_msg("expected no call, got %s", slu_action_names[call->action]);
}

static inline void
rig_answer(struct rig *rig, struct slu_call *call, const struct slu_facts *facts)
{
    slu_engine_answer(rig->engine, call->id, facts, rig->now_ms);
    slu_call_free(call);
    rig_turn(rig);
}

static inline struct slu_facts
rig_facts(enum slu_outcome outcome)
{
    return (struct slu_facts){.outcome = outcome};
}

/* The facts of one instance with this call's labels. */
static inline struct slu_facts
rig_seen(const struct slu_call *call, const char *external_id, enum slu_life life)
{
    struct slu_facts facts = {.outcome = SLU_OUTCOME_DONE, .seen_count = 1};
    struct slu_seen *seen = &facts.seen[0];
    snprintf(seen->external_id, sizeof seen->external_id, "%s", external_id);
    snprintf(seen->key, sizeof seen->key, "%s", call->key);
    memcpy(seen->uid, call->uid, sizeof seen->uid);
    seen->incarnation = call->incarnation;
    seen->life = life;
    return facts;
}

/* Expects a call and answers it with an instance in `life`. */
static inline void
rig_serve(struct rig *rig, enum slu_action action, const char *external_id, enum slu_life life)
{
    struct slu_call *call = rig_call(rig, action);
    const struct slu_facts facts = rig_seen(call, external_id, life);
    rig_answer(rig, call, &facts);
}

static inline void
rig_end(struct rig *rig, enum slu_action action, enum slu_outcome outcome)
{
    struct slu_call *call = rig_call(rig, action);
    const struct slu_facts facts = rig_facts(outcome);
    rig_answer(rig, call, &facts);
}

/* Newest committed status of a key; absent when none or tombstoned. */
static inline struct slu_slice
rig_status(const struct rig *rig, const char *key)
{
    for (size_t i = rig->output_count; i > 0; i--) {
        const struct slu_output *output = &rig->outputs[i - 1];
        if (output->topic == SLU_TOPIC_STATUS && output->key_size == strlen(key) &&
            memcmp(output->key, key, output->key_size) == 0)
            return (struct slu_slice){output->value, output->value_size};
    }
    return (struct slu_slice){0};
}

/* "detail.init.attempts" of a status, as its JSON text ("" when absent). */
static inline const char *
rig_member(const struct rig *rig, const char *key, const char *path)
{
    static char text[8][4096];
    static int turn;
    char *ret = text[turn++ % 8];
    struct slu_slice value = rig_status(rig, key);
    char names[256];
    snprintf(names, sizeof names, "%s", path);
    char *rest = NULL;
    for (char *name = strtok_r(names, ".", &rest); name; name = strtok_r(NULL, ".", &rest))
        value = slu_slice_member(value, name);
    snprintf(ret, sizeof text[0], "%.*s", (int) value.size, value.text ? value.text : "");
    return ret;
}

#define assert_member(rig, key, path, expected) \
    assert_string_equal(rig_member((rig), (key), (path)), (expected))

/* The verbs of every event of a key, in order: "accepted created paused". */
static inline const char *
rig_history(const struct rig *rig, const char *key)
{
    static char text[8192];
    text[0] = 0;
    for (size_t i = 0; i < rig->output_count; i++) {
        const struct slu_output *output = &rig->outputs[i];
        if (output->topic != SLU_TOPIC_EVENTS || output->key_size != strlen(key) ||
            memcmp(output->key, key, output->key_size) != 0)
            continue;
        for (size_t j = 0; j < output->header_count; j++) {
            if (strcmp(output->headers[j].name, "ce_type") == 0) {
                const size_t used = strlen(text);
                snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "",
                         strrchr(output->headers[j].value, '.') + 1);
            }
        }
    }
    return text;
}

/* The data of the newest event of a key. */
static inline struct slu_slice
rig_last_event(const struct rig *rig, const char *key)
{
    for (size_t i = rig->output_count; i > 0; i--) {
        const struct slu_output *output = &rig->outputs[i - 1];
        if (output->topic == SLU_TOPIC_EVENTS && output->key_size == strlen(key) &&
            memcmp(output->key, key, output->key_size) == 0)
            return (struct slu_slice){output->value, output->value_size};
    }
    return (struct slu_slice){0};
}

static inline size_t
rig_count(const struct rig *rig, enum slu_topic topic)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->output_count; i++)
        count += rig->outputs[i].topic == topic;
    return count;
}

/* A new leader: another engine restored from what was committed, the old one forgotten. */
static inline void
rig_take_over(struct rig *rig)
{
    slu_engine_free(rig->engine);
    rig->engine = slu_engine_new(&rig->config);
    struct slu_shard_record last = {0};
    for (size_t i = 0; i < rig->output_count; i++) {
        const struct slu_output *output = &rig->outputs[i];
        struct slu_error error;
        if (output->topic == SLU_TOPIC_SHARDS) {
            slu_shard_record_done(&last);
            assert_int_equal(
                slu_shard_record_read(output->value, output->value_size, &last, &error), SLU_OK);
        }
        if (output->topic != SLU_TOPIC_STATUS)
            continue;
        struct slu_record record = {.offset = (int64_t) i,
                                    .key = output->key,
                                    .key_size = output->key_size,
                                    .value = output->value,
                                    .value_size = output->value_size};
        for (size_t j = 0; j < output->header_count; j++) {
            record.headers[record.header_count++] =
                (struct slu_header){output->headers[j].name, output->headers[j].value,
                                    strlen(output->headers[j].value)};
        }
        assert_int_equal(slu_engine_restore(rig->engine, &record, &error), SLU_OK);
    }
    rig_claim(rig, &last);
    slu_shard_record_done(&last);
}

#endif
