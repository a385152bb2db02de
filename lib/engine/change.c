/* SPDX-License-Identifier: Apache-2.0 */
/* Everything the engine writes: status marks, transition and judgement events, dead letters. One
 * event per transition and per judgement, in the batch that holds the status they belong to, so
 * that history has each exactly once (design.md §3). */
#include "conditions.h"
#include "internal.h"
#include "json_put.h"
#include "slu/base/memory.h"
#include "slu/model/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
slu_batch_is_full(const struct slu_engine *engine)
{
    return engine->alone ||
           engine->batch->count + engine->dirty_count >=
               (size_t) engine->config.batch_records_max ||
           engine->batch->bytes >= engine->config.batch_bytes_max;
}

void
slu_set_cluster(struct slu_engine *engine, const char *cluster)
{
    snprintf(engine->cluster, sizeof engine->cluster, "%s", cluster);
    snprintf(engine->event_source, sizeof engine->event_source, "/sluice/%s/%d", engine->cluster,
             engine->config.shard);
}

void
slu_mark_dirty(struct slu_engine *engine, struct slu_entity *entity)
{
    entity->updated_at_ms =
        engine->now_ms > entity->updated_at_ms ? engine->now_ms : entity->updated_at_ms;
    entity->fence_epoch = engine->shard.epoch;
    slu_conditions_update(entity, entity->updated_at_ms);
    if (entity->dirty)
        return;
    if (engine->dirty_count == engine->dirty_capacity) {
        engine->dirty_capacity = engine->dirty_capacity ? engine->dirty_capacity * 2 : 64;
        engine->dirty =
            slu_realloc(engine->dirty, engine->dirty_capacity * sizeof(struct slu_entity *));
    }
    entity->dirty = true;
    engine->dirty[engine->dirty_count++] = entity;
}

static void
put_place(struct slu_buffer *out, int partition, int64_t offset)
{
    slu_buffer_puts(out, ",\"cause\":{");
    slu_put_int(out, "partition", partition);
    slu_put_int(out, "offset", offset);
    slu_buffer_putc(out, '}');
}

static void
put_cause(struct slu_buffer *out, const struct slu_cause *cause)
{
    if (cause->actor && cause->actor->kind[0]) {
        slu_buffer_puts(out, ",\"actor\":{");
        slu_put_text(out, "kind", cause->actor->kind);
        slu_put_text(out, "id", cause->actor->id);
        slu_buffer_putc(out, '}');
    }
    put_place(out, cause->partition, cause->offset);
}

/* What an event is about, and its id. */
struct subject {
    const char *key;
    enum slu_kind kind;
    const char *ce_id;
    const char *traceparent; /* Of the record that caused it; NULL or "" when it has none. */
};

/* Adds an event record; `data` is taken. */
static void
add_event(struct slu_engine *engine,
          const struct subject *subject,
          const char *verb,
          struct slu_buffer *data)
{
    struct slu_output *output =
        slu_batch_add(engine->batch, SLU_TOPIC_EVENTS, engine->config.shard);
    char time[SLU_TIME_TEXT_SIZE];
    char type[96];
    slu_time_write(engine->now_ms, time);
    snprintf(type, sizeof type, "dev.sluice.%s.%s", slu_kinds[subject->kind].key_word, verb);
    output->key_size = strlen(subject->key);
    output->key = slu_memdup(subject->key, output->key_size);
    output->value_size = data->size;
    output->value = slu_buffer_take(data);
    slu_output_header_text(output, "ce_specversion", "1.0");
    slu_output_header_text(output, "ce_id", subject->ce_id);
    slu_output_header_text(output, "ce_source", engine->event_source);
    slu_output_header_text(output, "ce_type", type);
    slu_output_header_text(output, "ce_time", time);
    slu_output_header_text(output, "ce_subject", subject->key);
    slu_output_header_text(output, "content-type", "application/json");
    if (subject->traceparent && subject->traceparent[0])
        slu_output_header_text(output, "traceparent", subject->traceparent);
    engine->batch->bytes += slu_output_size(output);
}

static void
add_transition(struct slu_engine *engine,
               struct slu_entity *entity,
               enum slu_phase from,
               const char *verb,
               const char *reason,
               const char *message)
{
    char uid[SLU_UID_SIZE];
    char ce_id[SLU_UID_SIZE + 16];
    slu_entity_uid(entity, uid);
    snprintf(ce_id, sizeof ce_id, "%s/%u", uid, ++entity->transition);

    struct slu_buffer data = {0};
    slu_buffer_putc(&data, '{');
    slu_put_text(&data, "from", slu_phase_names[from]);
    slu_put_text(&data, "to", slu_phase_names[entity->phase]);
    slu_put_text(&data, "reason", reason);
    slu_put_text(&data, "message", message);
    if (entity->kind == SLU_KIND_SANDBOX)
        slu_put_int(&data, "incarnation", entity->incarnation);
    slu_put_int(&data, "generation", entity->generation);
    if (strcmp(verb, "lost") == 0 || strcmp(verb, "recovered") == 0) {
        slu_put_text(&data, "lostExternalId", entity->motion->lost_external_id);
        slu_put_text(&data, "externalId", slu_entity_text(entity, SLU_TEXT_EXTERNAL_ID));
        slu_buffer_puts(&data, ",\"processStateLost\":true");
    }
    put_place(&data, engine->config.shard, entity->fence_offset);
    slu_buffer_putc(&data, '}');
    const struct subject subject = {slu_entity_text(entity, SLU_TEXT_KEY),
                                    (enum slu_kind) entity->kind, ce_id, NULL};
    add_event(engine, &subject, verb, &data);
}

void
slu_emit(struct slu_engine *engine,
         struct slu_entity *entity,
         const char *verb,
         const char *reason,
         const char *message)
{
    add_transition(engine, entity, (enum slu_phase) entity->phase, verb, reason, message);
    slu_mark_dirty(engine, entity);
    slu_note_add(engine, &(struct slu_note){.event = "transition",
                                            .key = slu_entity_text(entity, SLU_TEXT_KEY),
                                            .action = verb,
                                            .life = slu_phase_names[entity->phase],
                                            .reason = reason,
                                            .message = message,
                                            .generation = entity->generation,
                                            .incarnation = entity->incarnation,
                                            .converged_after_ms = -1});
}

void
slu_set_phase(struct slu_engine *engine,
              struct slu_entity *entity,
              enum slu_phase phase,
              const char *verb,
              const char *reason)
{
    const enum slu_phase from = (enum slu_phase) entity->phase;
    entity->phase = (uint8_t) phase;
    add_transition(engine, entity, from, verb, reason, "");
    slu_mark_dirty(engine, entity);

    struct slu_note note = {.event = "transition",
                            .key = slu_entity_text(entity, SLU_TEXT_KEY),
                            .action = verb,
                            .life = slu_phase_names[phase],
                            .reason = reason,
                            .generation = entity->generation,
                            .incarnation = entity->incarnation,
                            .converged_after_ms = -1};
    struct slu_motion *motion = entity->motion;
    if (motion && motion->changed_at_ms && slu_entity_has_converged(entity)) {
        note.converged_after_ms = engine->now_ms - motion->changed_at_ms;
        motion->changed_at_ms = 0;
    }
    slu_note_add(engine, &note);
}

enum {
    JUDGEMENT_ID_SIZE = 2 * SLU_INT_TEXT_SIZE
};

static void
judgement_id(const struct slu_cause *cause, char ret_id[JUDGEMENT_ID_SIZE])
{
    const size_t size = slu_int_write(cause->partition, ret_id);
    ret_id[size] = '/';
    slu_int_write(cause->offset, ret_id + size + 1);
}

void
slu_emit_accepted(struct slu_engine *engine,
                  const char *key,
                  enum slu_kind kind,
                  int64_t generation,
                  bool repeated,
                  const struct slu_cause *cause)
{
    char ce_id[JUDGEMENT_ID_SIZE];
    judgement_id(cause, ce_id);
    struct slu_buffer data = {0};
    slu_buffer_putc(&data, '{');
    slu_put_int(&data, "generation", generation);
    if (repeated)
        slu_buffer_puts(&data, ",\"repeated\":true");
    put_cause(&data, cause);
    slu_buffer_putc(&data, '}');
    const struct subject subject = {key, kind, ce_id, cause->traceparent};
    add_event(engine, &subject, "accepted", &data);

    engine->counters.admitted++;
    engine->counters.repeated += repeated;
    if (repeated)
        return; /* Changed nothing: counted, not told. */
    slu_note_add(engine, &(struct slu_note){.event = "accepted",
                                            .key = key,
                                            .partition = cause->partition,
                                            .offset = cause->offset,
                                            .generation = generation,
                                            .converged_after_ms = -1});
}

void
slu_emit_refused(struct slu_engine *engine,
                 const char *key,
                 enum slu_kind kind,
                 const struct slu_refusal *refusal,
                 const struct slu_cause *cause)
{
    char ce_id[JUDGEMENT_ID_SIZE];
    judgement_id(cause, ce_id);
    struct slu_buffer data = {0};
    slu_buffer_putc(&data, '{');
    slu_put_text(&data, "code", slu_code_names[refusal->code]);
    slu_put_text(&data, "message", refusal->message);
    if (refusal->path[0])
        slu_put_text(&data, "field", refusal->path);
    put_cause(&data, cause);
    slu_buffer_putc(&data, '}');
    const struct subject subject = {key, kind, ce_id, cause->traceparent};
    add_event(engine, &subject, "refused", &data);

    engine->counters.refused++;
    slu_note_add(engine, &(struct slu_note){.event = "refused",
                                            .key = key,
                                            .outcome = slu_code_names[refusal->code],
                                            .message = refusal->message,
                                            .partition = cause->partition,
                                            .offset = cause->offset,
                                            .converged_after_ms = -1,
                                            .warning = true});
}

enum {
    DEAD_LETTER_VALUE_MAX = 64 * 1024
};

void
slu_dead_letter(struct slu_engine *engine, const struct slu_record *record, const char *reason)
{
    struct slu_output *output = slu_batch_add(engine->batch, SLU_TOPIC_DEADLETTER, 0);
    const size_t size =
        record->value_size < DEAD_LETTER_VALUE_MAX ? record->value_size : DEAD_LETTER_VALUE_MAX;
    const size_t key_size = record->key_size < SLU_KEY_MAX ? record->key_size : SLU_KEY_MAX;
    if (record->key) {
        output->key = slu_memdup(record->key, key_size);
        output->key_size = key_size;
    }
    if (record->value) {
        output->value = slu_memdup(record->value, size);
        output->value_size = size;
    }
    slu_output_header(output, "slu-reason", "%.900s", reason);
    slu_output_header(output, "slu-origin", "%d/%lld/%lld", record->partition,
                      (long long) record->offset, (long long) record->timestamp_ms);
    slu_output_header(output, "slu-size", "%zu", record->value_size);
    engine->batch->bytes += slu_output_size(output);
    engine->counters.deadlettered++;
    slu_note_add(engine, &(struct slu_note){.event = "deadletter",
                                            .key = "",
                                            .message = reason,
                                            .partition = record->partition,
                                            .offset = record->offset,
                                            .converged_after_ms = -1,
                                            .warning = true});
}

void
slu_unpark(struct slu_entity *entity)
{
    struct slu_motion *motion = entity->motion;
    if (!motion)
        return;
    motion->failures = 0;
    motion->retry_at_ms = 0;
    motion->parked_until_ms = 0;
    motion->parked_reason[0] = 0;
    motion->message[0] = 0;
    motion->started_at_ms = 0;
}

void
slu_plan_soon(struct slu_engine *engine, struct slu_entity *entity)
{
    entity->soon = true;
    slu_due_set(&engine->due, entity, engine->now_ms);
}

void
slu_observe(struct slu_engine *engine, const struct slu_entity *entity)
{
    char *key = slu_strdup(slu_entity_text(entity, SLU_TEXT_KEY));
    slu_queue_push(&engine->observations, &key, sizeof key);
}

void
slu_rest(struct slu_entity *entity)
{
    const struct slu_motion *motion = entity->motion;
    if (!motion || motion->main.action || motion->side.action || motion->look_id ||
        motion->failures || motion->look_failures || motion->parked_until_ms || motion->redriven ||
        motion->lost_recorded || motion->recovering || motion->lost_at_ms ||
        motion->changed_at_ms || motion->init_index || motion->unanswered_until_ms ||
        motion->gone_by_id || motion->create_spent)
        return;
    free(entity->motion);
    entity->motion = NULL;
}

static void
unlink_child(struct slu_entity *child)
{
    if (!child->parent)
        return;
    struct slu_entity **at = &child->parent->first_child;
    while (*at != child)
        at = &(*at)->next_sibling;
    *at = child->next_sibling;
    child->parent = NULL;
}

void
slu_forget_entity(struct slu_engine *engine, struct slu_entity *entity)
{
    for (struct slu_entity *child = entity->first_child; child; child = child->next_sibling)
        child->parent = NULL;
    for (size_t i = 0; i < engine->open_capacity; i++) {
        while (engine->open[i].id && engine->open[i].entity == entity)
            slu_open_remove(engine, engine->open[i].id);
    }
    unlink_child(entity);
    slu_due_set(&engine->due, entity, INT64_MAX);
    slu_table_remove(&engine->table, entity);
    slu_entity_free(entity);
}
