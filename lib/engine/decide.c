/* SPDX-License-Identifier: Apache-2.0 */
/* What is due for one resource: deadlines become facts, the planner is asked, its action becomes a
 * call (behaviour.md §1–3). */
#include "conditions.h"
#include "internal.h"
#include "slu/base/memory.h"
#include "slu/plan/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct slu_provider_instance *
slu_instance_of(const struct slu_engine *engine, const struct slu_entity *entity)
{
    const bool known = entity->provider >= 0 && entity->provider < engine->config.instance_count;
    return known ? &engine->config.instances[entity->provider] : NULL;
}

/* Behaviour.md 8a, for instances that say nothing else. */
static const int64_t default_timeouts_ms[SLU_ACTION_COUNT] = {
    [SLU_ACTION_INSPECT] = 10000,  [SLU_ACTION_CREATE] = 60000,      [SLU_ACTION_RESUME] = 60000,
    [SLU_ACTION_PAUSE] = 60000,    [SLU_ACTION_DELETE] = 30000,      [SLU_ACTION_INIT] = 600000,
    [SLU_ACTION_EXTEND] = 30000,   [SLU_ACTION_CHECKPOINT] = 600000, [SLU_ACTION_REWIND] = 600000,
    [SLU_ACTION_RESTORE] = 600000,
};

int64_t
slu_timeout_ms(const struct slu_engine *engine,
               const struct slu_entity *entity,
               enum slu_action action)
{
    const struct slu_provider_instance *instance = slu_instance_of(engine, entity);
    const int64_t set_ms = instance ? instance->timeout_ms[action] : 0;
    return set_ms ? set_ms : default_timeouts_ms[action];
}

enum slu_goal
slu_goal_now(const struct slu_engine *engine, const struct slu_entity *entity)
{
    const struct slu_goal_facts facts = {
        .wish = (enum slu_wish) entity->wish,
        .expired = entity->expired,
        .idle = entity->idle,
        .auto_start = entity->auto_start,
        .started = entity->started,
        .resume_on_use = entity->resume_on_use,
        .active = entity->active_until_ms > engine->now_ms,
    };
    return slu_goal_of(&facts);
}

/* --- deadlines ----------------------------------------------------------------------------------
 */

/* Whether a deadline may act: passed, and the log was read beyond it, so that a renewal which Kafka
 * acknowledged before it has been seen (behaviour.md 12). */
static bool
has_passed(struct slu_engine *engine, struct slu_entity *entity, int64_t deadline_ms)
{
    if (!deadline_ms || engine->now_ms < deadline_ms)
        return false;
    if (engine->read_through_ms >= deadline_ms)
        return true;
    engine->wants_read_through = true;
    if (!entity->awaits_reading) {
        char *key = slu_strdup(slu_entity_text(entity, SLU_TEXT_KEY));
        entity->awaits_reading = true;
        slu_queue_push(&engine->awaiting, &key, sizeof key);
    }
    return false;
}

/* Idle marks count from the later of the mark and the take-over: what happened at the door of a
 * leader that died is not in them (design.md §7). */
static int64_t
idle_deadline_ms(const struct slu_engine *engine, const struct slu_entity *entity)
{
    const int64_t deadline_ms = slu_entity_idle_deadline_ms(entity);
    const int64_t since_claim_ms =
        engine->claimed_at_ms + (int64_t) entity->idle_pause_after_seconds * 1000;
    return deadline_ms && deadline_ms < since_claim_ms ? since_claim_ms : deadline_ms;
}

static bool
is_call_open(const struct slu_entity *entity)
{
    return entity->motion && entity->motion->main.id;
}

static void
apply_deadlines(struct slu_engine *engine, struct slu_entity *entity)
{
    const bool lives =
        !entity->expired && (entity->wish == SLU_WISH_RUNNING || entity->wish == SLU_WISH_PAUSED);
    if (lives && has_passed(engine, entity, entity->expires_at_ms)) {
        entity->expired = true;
        slu_set_phase(engine, entity, SLU_PHASE_STOPPING, "stopping", "Expired");
        return;
    }
    if (entity->active_until_ms && has_passed(engine, entity, entity->active_until_ms)) {
        if (entity->active_until_ms >
            entity->last_active_at_ms) /* A change of the wish is use too. */
            entity->last_active_at_ms = entity->active_until_ms;
        entity->active_until_ms = 0;
        slu_mark_dirty(engine, entity);
    }
    if (lives && !is_call_open(entity) && slu_entity_is_initialized(entity) &&
        has_passed(engine, entity, idle_deadline_ms(engine, entity))) {
        entity->idle = true;
        slu_mark_dirty(engine, entity);
    }
}

/* --- phases -------------------------------------------------------------------------------------
 */

static void
start_transition(struct slu_engine *engine, struct slu_entity *entity)
{
    struct slu_motion *motion = slu_entity_motion(entity);
    if (!motion->started_at_ms)
        motion->started_at_ms = engine->now_ms;
}

static void
walk_to_running(struct slu_engine *engine, struct slu_entity *entity, const char *reason)
{
    const bool was_paused = entity->phase == SLU_PHASE_PAUSED;
    const bool recovering = entity->motion && entity->motion->recovering;
    if (entity->phase == SLU_PHASE_RUNNING)
        return;
    if (was_paused)
        slu_set_phase(engine, entity, SLU_PHASE_RESUMING, "resuming", reason);
    else if (entity->phase != SLU_PHASE_STARTING && entity->phase != SLU_PHASE_RESUMING &&
             entity->phase != SLU_PHASE_PAUSING)
        slu_set_phase(engine, entity, SLU_PHASE_STARTING, "starting", reason);

    const char *verb = entity->phase == SLU_PHASE_RESUMING  ? "resumed"
                       : entity->phase == SLU_PHASE_PAUSING ? "pause_failed"
                       : recovering                         ? "recovered"
                                                            : "created";
    if (entity->paused_since_ms && !entity->paused_time_counts) {
        const int64_t paused_ms = engine->now_ms - entity->paused_since_ms;
        entity->paused_total_ms += paused_ms;
        entity->expires_at_ms += paused_ms;
    }
    entity->paused_since_ms = 0;
    entity->session_status = SLU_LIFE_RUNNING;
    entity->last_active_at_ms = engine->now_ms;
    slu_set_phase(engine, entity, SLU_PHASE_RUNNING, verb, reason);
    if (recovering) {
        entity->motion->recovering = false;
        entity->motion->lost_at_ms = 0;
    }
}

static void
walk_to_paused(struct slu_engine *engine, struct slu_entity *entity, const char *reason)
{
    if (entity->phase == SLU_PHASE_PAUSED)
        return;
    if (entity->phase != SLU_PHASE_RUNNING && entity->phase != SLU_PHASE_PAUSING)
        walk_to_running(engine, entity, reason);
    if (entity->phase == SLU_PHASE_RUNNING)
        slu_set_phase(engine, entity, SLU_PHASE_PAUSING, "pausing", reason);
    entity->session_status = SLU_LIFE_PAUSED;
    entity->paused_since_ms = engine->now_ms;
    slu_set_phase(engine, entity, SLU_PHASE_PAUSED, "paused", entity->idle ? "Idle" : reason);
}

static void
unbind(struct slu_entity *entity)
{
    slu_entity_set_text(entity, SLU_TEXT_EXTERNAL_ID, "", 0);
    entity->instance_incarnation = 0;
    entity->lease_refreshed_at_ms = 0;
}

/* Positive and confirmed: the bound instance is no more, though it was wanted (rule 14). */
static void
record_loss(struct slu_engine *engine, struct slu_entity *entity)
{
    struct slu_motion *motion = slu_entity_motion(entity);
    memcpy(motion->lost_external_id, slu_entity_text(entity, SLU_TEXT_EXTERNAL_ID),
           slu_entity_text_size(entity, SLU_TEXT_EXTERNAL_ID) + 1);
    motion->lost_incarnation = entity->instance_incarnation;
    motion->lost_at_ms = engine->now_ms;
    motion->lost_recorded = true;
    motion->recovering = false;
    motion->main = motion->side = (struct slu_waiting){0};
    motion->init_index = 0;
    unbind(entity);
    entity->session_status = SLU_LIFE_GONE;
    entity->paused_since_ms = 0;
    slu_unpark(entity);
    slu_set_phase(engine, entity, SLU_PHASE_LOST, "lost", "ProviderSaysGone");
    slu_loss_count(engine, entity);
}

/* Nothing is left of a life that was to end. */
static void
finish_end(struct slu_engine *engine, struct slu_entity *entity)
{
    const bool deleted = entity->wish == SLU_WISH_DELETED;
    const enum slu_phase end = deleted           ? SLU_PHASE_DELETED
                               : entity->expired ? SLU_PHASE_EXPIRED
                                                 : SLU_PHASE_STOPPED;
    if (entity->phase == end)
        return;
    if (!deleted && entity->phase != SLU_PHASE_STOPPING)
        slu_set_phase(engine, entity, SLU_PHASE_STOPPING, "stopping", "Wish");
    if (entity->motion)
        entity->motion->main = entity->motion->side = (struct slu_waiting){0};
    if (deleted)
        unbind(entity); /* `stopped` and `expired` still show what there was, in the record. */
    slu_unpark(entity);
    slu_set_phase(engine, entity, end, slu_phase_names[end], entity->expired ? "Expired" : "Wish");
    if (entity->motion)
        entity->motion->look_failures = 0;
    slu_rest(entity);
}

/* What was to be made is wanted running no more, and nothing was made: back to waiting. */
static void
withdraw(struct slu_engine *engine, struct slu_entity *entity)
{
    struct slu_motion *motion = entity->motion;
    const bool starts = entity->phase == SLU_PHASE_STARTING || entity->phase == SLU_PHASE_FAILED;
    if (!starts || (motion && motion->main.id))
        return;
    const bool lost = motion && motion->recovering;
    if (lost) {
        motion->recovering = false;
        motion->lost_recorded = true;
    }
    slu_set_phase(engine, entity, lost ? SLU_PHASE_LOST : SLU_PHASE_PENDING, "withdrawn", "Wish");
}

/* Somebody resumed it at the provider: that is use (rule 10). */
static void
notice_use(struct slu_engine *engine, struct slu_entity *entity)
{
    if (!entity->idle || entity->phase != SLU_PHASE_PAUSED || entity->life != SLU_LIFE_RUNNING)
        return;
    entity->idle = false;
    slu_mark_dirty(engine, entity);
}

/* The instance of an ended life is gone. */
static void
retire(struct slu_engine *engine, struct slu_entity *entity)
{
    entity->retiring = false;
    entity->life = SLU_LIFE_UNKNOWN; /* Another one may be there: look until none is. */
    unbind(entity);
    slu_entity_motion(entity)->main = (struct slu_waiting){0};
    slu_unpark(entity);
    slu_mark_dirty(engine, entity);
}

static void
settle_nothing(struct slu_engine *engine, struct slu_entity *entity, enum slu_goal goal)
{
    struct slu_motion *motion = entity->motion;
    if (goal != SLU_GOAL_RUNNING && motion && motion->unanswered_until_ms > engine->now_ms) {
        /* Nothing yet, which was enough to repeat a CREATE, but not to call it the end. */
        entity->life = SLU_LIFE_UNKNOWN;
        motion->retry_at_ms = motion->unanswered_until_ms;
        return;
    }
    if (goal == SLU_GOAL_GONE)
        finish_end(engine, entity);
    else if (entity->life == SLU_LIFE_GONE && slu_entity_has_instance(entity))
        record_loss(engine, entity);
    else if (goal == SLU_GOAL_PAUSED && entity->life == SLU_LIFE_ABSENT)
        withdraw(engine, entity);
}

/* Carries the phase to what `life` shows, through every phase between, one event each. */
static void
settle(struct slu_engine *engine, struct slu_entity *entity)
{
    notice_use(engine, entity);
    const enum slu_goal goal = slu_goal_now(engine, entity);
    const enum slu_life life = (enum slu_life) entity->life;

    const bool nothing = life == SLU_LIFE_GONE || life == SLU_LIFE_ABSENT;
    if (entity->retiring && nothing)
        retire(engine, entity);
    else if (nothing)
        settle_nothing(engine, entity, goal);
    if (nothing || entity->retiring)
        return;
    if (goal == SLU_GOAL_GONE)
        return;
    const bool pausing = entity->phase == SLU_PHASE_PAUSING && goal == SLU_GOAL_PAUSED;
    const bool resuming = entity->phase == SLU_PHASE_RESUMING && goal == SLU_GOAL_RUNNING;
    if (life == SLU_LIFE_RUNNING && !pausing)
        walk_to_running(engine, entity, "Observed");
    else if (life == SLU_LIFE_PAUSED && !resuming)
        walk_to_paused(engine, entity, "Observed");
}

/* --- actions ------------------------------------------------------------------------------------
 */

static void
look(struct slu_engine *engine, struct slu_entity *entity, bool resync)
{
    struct slu_motion *motion = slu_entity_motion(entity);
    motion->look_by_label = motion->gone_by_id || !slu_entity_has_instance(entity);
    motion->look_id =
        slu_call_out(engine, entity, SLU_ACTION_INSPECT, motion->look_by_label, resync, false);
}

/* The incarnation's one CREATE has one body. A body that must differ, or a CREATE that failed for
 * good, takes the next incarnation; the look that led here has settled the old one (design.md §6).
 */
static void
prepare_create(struct slu_engine *engine, struct slu_entity *entity)
{
    struct slu_motion *motion = slu_entity_motion(entity);
    char sha256[65];
    slu_create_body_sha256(entity, sha256);
    const bool differs = motion->body_sha256[0] && strcmp(motion->body_sha256, sha256) != 0;
    if (differs || motion->create_spent || motion->lost_recorded) {
        entity->incarnation++;
        motion->main = (struct slu_waiting){0};
        motion->recovering = motion->lost_recorded || motion->recovering;
    }
    motion->create_spent = motion->lost_recorded = motion->redriven = false;
    entity->started = true; /* Wanted for good, whatever autoStart says later (behaviour.md §1). */
    memcpy(motion->body_sha256, sha256, sizeof sha256);
    if (entity->phase != SLU_PHASE_STARTING)
        slu_set_phase(engine, entity, SLU_PHASE_STARTING, "starting",
                      motion->recovering ? "Recovery" : "Wish");
}

static void
enter(struct slu_engine *engine, struct slu_entity *entity, enum slu_phase phase, const char *why)
{
    if (entity->phase != phase)
        slu_set_phase(engine, entity, phase, slu_phase_names[phase], why);
}

static void
prepare_phase(struct slu_engine *engine, struct slu_entity *entity, enum slu_action action)
{
    const char *why = entity->idle ? "Idle" : "Wish";
    const bool ends = slu_goal_now(engine, entity) == SLU_GOAL_GONE && !entity->retiring &&
                      entity->phase != SLU_PHASE_DELETING;
    if (action == SLU_ACTION_CREATE)
        prepare_create(engine, entity);
    else if (action == SLU_ACTION_PAUSE)
        enter(engine, entity, SLU_PHASE_PAUSING, why);
    else if (action == SLU_ACTION_RESUME)
        enter(engine, entity, SLU_PHASE_RESUMING, why);
    else if (action == SLU_ACTION_DELETE && ends)
        enter(engine, entity, SLU_PHASE_STOPPING, why);
}

/* A decision is a number and a fact in status; a retry of the same decision keeps both, and need
 * not wait for another commit. */
static void
act(struct slu_engine *engine, struct slu_entity *entity, enum slu_action action)
{
    struct slu_motion *motion = slu_entity_motion(entity);
    start_transition(engine, entity);
    prepare_phase(engine, entity, action);

    const bool again = motion->main.action == action && !motion->main.id;
    if (!again) {
        if (motion->main.id) /* What a DELETE overtakes. */
            motion->side = motion->main;
        if (motion->failed_action != action)
            motion->failures = 0;
        entity->call++;
        motion->main = (struct slu_waiting){
            .action = (uint8_t) action, .call = entity->call, .since_ms = engine->now_ms};
        slu_mark_dirty(engine, entity);
    }
    if (action == SLU_ACTION_CREATE) /* From here on something may be there. */
        entity->life = SLU_LIFE_UNKNOWN;
    motion->main.id = slu_call_out(engine, entity, action, false, false, !again || entity->dirty);
}

static int64_t
extend_at_ms(const struct slu_entity *entity)
{
    const bool due =
        entity->life == SLU_LIFE_RUNNING && !entity->retiring && slu_entity_has_instance(entity);
    if (!due)
        return INT64_MAX;
    /* Of an EXTEND without an answer nobody knows which length it left. */
    const bool unanswered = entity->motion && entity->motion->side.action == SLU_ACTION_EXTEND;
    const bool other_length = unanswered || entity->lease_given_seconds != entity->lease_seconds;
    const int64_t third_ms = other_length ? 0 : (int64_t) entity->lease_seconds * 1000 / 3;
    const int64_t at_ms = entity->lease_refreshed_at_ms + third_ms;
    const int64_t retry_ms = entity->motion ? entity->motion->extend_retry_at_ms : 0;
    return at_ms > retry_ms ? at_ms : retry_ms;
}

/* Beside whatever else is under way: a long init must not outlive its lease (rule 8). */
static void
extend(struct slu_engine *engine, struct slu_entity *entity)
{
    const enum slu_goal goal = slu_goal_now(engine, entity);
    if (goal == SLU_GOAL_GONE || engine->now_ms < extend_at_ms(entity))
        return;
    struct slu_motion *motion = slu_entity_motion(entity);
    if (motion->side.id || (motion->main.action && motion->main.action != SLU_ACTION_INIT))
        return;
    if (entity->hinted) {
        if (!motion->look_id)
            look(engine, entity, true);
        return;
    }
    const bool again = motion->side.action == SLU_ACTION_EXTEND;
    if (!again) {
        entity->call++;
        motion->side = (struct slu_waiting){
            .action = SLU_ACTION_EXTEND, .call = entity->call, .since_ms = engine->now_ms};
        slu_mark_dirty(engine, entity);
    }
    motion->side.id =
        slu_call_out(engine, entity, SLU_ACTION_EXTEND, false, true, !again || entity->dirty);
}

/* --- the decision -------------------------------------------------------------------------------
 */

static bool
may_overtake(const struct slu_entity *entity, enum slu_goal goal)
{
    const struct slu_motion *motion = entity->motion;
    return goal == SLU_GOAL_GONE && motion && !motion->look_id &&
           motion->main.action != SLU_ACTION_DELETE && motion->main.action != SLU_ACTION_CREATE &&
           slu_entity_has_instance(entity);
}

static bool
is_held(const struct slu_entity *entity)
{
    const struct slu_motion *motion = entity->motion;
    if (entity->provider < 0)
        return true;
    return entity->references || (entity->phase == SLU_PHASE_LOST && entity->manual_recovery &&
                                  !(motion && motion->redriven));
}

static int64_t
later(int64_t a_ms, int64_t b_ms)
{
    return a_ms > b_ms ? a_ms : b_ms;
}

static struct slu_situation
situation_of(const struct slu_engine *engine, const struct slu_entity *entity)
{
    enum {
        RESYNC_DEFAULT_MS = 60000
    };
    const struct slu_motion *motion = entity->motion;
    const struct slu_provider_instance *instance = slu_instance_of(engine, entity);
    const enum slu_goal goal = entity->retiring ? SLU_GOAL_GONE : slu_goal_now(engine, entity);
    const bool open = motion && (motion->main.id || motion->look_id);
    return (struct slu_situation){
        .goal = goal,
        .life = (enum slu_life) entity->life,
        .call_in_flight = open && !may_overtake(entity, goal),
        .held = is_held(entity),
        .init_due = goal == SLU_GOAL_RUNNING && !slu_entity_is_initialized(entity),
        .parked_until_ms = motion ? motion->parked_until_ms : 0,
        .retry_at_ms = later(motion ? motion->retry_at_ms : 0, slu_loss_retry_ms(engine, entity)),
        .seen_at_ms = entity->seen_at_ms,
        .resync_ms = instance && instance->resync_ms ? instance->resync_ms : RESYNC_DEFAULT_MS,
    };
}

static int64_t
sooner(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

static int64_t
ahead(const struct slu_engine *engine, int64_t deadline_ms)
{
    return deadline_ms > engine->now_ms ? deadline_ms : INT64_MAX;
}

void
slu_schedule(struct slu_engine *engine, struct slu_entity *entity, int64_t look_again_at_ms)
{
    int64_t due_ms = look_again_at_ms;
    if (slu_goal_now(engine, entity) != SLU_GOAL_GONE) {
        due_ms = sooner(due_ms, ahead(engine, entity->expires_at_ms));
        due_ms = sooner(due_ms, ahead(engine, idle_deadline_ms(engine, entity)));
        due_ms = sooner(due_ms, ahead(engine, entity->active_until_ms));
        due_ms = sooner(due_ms, ahead(engine, extend_at_ms(entity)));
    }
    slu_due_set(&engine->due, entity, due_ms);
}

static void
bury(struct slu_engine *engine, struct slu_entity *entity)
{
    struct slu_output *output =
        slu_batch_add(engine->batch, SLU_TOPIC_STATUS, engine->config.shard);
    output->key = slu_strdup(slu_entity_text(entity, SLU_TEXT_KEY));
    output->key_size = slu_entity_text_size(entity, SLU_TEXT_KEY);
    engine->batch->bytes += slu_output_size(output);
    slu_forget_entity(engine, entity);
}

static void
note_plan(struct slu_engine *engine, const struct slu_entity *entity, const struct slu_plan *plan)
{
    slu_note_add(engine, &(struct slu_note){
                             .event = "plan",
                             .key = slu_entity_text(entity, SLU_TEXT_KEY),
                             .goal = slu_goal_names[slu_goal_now(engine, entity)],
                             .life = slu_life_names[entity->life],
                             .action = slu_action_names[plan->action],
                             .reason = plan->reason,
                             .generation = entity->generation,
                             .incarnation = entity->incarnation,
                             .converged_after_ms = -1,
                         });
}

/* A decision that no longer stands leaves no trace in status. */
static void
drop_pending(struct slu_engine *engine, struct slu_entity *entity)
{
    struct slu_motion *motion = entity->motion;
    if (!motion || !motion->main.action || motion->main.id)
        return;
    motion->main = (struct slu_waiting){0};
    motion->failures = 0;
    slu_mark_dirty(engine, entity);
}

/* An EXTEND of an earlier leader, or what a DELETE overtook, once it can do nothing any more. */
static void
drop_side(struct slu_engine *engine, struct slu_entity *entity)
{
    struct slu_motion *motion = entity->motion;
    if (!motion || !motion->side.action || motion->side.id || motion->main.id)
        return;
    const bool rests = entity->life == SLU_LIFE_PAUSED || entity->life == SLU_LIFE_GONE ||
                       entity->life == SLU_LIFE_ABSENT;
    if (motion->side.action == SLU_ACTION_EXTEND && !rests)
        return;
    motion->side = (struct slu_waiting){0};
    slu_mark_dirty(engine, entity);
}

static void
carry_on(struct slu_engine *engine, struct slu_entity *entity, const struct slu_plan *plan)
{
    switch (plan->action) {
    case SLU_ACTION_NONE:
        break;
    case SLU_ACTION_INSPECT:
        note_plan(engine, entity, plan);
        look(engine, entity, plan->resync);
        break;
    case SLU_ACTION_CREATE:
    case SLU_ACTION_RESUME:
    case SLU_ACTION_PAUSE:
    case SLU_ACTION_DELETE:
    case SLU_ACTION_INIT:
        note_plan(engine, entity, plan);
        if (entity->hinted)
            look(engine, entity, false);
        else
            act(engine, entity, plan->action);
        break;
    case SLU_ACTION_CHECKPOINT:
    case SLU_ACTION_REWIND:
    case SLU_ACTION_RESTORE:
    case SLU_ACTION_EXTEND:
    case SLU_ACTION_COUNT:
        assert(!"the policy table has no such action");
    }
}

static bool
is_over(const struct slu_entity *entity)
{
    return entity->kind != SLU_KIND_SANDBOX || entity->phase == SLU_PHASE_DELETED ||
           entity->phase == SLU_PHASE_STOPPED || entity->phase == SLU_PHASE_EXPIRED;
}

static void
decide_over(struct slu_engine *engine, struct slu_entity *entity)
{
    if (entity->phase != SLU_PHASE_DELETED) {
        slu_due_set(&engine->due, entity, INT64_MAX);
        return;
    }
    const int64_t bury_at_ms = entity->updated_at_ms + engine->config.deleted_retention_ms;
    if (engine->now_ms >= bury_at_ms && !entity->dirty)
        bury(engine, entity);
    else
        slu_due_set(&engine->due, entity,
                    bury_at_ms > engine->now_ms ? bury_at_ms : engine->now_ms + 1);
}

/* What time and a wish that asked for nothing new leave behind. */
static void
tidy(struct slu_engine *engine, struct slu_entity *entity)
{
    struct slu_motion *motion = entity->motion;
    if (!motion)
        return;
    if (engine->now_ms >= motion->unanswered_until_ms)
        motion->unanswered_until_ms = 0;
    if (motion->parked_until_ms && engine->now_ms >= motion->parked_until_ms) {
        slu_unpark(entity);
        slu_mark_dirty(engine, entity);
    }
    if (motion->changed_at_ms && !motion->main.action && slu_entity_has_converged(entity))
        motion->changed_at_ms = 0;
}

void
slu_decide(struct slu_engine *engine, struct slu_entity *entity)
{
    engine->counters.plans++;
    engine->counters.facts += !entity->soon; /* Its time has come: a fact, too. */
    entity->soon = false;
    if (is_over(entity)) {
        decide_over(engine, entity);
        return;
    }
    apply_deadlines(engine, entity);
    settle(engine, entity);
    if (is_over(entity)) {
        decide_over(engine, entity);
        return;
    }
    tidy(engine, entity);
    const struct slu_situation situation = situation_of(engine, entity);
    const struct slu_plan plan = slu_plan_next(&situation, engine->now_ms);
    carry_on(engine, entity, &plan);
    if (plan.action == SLU_ACTION_NONE && !situation.call_in_flight &&
        engine->now_ms >= situation.retry_at_ms && engine->now_ms >= situation.parked_until_ms)
        drop_pending(engine, entity);
    drop_side(engine, entity);
    extend(engine, entity);
    slu_rest(entity);
    slu_schedule(engine, entity, plan.look_again_at_ms);
}
