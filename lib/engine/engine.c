/* SPDX-License-Identifier: Apache-2.0 */
#include "slu/engine/engine.h"

#include "internal.h"
#include "slu/base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUEUED_NOTES_MAX = 200000, /* Nobody reads them: the newest are dropped, never the memory. */
};

void
slu_engine_config_defaults(struct slu_engine_config *config)
{
    enum {
        DAY_MS = 24 * 3600 * 1000
    };

    if (!config->default_provider)
        config->default_provider = "e2b";
    if (!config->deleted_retention_ms)
        config->deleted_retention_ms = DAY_MS;
    if (!config->activity_write_ms)
        config->activity_write_ms = 30000;
    if (!config->park_retry_ms)
        config->park_retry_ms = 600000;
    if (!config->failures_before_park)
        config->failures_before_park = 5;
    if (!config->batch_records_max)
        config->batch_records_max = 1000;
    if (!config->batch_bytes_max)
        config->batch_bytes_max = (size_t) 4 * 1024 * 1024;
}

struct slu_engine *
slu_engine_new(const struct slu_engine_config *config)
{
    struct slu_engine *engine = slu_alloc(sizeof *engine);
    engine->config = *config;
    slu_engine_config_defaults(&engine->config);
    slu_set_cluster(engine, config->cluster ? config->cluster : "");
    snprintf(engine->owner_url, sizeof engine->owner_url, "%s",
             config->owner_url ? config->owner_url : "");
    engine->config.cluster = engine->cluster;
    engine->config.owner_url = engine->owner_url;
    engine->frame = (struct slu_status_frame){
        .shard = config->shard,
        .instances = config->instances,
        .instance_count = config->instance_count,
        .deleted_retention_ms = engine->config.deleted_retention_ms,
    };
    engine->random.state = config->seed;
    engine->batch = slu_batch_new(config->shard);
    engine->losses = slu_alloc((size_t) config->instance_count * sizeof *engine->losses + 1);
    return engine;
}

static void
free_calls(struct slu_queue *queue)
{
    struct slu_held_call held;
    while (slu_queue_take(queue, &held))
        slu_call_free(held.call);
    slu_queue_done(queue);
}

static void
free_texts(struct slu_queue *queue)
{
    char *text = NULL;
    while (slu_queue_take(queue, &text))
        free(text);
    slu_queue_done(queue);
}

static void
free_notes(struct slu_queue *queue)
{
    struct slu_kept_note note;
    while (slu_queue_take(queue, &note)) {
        free(note.key);
        free(note.message);
    }
    slu_queue_done(queue);
}

void
slu_engine_free(struct slu_engine *engine)
{
    if (!engine)
        return;
    for (size_t i = 0; i < engine->table.capacity; i++)
        slu_entity_free(engine->table.slots[i]);
    slu_table_done(&engine->table);
    slu_due_done(&engine->due);
    for (size_t i = 0; i < engine->scope_count; i++) {
        free(engine->scopes[i]->tenant);
        free(engine->scopes[i]->project);
        free(engine->scopes[i]);
    }
    free(engine->scopes);
    slu_shard_record_done(&engine->shard);
    slu_batch_free(engine->batch);
    free(engine->dirty);
    free(engine->open);
    free(engine->losses);
    free_calls(&engine->ready);
    free_calls(&engine->held);
    free_texts(&engine->awaiting);
    free_texts(&engine->observations);
    free_notes(&engine->notes);
    slu_buffer_done(&engine->lent);
    free(engine);
}

/* --- turns --------------------------------------------------------------------------------------
 */

int
slu_engine_turn(struct slu_engine *engine, int64_t now_ms, int limit)
{
    if (!now_ms || !engine->claimed_at_ms)
        return 0;
    if (now_ms > engine->now_ms)
        engine->now_ms = now_ms;
    int planned = 0;
    while ((!limit || planned < limit) && !slu_batch_is_full(engine)) {
        struct slu_entity *entity = slu_due_first(&engine->due);
        if (!entity || entity->due_at_ms > engine->now_ms)
            break;
        slu_decide(engine, entity);
        planned++;
    }
    return planned;
}

int64_t
slu_engine_due_ms(const struct slu_engine *engine)
{
    const struct slu_entity *entity = slu_due_first(&engine->due);
    return entity && engine->claimed_at_ms && !slu_batch_is_full(engine) ? entity->due_at_ms
                                                                         : INT64_MAX;
}

bool
slu_engine_wants_read_through(const struct slu_engine *engine)
{
    return engine->wants_read_through;
}

void
slu_engine_read_through(struct slu_engine *engine, int64_t through_ms, int64_t now_ms)
{
    if (now_ms > engine->now_ms)
        engine->now_ms = now_ms;
    if (through_ms > engine->read_through_ms)
        engine->read_through_ms = through_ms;
    engine->wants_read_through = false;
    size_t count = engine->awaiting.count;
    char *key = NULL;
    while (count-- > 0 && slu_queue_take(&engine->awaiting, &key)) {
        struct slu_entity *entity = slu_table_find(&engine->table, key, strlen(key));
        if (entity) {
            entity->awaits_reading = false;
            slu_plan_soon(engine, entity);
        }
        free(key);
    }
}

void
slu_engine_hint(struct slu_engine *engine, const char *key, int64_t now_ms)
{
    if (now_ms > engine->now_ms)
        engine->now_ms = now_ms;
    struct slu_entity *entity = slu_table_find(&engine->table, key, strlen(key));
    if (!entity || entity->kind != SLU_KIND_SANDBOX)
        return;
    engine->counters.facts++;
    entity->seen_at_ms = 0;
    slu_plan_soon(engine, entity);
}

void
slu_engine_observed_before(struct slu_engine *engine,
                           const char *key,
                           const char *external_id,
                           enum slu_life life,
                           int64_t seen_at_ms)
{
    struct slu_entity *entity = slu_table_find(&engine->table, key, strlen(key));
    const bool fits = entity && entity->life == SLU_LIFE_UNKNOWN && !entity->seen_at_ms &&
                      strcmp(slu_entity_text(entity, SLU_TEXT_EXTERNAL_ID), external_id) == 0 &&
                      (life == SLU_LIFE_RUNNING || life == SLU_LIFE_PAUSED) && external_id[0];
    if (!fits)
        return;
    entity->life = (uint8_t) life;
    entity->seen_at_ms = seen_at_ms;
    entity->hinted = true;
}

/* --- batches ------------------------------------------------------------------------------------
 */

static void
write_status(struct slu_engine *engine, struct slu_entity *entity)
{
    struct slu_buffer value = {0};
    struct slu_output *output =
        slu_batch_add(engine->batch, SLU_TOPIC_STATUS, engine->config.shard);
    slu_status_write(entity, &engine->frame, &value);
    output->key = slu_strdup(slu_entity_text(entity, SLU_TEXT_KEY));
    output->key_size = slu_entity_text_size(entity, SLU_TEXT_KEY);
    output->value_size = value.size;
    output->value = slu_buffer_take(&value);
    slu_status_headers(entity, &engine->frame, output);
    entity->dirty = false;
}

static void
write_shard(struct slu_engine *engine)
{
    struct slu_buffer value = {0};
    struct slu_output *output =
        slu_batch_add(engine->batch, SLU_TOPIC_SHARDS, engine->config.shard);
    char key[16];
    slu_shard_record_write(&engine->shard, &value);
    snprintf(key, sizeof key, "%d", engine->config.shard);
    output->key = slu_strdup(key);
    output->key_size = strlen(key);
    output->value_size = value.size;
    output->value = slu_buffer_take(&value);
    slu_output_header_int(output, "slu-epoch", engine->shard.epoch);
    slu_output_header_int(output, "slu-seq", engine->shard.seq);
}

bool
slu_engine_batch_in_flight(const struct slu_engine *engine)
{
    return engine->in_flight;
}

bool
slu_engine_batch_waiting(const struct slu_engine *engine)
{
    return engine->batch->count > 0 || engine->dirty_count > 0 || engine->shard_moved;
}

struct slu_batch *
slu_engine_take_batch(struct slu_engine *engine, bool even_if_idle)
{
    const bool waiting = slu_engine_batch_waiting(engine);
    if (engine->in_flight || !engine->claimed || (!waiting && !even_if_idle))
        return NULL;
    engine->shard.seq++;
    for (size_t i = 0; i < engine->dirty_count; i++)
        write_status(engine, engine->dirty[i]);
    engine->dirty_count = 0;
    write_shard(engine);
    engine->trying_taken = engine->trying_told;

    struct slu_batch *batch = engine->batch;
    batch->epoch = engine->shard.epoch;
    batch->seq = engine->shard.seq;
    batch->claim = engine->claimed_at_ms == 0;
    batch->bytes = 0;
    for (size_t i = 0; i < batch->count; i++)
        batch->bytes += slu_output_size(&batch->outputs[i]);
    engine->batch = slu_batch_new(engine->config.shard);
    engine->shard_moved = engine->alone = false;
    engine->in_flight = true;
    return batch;
}

/* A call of the leader before may have left just now, while it still had proof. */
static bool
mark_unanswered(struct slu_engine *engine, struct slu_entity *entity)
{
    enum {
        PROOF_MS = 3000
    };
    struct slu_motion *motion = entity->motion;
    if (!motion || (!motion->main.action && !motion->side.action))
        return false;
    const enum slu_action action =
        (enum slu_action)(motion->main.action ? motion->main.action : motion->side.action);
    if (action == SLU_ACTION_RESUME)
        entity->lease_given_seconds = 0; /* Its lease, if it was carried out. */
    if (action != SLU_ACTION_INIT)       /* Which makes no instance: its end is not waited for. */
        motion->unanswered_until_ms =
            engine->now_ms + PROOF_MS + slu_timeout_ms(engine, entity, action);
    return true;
}

/* Spread over one resync, so that a take-over is no burst at the provider; within a sixth of the
 * lease, so that none runs out unseen. */
static int64_t
first_look_ms(const struct slu_engine *engine, const struct slu_entity *entity)
{
    enum {
        RESYNC_DEFAULT_MS = 60000,
        LEASE_PARTS = 6
    };
    const struct slu_provider_instance *instance = slu_instance_of(engine, entity);
    const int64_t resync_ms =
        instance && instance->resync_ms ? instance->resync_ms : RESYNC_DEFAULT_MS;
    const int64_t lease_ms = (int64_t) entity->lease_seconds * 1000 / LEASE_PARTS;
    const int64_t spread_ms = lease_ms && lease_ms < resync_ms ? lease_ms : resync_ms;
    const uint64_t hash = slu_hash64(slu_entity_text(entity, SLU_TEXT_KEY),
                                     slu_entity_text_size(entity, SLU_TEXT_KEY));
    return (int64_t) (hash % (uint64_t) spread_ms);
}

/* The first commit of a claim gives the shard its time. What is under way is planned at once. */
static void
start_clock(struct slu_engine *engine)
{
    engine->claimed_at_ms = engine->now_ms;
    for (size_t i = 0; i < engine->table.capacity; i++) {
        struct slu_entity *entity = engine->table.slots[i];
        if (!entity)
            continue;
        const bool busy = mark_unanswered(engine, entity);
        const bool rests = entity->phase == SLU_PHASE_RUNNING || entity->phase == SLU_PHASE_PAUSED;
        slu_schedule(engine, entity,
                     engine->now_ms + (rests && !busy ? first_look_ms(engine, entity) : 0));
    }
}

void
slu_engine_committed(struct slu_engine *engine, int64_t now_ms)
{
    assert(engine->in_flight);
    if (now_ms > engine->now_ms)
        engine->now_ms = now_ms;
    engine->in_flight = false;
    engine->committed_seq = engine->shard.seq;
    if (engine->trying_taken)
        engine->trying_committed = true;
    if (!engine->claimed_at_ms)
        start_clock(engine);
    slu_release_calls(engine);
}

/* --- what the shell reads -----------------------------------------------------------------------
 */

void
slu_note_add(struct slu_engine *engine, const struct slu_note *note)
{
    if (engine->notes.count >= QUEUED_NOTES_MAX)
        return;
    struct slu_kept_note kept = {.note = *note};
    kept.key = slu_strdup(note->key ? note->key : "");
    kept.message = slu_strdup(note->message ? note->message : "");
    slu_queue_push(&engine->notes, &kept, sizeof kept);
}

static const char *
or_empty(const char *text)
{
    return text ? text : "";
}

bool
slu_engine_next_note(struct slu_engine *engine, struct slu_note *ret_note)
{
    struct slu_kept_note kept;
    if (!slu_queue_take(&engine->notes, &kept))
        return false;
    *ret_note = kept.note;
    slu_buffer_reset(&engine->lent);
    slu_buffer_append(&engine->lent, kept.key, strlen(kept.key) + 1);
    const size_t message_at = engine->lent.size;
    slu_buffer_append(&engine->lent, kept.message, strlen(kept.message) + 1);
    ret_note->key = engine->lent.data;
    ret_note->message = engine->lent.data + message_at;
    ret_note->goal = or_empty(ret_note->goal);
    ret_note->life = or_empty(ret_note->life);
    ret_note->action = or_empty(ret_note->action);
    ret_note->outcome = or_empty(ret_note->outcome);
    ret_note->reason = or_empty(ret_note->reason);
    free(kept.key);
    free(kept.message);
    return true;
}

bool
slu_engine_next_observation(struct slu_engine *engine, struct slu_observation *ret_observation)
{
    char *key = NULL;
    while (slu_queue_take(&engine->observations, &key)) {
        const struct slu_entity *entity = slu_table_find(&engine->table, key, strlen(key));
        free(key);
        if (!entity)
            continue;
        *ret_observation = (struct slu_observation){
            .key = slu_entity_text(entity, SLU_TEXT_KEY),
            .external_id = slu_entity_text(entity, SLU_TEXT_EXTERNAL_ID),
            .life = (enum slu_life) entity->life,
            .seen_at_ms = entity->seen_at_ms,
        };
        return true;
    }
    return false;
}

void
slu_engine_each_status(struct slu_engine *engine, slu_engine_visit_fn *visit, void *context)
{
    SLU_AUTO_BUFFER struct slu_buffer status = {0};
    for (size_t i = 0; i < engine->table.capacity; i++) {
        const struct slu_entity *entity = engine->table.slots[i];
        if (!entity)
            continue;
        slu_buffer_reset(&status);
        slu_status_write(entity, &engine->frame, &status);
        visit(context, slu_entity_text(entity, SLU_TEXT_KEY), status.data, status.size);
    }
}

size_t
slu_engine_resource_count(const struct slu_engine *engine)
{
    return engine->table.count;
}

int64_t
slu_engine_epoch(const struct slu_engine *engine)
{
    return engine->shard.epoch;
}

int64_t
slu_engine_seq(const struct slu_engine *engine)
{
    return engine->shard.seq;
}

const char *
slu_engine_cluster(const struct slu_engine *engine)
{
    return engine->cluster;
}

int64_t
slu_engine_next_offset(const struct slu_engine *engine, int partition)
{
    return slu_shard_record_admitted(&engine->shard, partition);
}

void
slu_engine_counters(const struct slu_engine *engine, struct slu_engine_counters *ret_counters)
{
    *ret_counters = engine->counters;
}
