/* SPDX-License-Identifier: Apache-2.0 */
#include "conditions.h"

#include "slu/base/macros.h"

const char *const slu_condition_names[SLU_CONDITION_COUNT] = {
    [SLU_CONDITION_READY] = "Ready",
    [SLU_CONDITION_ACCEPTED] = "Accepted",
    [SLU_CONDITION_PROGRESSING] = "Progressing",
    [SLU_CONDITION_INITIALIZED] = "Initialized",
    [SLU_CONDITION_RECOVERABLE] = "Recoverable",
    [SLU_CONDITION_BLOCKED] = "Blocked",
};

const char *const slu_truth_names[] = {
    [SLU_TRUTH_UNSET] = "Unknown",
    [SLU_TRUTH_TRUE] = "True",
    [SLU_TRUTH_FALSE] = "False",
    [SLU_TRUTH_UNKNOWN] = "Unknown",
};

static const char *const phase_reasons[SLU_PHASE_COUNT] = {
    [SLU_PHASE_PENDING] = "Pending",   [SLU_PHASE_STARTING] = "Starting",
    [SLU_PHASE_RUNNING] = "Running",   [SLU_PHASE_PAUSING] = "Pausing",
    [SLU_PHASE_PAUSED] = "Paused",     [SLU_PHASE_RESUMING] = "Resuming",
    [SLU_PHASE_STOPPING] = "Stopping", [SLU_PHASE_STOPPED] = "Stopped",
    [SLU_PHASE_EXPIRED] = "Expired",   [SLU_PHASE_LOST] = "Lost",
    [SLU_PHASE_FAILED] = "Failed",     [SLU_PHASE_DELETING] = "Deleting",
    [SLU_PHASE_DELETED] = "Deleted",
};

enum {
    LOOK_FAILURES_UNTIL_UNKNOWN = 3
};

static const char *
message_of(const struct slu_entity *entity)
{
    return entity->motion ? entity->motion->message : "";
}

bool
slu_entity_is_initialized(const struct slu_entity *entity)
{
    return !entity->init_count || (entity->init_done_hash == entity->init_hash &&
                                   entity->init_incarnation == entity->instance_incarnation);
}

static bool
is_parked(const struct slu_entity *entity)
{
    return entity->motion && entity->motion->parked_until_ms;
}

static struct slu_condition_value
ready_of(const struct slu_entity *entity)
{
    if (entity->kind != SLU_KIND_SANDBOX)
        return (struct slu_condition_value){SLU_TRUTH_FALSE, "NotImplemented", ""};
    if (entity->life == SLU_LIFE_UNKNOWN && entity->motion &&
        entity->motion->look_failures >= LOOK_FAILURES_UNTIL_UNKNOWN)
        return (struct slu_condition_value){SLU_TRUTH_UNKNOWN, "Unreachable", message_of(entity)};
    if (is_parked(entity))
        return (struct slu_condition_value){SLU_TRUTH_FALSE, "Parked", message_of(entity)};
    if (entity->phase == SLU_PHASE_RUNNING && !slu_entity_is_initialized(entity))
        return (struct slu_condition_value){SLU_TRUTH_FALSE, "Initializing", ""};
    const bool ready = entity->phase == SLU_PHASE_RUNNING;
    return (struct slu_condition_value){ready ? SLU_TRUTH_TRUE : SLU_TRUTH_FALSE,
                                        phase_reasons[entity->phase], message_of(entity)};
}

static bool
is_resting(enum slu_phase phase)
{
    return phase == SLU_PHASE_RUNNING || phase == SLU_PHASE_PAUSED || phase == SLU_PHASE_STOPPED ||
           phase == SLU_PHASE_EXPIRED || phase == SLU_PHASE_DELETED;
}

static struct slu_condition_value
progressing_of(const struct slu_entity *entity)
{
    const char *reason = phase_reasons[entity->phase];
    if (entity->kind != SLU_KIND_SANDBOX || is_parked(entity))
        return (struct slu_condition_value){SLU_TRUTH_FALSE, is_parked(entity) ? "Parked" : reason,
                                            ""};
    if (entity->phase == SLU_PHASE_RUNNING && !slu_entity_is_initialized(entity))
        return (struct slu_condition_value){SLU_TRUTH_TRUE, "Initializing", ""};
    if (entity->phase == SLU_PHASE_PENDING && (entity->references || !entity->auto_start))
        return (struct slu_condition_value){SLU_TRUTH_FALSE, reason, ""};
    return (struct slu_condition_value){
        is_resting((enum slu_phase) entity->phase) ? SLU_TRUTH_FALSE : SLU_TRUTH_TRUE, reason, ""};
}

static struct slu_condition_value
initialized_of(const struct slu_entity *entity)
{
    if (entity->kind != SLU_KIND_SANDBOX)
        return (struct slu_condition_value){SLU_TRUTH_UNSET, "", ""};
    if (!entity->init_count)
        return (struct slu_condition_value){SLU_TRUTH_TRUE, "NothingToDo", ""};
    if (slu_entity_is_initialized(entity))
        return (struct slu_condition_value){SLU_TRUTH_TRUE, "Completed", ""};
    if (entity->init_failed_command)
        return (struct slu_condition_value){SLU_TRUTH_FALSE, "CommandFailed",
                                            slu_entity_text(entity, SLU_TEXT_INIT_ERROR)};
    return (struct slu_condition_value){SLU_TRUTH_FALSE, "Pending", ""};
}

static struct slu_condition_value
blocked_of(const struct slu_entity *entity)
{
    static const char others[] = "waits for another resource (computer, snapshot, template, "
                                 "delegation, mount) of a kind that this version does not drive";
    const char *what = NULL;
    if (entity->kind == SLU_KIND_CHECKPOINT)
        what = "checkpoints are accepted and kept, not made yet";
    else if (entity->kind == SLU_KIND_SNAPSHOT)
        what = "snapshots are accepted and kept, not built yet";
    else if (entity->references)
        what = others;
    else if (entity->rewind_wished)
        what = "spec.rewind is accepted and kept, not carried out yet";
    if (what)
        return (struct slu_condition_value){SLU_TRUTH_TRUE, "NotImplemented", what};
    return (struct slu_condition_value){SLU_TRUTH_FALSE, "None", ""};
}

struct slu_condition_value
slu_condition_of(const struct slu_entity *entity, enum slu_condition condition)
{
    switch (condition) {
    case SLU_CONDITION_READY:
        return ready_of(entity);
    case SLU_CONDITION_ACCEPTED:
        return (struct slu_condition_value){SLU_TRUTH_TRUE, "Accepted", ""};
    case SLU_CONDITION_PROGRESSING:
        return progressing_of(entity);
    case SLU_CONDITION_INITIALIZED:
        return initialized_of(entity);
    case SLU_CONDITION_RECOVERABLE:
        if (entity->kind != SLU_KIND_SANDBOX)
            return (struct slu_condition_value){SLU_TRUTH_UNSET, "", ""};
        return (struct slu_condition_value){SLU_TRUTH_FALSE, "NoCheckpoint", ""};
    case SLU_CONDITION_BLOCKED:
        return blocked_of(entity);
    case SLU_CONDITION_COUNT:
        break;
    }
    return (struct slu_condition_value){SLU_TRUTH_UNSET, "", ""};
}

void
slu_conditions_update(struct slu_entity *entity, int64_t now_ms)
{
    for (int i = 0; i < SLU_CONDITION_COUNT; i++) {
        const enum slu_truth truth = slu_condition_of(entity, (enum slu_condition) i).truth;
        if (entity->condition[i] == truth)
            continue;
        entity->condition[i] = (uint8_t) truth;
        entity->condition_at_ms[i] = now_ms;
    }
}

bool
slu_entity_has_converged(const struct slu_entity *entity)
{
    if (entity->kind != SLU_KIND_SANDBOX)
        return true;
    if (entity->wish == SLU_WISH_DELETED)
        return entity->phase == SLU_PHASE_DELETED;
    if (entity->wish == SLU_WISH_STOPPED)
        return entity->phase == SLU_PHASE_STOPPED;
    if (entity->expired)
        return entity->phase == SLU_PHASE_EXPIRED;
    if (entity->wish == SLU_WISH_PAUSED)
        return entity->phase == SLU_PHASE_PAUSED || entity->phase == SLU_PHASE_PENDING;
    return (entity->phase == SLU_PHASE_RUNNING && slu_entity_is_initialized(entity)) ||
           (entity->idle && entity->phase == SLU_PHASE_PAUSED);
}
