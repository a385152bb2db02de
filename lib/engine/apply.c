/* SPDX-License-Identifier: Apache-2.0 */
/* Carrying out what admission accepted: lives begin and end, wishes change, activity counts. */
#include "conditions.h"
#include "judge.h"
#include "slu/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* The earlier life ends here, if its instance is still there: the new life deletes that one first.
 */
static void
end_earlier_life(struct slu_engine *engine, struct slu_entity *entity)
{
    if (entity->phase == SLU_PHASE_DELETING)
        slu_set_phase(engine, entity, SLU_PHASE_DELETED, "deleted", "Superseded");
    entity->retiring = slu_entity_has_instance(entity);
    slu_unpark(entity);
    if (!entity->motion)
        return;
    struct slu_motion *motion = entity->motion;
    motion->init_index = 0;
    motion->lost_recorded = motion->recovering = motion->redriven = motion->create_spent = false;
    motion->lost_at_ms = 0;
    motion->body_sha256[0] = 0;
    if (!motion->main.id)
        motion->main = (struct slu_waiting){0};
}

/* Whether something of the earlier life may be there: never looked for, or still to land. */
static bool
may_be_left(const struct slu_entity *entity)
{
    const struct slu_motion *motion = entity->motion;
    const bool looked = entity->life == SLU_LIFE_ABSENT || entity->life == SLU_LIFE_GONE;
    return !looked ||
           (motion && (motion->main.action || motion->side.action || motion->unanswered_until_ms));
}

static void
begin_life(struct slu_engine *engine,
           struct slu_entity *entity,
           const struct slu_judging *judging,
           const struct slu_document *document,
           const char *sha256)
{
    const bool again = entity->scope != NULL;
    if (again)
        end_earlier_life(engine, entity);
    entity->scope = slu_intern_scope(engine, document->tenant, document->project);
    entity->uid_shard = engine->config.shard;
    entity->uid_offset = judging->record->offset;
    entity->created_at_ms = judging->cause.append_ms;
    entity->updated_at_ms = judging->cause.append_ms;
    slu_entity_set_created_hex(entity, sha256);
    slu_entity_set_text(entity, SLU_TEXT_CE_ID, judging->cause.ce_id, strlen(judging->cause.ce_id));
    slu_entity_set_text(entity, SLU_TEXT_INIT_ERROR, "", 0);
    entity->transition = 0;
    entity->incarnation = again ? entity->incarnation : 1;
    entity->phase = SLU_PHASE_PENDING;
    entity->session_created_at_ms = entity->lease_refreshed_at_ms = 0;
    entity->init_completed_at_ms = 0;
    entity->init_done_hash = 0;
    entity->init_attempts = 0;
    entity->init_failed_command = 0;
    entity->paused_since_ms = entity->paused_total_ms = 0;
    entity->active_until_ms = entity->last_active_at_ms = 0;
    entity->expired = entity->started = false;
    memset(entity->condition, 0, sizeof entity->condition);
    /* The next leader reads the life's first moment from here. */
    entity->condition[SLU_CONDITION_ACCEPTED] = SLU_TRUTH_TRUE;
    entity->condition_at_ms[SLU_CONDITION_ACCEPTED] = entity->created_at_ms;
    /* A uid this new labels nothing: no look is needed to know that nothing is there. */
    if (!entity->retiring)
        entity->life = again && may_be_left(entity) ? SLU_LIFE_UNKNOWN : SLU_LIFE_ABSENT;
    if (!entity->motion || !entity->motion->main.action)
        entity->call = 0;
}

static int16_t
provider_index(const struct slu_engine *engine, const json_t *spec)
{
    const char *name = json_string_value(json_object_get(spec, "provider"));
    for (int i = 0; name && i < engine->config.instance_count; i++) {
        if (strcmp(engine->config.instances[i].name, name) == 0)
            return (int16_t) i;
    }
    return -1;
}

/* A record that was forwarded may be older than what is known of use already. */
static void
count_use(struct slu_entity *entity, int64_t append_ms)
{
    if (append_ms > entity->last_active_at_ms)
        entity->last_active_at_ms = append_ms;
}

/* A wish that changes is activity, and a new chance for what had failed. */
static void
renew(struct slu_engine *engine, struct slu_entity *entity, int64_t append_ms)
{
    entity->idle = false;
    count_use(entity, append_ms);
    slu_unpark(entity);
    struct slu_motion *motion = slu_entity_motion(entity);
    motion->changed_at_ms = append_ms;
    if (entity->init_failed_command)
        motion->init_index = 0;
    slu_plan_soon(engine, entity);
}

void
slu_apply_document(struct slu_engine *engine,
                   struct slu_entity *entity,
                   const struct slu_judging *judging,
                   const struct slu_proposal *proposal,
                   const struct slu_verdict *verdict)
{
    const struct slu_document *document = proposal->document;
    if (verdict->begins_life)
        begin_life(engine, entity, judging, document, proposal->sha256);
    const uint64_t init_before = entity->init_hash;
    entity->generation = verdict->generation;
    entity->raw_hash = slu_hash128(judging->record->value, judging->record->value_size);
    entity->raw_is_plain = document->if_generation < 0;
    slu_entity_set_text(entity, SLU_TEXT_SPEC, proposal->spec, proposal->spec_size);
    slu_entity_take_wish(entity, document->spec);
    entity->provider = provider_index(engine, document->spec);
    if (entity->init_hash != init_before) {
        entity->init_attempts = 0;
        entity->init_failed_command = 0;
        slu_entity_motion(entity)->init_index = 0;
    }
    renew(engine, entity, judging->cause.append_ms);
    slu_mark_dirty(engine, entity);
}

/* What nothing was made for ends at once. */
static void
end_at_once(struct slu_engine *engine, struct slu_entity *entity)
{
    entity->wish = SLU_WISH_DELETED;
    entity->raw_is_plain = false;
    slu_set_phase(engine, entity, SLU_PHASE_DELETED, "deleted", "Wish");
    slu_due_set(&engine->due, entity, entity->updated_at_ms + engine->config.deleted_retention_ms);
}

static void
delete_children(struct slu_engine *engine, struct slu_entity *sandbox)
{
    const struct slu_slice keep = slu_slice_member(slu_entity_spec(sandbox), "keepCheckpoints");
    if (slu_slice_bool(keep, false))
        return;
    for (struct slu_entity *child = sandbox->first_child; child; child = child->next_sibling) {
        if (child->wish != SLU_WISH_DELETED)
            end_at_once(engine, child);
    }
}

void
slu_apply_delete(struct slu_engine *engine, struct slu_entity *entity, int64_t generation)
{
    entity->generation = generation;
    if (entity->kind != SLU_KIND_SANDBOX) {
        end_at_once(engine, entity);
        return;
    }
    entity->wish = SLU_WISH_DELETED;
    entity->raw_is_plain = false;
    entity->idle = false;
    slu_unpark(entity);
    entity->incarnation++;
    slu_entity_motion(entity)->changed_at_ms = engine->now_ms;
    slu_set_phase(engine, entity, SLU_PHASE_DELETING, "deleting", "Wish");
    delete_children(engine, entity);
    slu_plan_soon(engine, entity);
}

/* By hand: go on with what was parked, failed or left to recovery by hand. */
void
slu_apply_redrive(struct slu_engine *engine, struct slu_entity *entity)
{
    if (entity->kind != SLU_KIND_SANDBOX)
        return;
    slu_unpark(entity);
    slu_entity_motion(entity)->redriven = entity->phase == SLU_PHASE_LOST;
    slu_mark_dirty(engine, entity);
    slu_plan_soon(engine, entity);
}

/* Behaviour.md rule 10. Without a spec (a tombstone) the session is over. */
void
slu_apply_activity(struct slu_engine *engine,
                   struct slu_entity *sandbox,
                   const json_t *spec,
                   int64_t append_ms)
{
    enum {
        TTL_DEFAULT_MS = 3600000
    };

    const bool active = spec && json_is_true(json_object_get(spec, "active"));
    const json_t *ttl = spec ? json_object_get(spec, "ttlMs") : NULL;
    const int64_t ttl_ms = ttl ? json_integer_value(ttl) : TTL_DEFAULT_MS;
    const bool flips = active != (sandbox->active_until_ms > 0) || (active && sandbox->idle) ||
                       (active && !sandbox->auto_start && !sandbox->started);

    sandbox->active_until_ms = active ? append_ms + ttl_ms : 0;
    count_use(sandbox, append_ms);
    /* The end of use is use as well: called idle and not paused yet, its clock starts anew. */
    const bool not_paused_yet = sandbox->idle && sandbox->phase == SLU_PHASE_RUNNING;
    if (active || not_paused_yet)
        sandbox->idle = false;
    if (active) {
        sandbox->started = sandbox->started || !sandbox->auto_start;
    }
    /* A promise that reaches much further than the written one is written at once: the next leader
     * knows no other. */
    const bool further = sandbox->active_until_ms - sandbox->active_told_until_ms >=
                         engine->config.activity_write_ms;
    if (flips || not_paused_yet || (active && further) ||
        append_ms - sandbox->updated_at_ms >= engine->config.activity_write_ms) {
        sandbox->active_told_until_ms = sandbox->active_until_ms;
        slu_mark_dirty(engine, sandbox);
    }
    slu_plan_soon(engine, sandbox);
}
