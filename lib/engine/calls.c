/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on their way out: built whole, held until their cause has committed, found again by id. */
#include "internal.h"
#include "slu/base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t
slot_of(const struct slu_engine *engine, uint64_t id)
{
    return (size_t) (id * 0x9e3779b97f4a7c15ULL) & (engine->open_capacity - 1);
}

static void
open_place(struct slu_engine *engine, const struct slu_open_call *call)
{
    size_t i = slot_of(engine, call->id);
    while (engine->open[i].id)
        i = (i + 1) & (engine->open_capacity - 1);
    engine->open[i] = *call;
}

static void
open_grow(struct slu_engine *engine)
{
    struct slu_open_call *before = engine->open;
    const size_t count = engine->open_capacity;
    engine->open_capacity = count ? count * 2 : 64;
    engine->open = slu_alloc(engine->open_capacity * sizeof *engine->open);
    for (size_t i = 0; i < count; i++) {
        if (before[i].id)
            open_place(engine, &before[i]);
    }
    free(before);
}

struct slu_open_call *
slu_open_find(const struct slu_engine *engine, uint64_t id)
{
    if (!engine->open_capacity || !id)
        return NULL;
    for (size_t i = slot_of(engine, id); engine->open[i].id;
         i = (i + 1) & (engine->open_capacity - 1)) {
        if (engine->open[i].id == id)
            return &engine->open[i];
    }
    return NULL;
}

void
slu_open_remove(struct slu_engine *engine, uint64_t id)
{
    struct slu_open_call *found = slu_open_find(engine, id);
    assert(found);
    const size_t mask = engine->open_capacity - 1;
    size_t gap = (size_t) (found - engine->open);
    engine->open[gap].id = 0;
    engine->open_count--;
    for (size_t i = (gap + 1) & mask; engine->open[i].id; i = (i + 1) & mask) {
        const size_t home = slot_of(engine, engine->open[i].id);
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            engine->open[gap] = engine->open[i];
            engine->open[i].id = 0;
            gap = i;
        }
    }
}

/* "slu-" and 40 hex digits of the SHA-256 of the fields joined by newlines (design.md §6). */
static void
write_hash(const struct slu_buffer *fields, char ret_text[SLU_IDEMPOTENCY_KEY_SIZE])
{
    char hex[SLU_SHA256_HEX_SIZE];
    slu_sha256_hex(fields->data, fields->size, hex);
    snprintf(ret_text, SLU_IDEMPOTENCY_KEY_SIZE, "slu-%.40s", hex);
}

static void
write_names(struct slu_call *call, const char *action_word)
{
    SLU_AUTO_BUFFER struct slu_buffer fields = {0};
    slu_buffer_printf(&fields, "%s\n%s\n%s\n%lld", call->cluster, call->key, call->uid,
                      (long long) call->incarnation);
    write_hash(&fields, call->name);
    slu_buffer_printf(&fields, "\n%s", action_word);
    if (call->action != SLU_ACTION_CREATE) /* One incarnation has one CREATE. */
        slu_buffer_printf(&fields, "\n%lld", (long long) call->call);
    write_hash(&fields, call->idempotency_key);
}

static char *
session_id_of(const struct slu_entity *entity)
{
    const struct slu_slice session = slu_slice_member(slu_entity_spec(entity), "session");
    return slu_slice_strdup(slu_slice_member(session, "sessionId"));
}

static char *
provider_of(const struct slu_entity *entity)
{
    return slu_slice_strdup(slu_slice_member(slu_entity_spec(entity), "provider"));
}

static bool
needs_spec(enum slu_action action)
{
    return action == SLU_ACTION_CREATE || action == SLU_ACTION_RESUME || action == SLU_ACTION_INIT;
}

/* A repeated attempt must not find the marks of the failed one: the attempt is part of the name. */
static void
write_init(struct slu_call *call, const struct slu_entity *entity)
{
    const uint64_t parts[] = {entity->init_hash, entity->init_attempts};
    const uint64_t hash =
        entity->init_attempts ? slu_hash64(parts, sizeof parts) : entity->init_hash;
    snprintf(call->init_hash, sizeof call->init_hash, "%016llx", (unsigned long long) hash);
    call->init_index = entity->motion->init_index;
}

static struct slu_call *
build(struct slu_engine *engine, const struct slu_entity *entity, enum slu_action action)
{
    struct slu_call *call = slu_alloc(sizeof *call);
    const struct slu_slice spec = slu_entity_spec(entity);
    call->id = ++engine->next_call_id;
    call->action = action;
    call->changes = action != SLU_ACTION_INSPECT;
    call->provider = provider_of(entity);
    call->key = slu_strdup(slu_entity_text(entity, SLU_TEXT_KEY));
    call->external_id = slu_strdup(slu_entity_text(entity, SLU_TEXT_EXTERNAL_ID));
    slu_entity_uid(entity, call->uid);
    call->incarnation =
        slu_entity_has_instance(entity) ? entity->instance_incarnation : entity->incarnation;
    call->call = entity->call;
    call->tenant = slu_strdup(entity->scope->tenant);
    call->project = slu_strdup(entity->scope->project);
    call->session_id = session_id_of(entity);
    call->cluster = slu_strdup(engine->cluster);
    call->shard = engine->config.shard;
    call->epoch = engine->shard.epoch;
    call->spec = needs_spec(action) ? slu_memdup(spec.text, spec.size) : NULL;
    call->lease_seconds = entity->lease_seconds;
    call->timeout_ms = slu_timeout_ms(engine, entity, action);
    if (action == SLU_ACTION_INIT)
        write_init(call, entity);
    return call;
}

static void
send(struct slu_engine *engine,
     struct slu_entity *entity,
     struct slu_call *call,
     bool after_commit,
     bool surplus)
{
    if ((engine->open_count + 1) * 2 > engine->open_capacity)
        open_grow(engine);
    open_place(engine, &(struct slu_open_call){.id = call->id,
                                               .entity = entity,
                                               .action = call->action,
                                               .surplus = surplus,
                                               .uid_offset = entity->uid_offset,
                                               .incarnation = (uint32_t) call->incarnation,
                                               .lease_seconds = call->lease_seconds,
                                               .init_hash = entity->init_hash,
                                               .init_index = entity->motion->init_index});
    engine->open_count++;
    engine->counters.calls[call->action]++;
    const struct slu_held_call held = {call, after_commit ? engine->shard.seq + 1 : 0};
    slu_queue_push(after_commit ? &engine->held : &engine->ready, &held, sizeof held);
}

/* A retry keeps the number of its decision, whatever was decided beside it meanwhile. */
static int64_t
number_of(const struct slu_entity *entity, enum slu_action action)
{
    const struct slu_motion *motion = entity->motion;
    if (motion->main.action == action)
        return motion->main.call;
    return motion->side.action == action ? motion->side.call : entity->call;
}

uint64_t
slu_call_out(struct slu_engine *engine,
             struct slu_entity *entity,
             enum slu_action action,
             bool by_label,
             bool low_lane,
             bool after_commit)
{
    struct slu_call *call = build(engine, entity, action);
    call->call = number_of(entity, action);
    call->by_label = by_label;
    call->low_lane = low_lane;
    if (call->changes) /* A look has no key to keep. */
        write_names(call, slu_action_names[action]);
    send(engine, entity, call, after_commit, false);
    return call->id;
}

void
slu_delete_surplus(struct slu_engine *engine,
                   struct slu_entity *entity,
                   const struct slu_seen *seen)
{
    struct slu_call *call = build(engine, entity, SLU_ACTION_DELETE);
    free(call->external_id);
    call->external_id = slu_strdup(seen->external_id);
    memcpy(call->uid, seen->uid, sizeof call->uid);
    call->incarnation = seen->incarnation;
    call->low_lane = true;
    write_names(call, seen->external_id);
    slu_mark_dirty(engine, entity);
    send(engine, entity, call, true, true);
}

void
slu_release_calls(struct slu_engine *engine)
{
    struct slu_held_call *first = slu_queue_peek(&engine->held);
    while (first && first->after_seq <= engine->committed_seq) {
        struct slu_held_call held;
        (void) slu_queue_take(&engine->held, &held);
        slu_queue_push(&engine->ready, &held, sizeof held);
        first = slu_queue_peek(&engine->held);
    }
}

/* A call that was overtaken before it left, or whose decision was dropped: status does not tell of
 * it, and nobody waits for its answer. */
static bool
is_stale(struct slu_engine *engine, const struct slu_call *call)
{
    const struct slu_open_call *open = slu_open_find(engine, call->id);
    if (!open)
        return true; /* Its resource was forgotten meanwhile. */
    struct slu_motion *motion = open->entity->motion;
    if (open->surplus)
        return false;
    const bool beside = motion && motion->side.id == call->id;
    const bool awaited = motion && (motion->main.id == call->id || motion->look_id == call->id ||
                                    (beside && call->action == SLU_ACTION_EXTEND));
    if (awaited)
        return false;
    if (beside) {
        motion->side = (struct slu_waiting){0};
        slu_mark_dirty(engine, open->entity);
    }
    slu_open_remove(engine, call->id);
    return true;
}

struct slu_call *
slu_engine_next_call(struct slu_engine *engine)
{
    struct slu_held_call held;
    while (slu_queue_take(&engine->ready, &held)) {
        if (!is_stale(engine, held.call))
            return held.call;
        slu_call_free(held.call);
    }
    return NULL;
}

/* Everything of the spec that a CREATE body is made of. */
static const char *const body_members[] = {
    "provider",
    "placement",
    "profile",
    "resources",
    "egressRules",
    "snapshotId",
    "mounts",
    "templateId",
    "templateVersion",
    "delegationId",
    "providerLeaseSeconds",
};

void
slu_create_body_sha256(const struct slu_entity *entity, char ret_hex[65])
{
    const struct slu_slice spec = slu_entity_spec(entity);
    const struct slu_slice session = slu_slice_member(spec, "session");
    SLU_AUTO_BUFFER struct slu_buffer body = {0};
    for (size_t i = 0; i < SLU_COUNT(body_members); i++) {
        const struct slu_slice value = slu_slice_member(spec, body_members[i]);
        slu_buffer_append(&body, value.text, value.size);
        slu_buffer_putc(&body, '\n');
    }
    static const char *const session_members[] = {"sessionId", "providerConfig"};
    for (size_t i = 0; i < SLU_COUNT(session_members); i++) {
        const struct slu_slice value = slu_slice_member(session, session_members[i]);
        slu_buffer_append(&body, value.text, value.size);
        slu_buffer_putc(&body, '\n');
    }
    slu_sha256_hex(body.data, body.size, ret_hex);
}
