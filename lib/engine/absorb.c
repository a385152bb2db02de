/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: what a provider said becomes what is known. A call that ended without an answer makes
 * the life unknown, and unknown is looked at before anything is done (behaviour.md §2). */
#include "conditions.h"
#include "internal.h"
#include "slu/plan/backoff.h"

#include <stdio.h>
#include <string.h>

/* --- troubles -----------------------------------------------------------------------------------
 */

static void
park(struct slu_engine *engine,
     struct slu_entity *entity,
     enum slu_action action,
     const char *reason)
{
    struct slu_motion *motion = entity->motion;
    motion->failed_action = (uint8_t) action;
    motion->parked_until_ms = engine->now_ms + engine->config.park_retry_ms;
    motion->retry_at_ms = 0;
    snprintf(motion->parked_reason, sizeof motion->parked_reason, "%s", reason);
    const bool starts = entity->phase == SLU_PHASE_STARTING || entity->phase == SLU_PHASE_LOST ||
                        entity->phase == SLU_PHASE_RESUMING;
    if (starts)
        slu_set_phase(engine, entity, SLU_PHASE_FAILED, "failed", reason);
    slu_emit(engine, entity, "stalled", reason, motion->message);
    engine->counters.parked++;
}

static bool
is_past_deadline(const struct slu_engine *engine,
                 const struct slu_entity *entity,
                 enum slu_action action)
{
    enum {
        TIMEOUTS_PER_TRANSITION = 3
    };

    const int64_t started_ms = entity->motion->started_at_ms;
    return started_ms && engine->now_ms - started_ms >=
                             TIMEOUTS_PER_TRANSITION * slu_timeout_ms(engine, entity, action);
}

static void
keep_message(struct slu_motion *motion, const struct slu_facts *facts)
{
    snprintf(motion->message, sizeof motion->message, "%s", facts->message);
}

/* The ladder: retry with backoff, look again, then park (behaviour.md 8a). */
static void
fail(struct slu_engine *engine,
     struct slu_entity *entity,
     enum slu_action action,
     const struct slu_facts *facts)
{
    struct slu_motion *motion = slu_entity_motion(entity);
    if (motion->failed_action != action)
        motion->failures = 0;
    motion->failed_action = (uint8_t) action;
    motion->failures++;
    keep_message(motion, facts);
    if (facts->outcome == SLU_OUTCOME_PERMANENT) {
        park(engine, entity, action, "ProviderRefuses");
    } else if (motion->failures >= engine->config.failures_before_park) {
        park(engine, entity, action, "TooManyFailures");
    } else if (is_past_deadline(engine, entity, action)) {
        park(engine, entity, action, "DeadlineExceeded");
    } else {
        motion->retry_at_ms =
            engine->now_ms +
            slu_backoff_ms(motion->failures, facts->retry_after_ms, &engine->random);
    }
}

/* Capacity, a closed door, nothing sent: not the resource's fault, so it never parks. */
static void
wait_for_provider(struct slu_engine *engine,
                  struct slu_entity *entity,
                  const struct slu_facts *facts)
{
    struct slu_motion *motion = slu_entity_motion(entity);
    if (motion->look_failures < UINT16_MAX)
        motion->look_failures++;
    keep_message(motion, facts);
    motion->retry_at_ms = engine->now_ms + slu_backoff_ms(motion->look_failures,
                                                          facts->retry_after_ms, &engine->random);
}

static void
forget_troubles(struct slu_entity *entity)
{
    slu_unpark(entity);
    if (!entity->motion)
        return;
    entity->motion->look_failures = 0;
    entity->motion->failed_action = SLU_ACTION_NONE;
}

static void
set_life(struct slu_engine *engine, struct slu_entity *entity, enum slu_life life)
{
    const bool changed = entity->life != life;
    entity->life = (uint8_t) life;
    entity->hinted = false;
    entity->seen_at_ms = engine->now_ms;
    if (changed && life != SLU_LIFE_UNKNOWN)
        slu_observe(engine, entity);
}

/* Until its full time-out has passed, a call without an answer may still take effect. An INIT acts
 * inside an instance and makes none: where nothing is any more, there is nothing to wait for. */
static void
mark_unanswered(struct slu_engine *engine, struct slu_entity *entity, enum slu_action action)
{
    if (action == SLU_ACTION_INIT)
        return;
    struct slu_motion *motion = slu_entity_motion(entity);
    const int64_t until_ms = engine->now_ms + slu_timeout_ms(engine, entity, action);
    if (until_ms > motion->unanswered_until_ms)
        motion->unanswered_until_ms = until_ms;
}

/* --- instances ----------------------------------------------------------------------------------
 */

enum {
    LEASE_UNKNOWN = 0 /* Extended at once. */
};

static void
take_lease(struct slu_engine *engine, struct slu_entity *entity, int32_t seconds)
{
    entity->lease_refreshed_at_ms = engine->now_ms;
    entity->lease_given_seconds = seconds;
}

static void
bind(struct slu_engine *engine,
     struct slu_entity *entity,
     const struct slu_seen *seen,
     uint32_t incarnation)
{
    slu_entity_set_text(entity, SLU_TEXT_EXTERNAL_ID, seen->external_id, strlen(seen->external_id));
    entity->instance_incarnation = incarnation;
    take_lease(engine, entity, entity->lease_seconds);
    if (!entity->session_created_at_ms)
        entity->session_created_at_ms = engine->now_ms;
    struct slu_motion *motion = slu_entity_motion(entity);
    motion->gone_by_id = false;
    motion->unanswered_until_ms = 0;
    motion->body_sha256[0] = 0;
    motion->create_spent = false;
    slu_mark_dirty(engine, entity);
}

/* The answer of a CREATE. A life or incarnation that ended meanwhile binds it only to delete it. */
static void
absorb_create(struct slu_engine *engine,
              struct slu_entity *entity,
              const struct slu_open_call *open,
              const struct slu_facts *facts)
{
    if (facts->seen_count < 1 || !facts->seen[0].external_id[0]) {
        set_life(engine, entity, SLU_LIFE_UNKNOWN);
        mark_unanswered(engine, entity, SLU_ACTION_CREATE);
        return;
    }
    const bool stale =
        open->uid_offset != entity->uid_offset || open->incarnation != entity->incarnation;
    const int64_t session_ms = entity->session_created_at_ms;
    entity->motion->main = (struct slu_waiting){0};
    bind(engine, entity, &facts->seen[0], open->incarnation);
    take_lease(engine, entity, open->lease_seconds);
    entity->retiring = stale && slu_goal_now(engine, entity) != SLU_GOAL_GONE;
    if (stale)
        entity->session_created_at_ms = session_ms;
    if (facts->workspace_path[0])
        slu_entity_set_text(entity, SLU_TEXT_WORKSPACE, facts->workspace_path,
                            strlen(facts->workspace_path));
    set_life(engine, entity, facts->seen[0].life);
    forget_troubles(entity);
}

/* A resume that gave back another instance starts a new incarnation and says so (rule 6). */
static void
absorb_resume(struct slu_engine *engine,
              struct slu_entity *entity,
              const struct slu_open_call *open,
              const struct slu_facts *facts)
{
    const struct slu_seen *seen = facts->seen_count > 0 ? &facts->seen[0] : NULL;
    const bool other =
        seen && seen->external_id[0] &&
        strcmp(seen->external_id, slu_entity_text(entity, SLU_TEXT_EXTERNAL_ID)) != 0;
    entity->motion->main = (struct slu_waiting){0};
    if (other) {
        bind(engine, entity, seen, ++entity->incarnation);
        slu_emit(engine, entity, "replaced", "ResumedAsAnother",
                 "the provider resumed another instance under another id");
    }
    take_lease(engine, entity, open->lease_seconds);
    slu_mark_dirty(engine, entity);
    set_life(engine, entity, seen ? seen->life : SLU_LIFE_UNKNOWN);
    forget_troubles(entity);
}

static void
absorb_pause(struct slu_engine *engine, struct slu_entity *entity)
{
    entity->motion->main = (struct slu_waiting){0};
    slu_mark_dirty(engine, entity);
    set_life(engine, entity, SLU_LIFE_PAUSED);
    forget_troubles(entity);
}

/* Accepted is not gone: two looks follow (rule 4, providers.md row 14). */
static void
absorb_delete(struct slu_engine *engine, struct slu_entity *entity, bool gone)
{
    struct slu_motion *motion = entity->motion;
    motion->gone_by_id = gone;
    motion->retry_at_ms = 0;
    set_life(engine, entity, SLU_LIFE_UNKNOWN);
}

static void
complete_init(struct slu_engine *engine, struct slu_entity *entity)
{
    struct slu_motion *motion = entity->motion;
    motion->main = (struct slu_waiting){0};
    motion->init_index = 0;
    entity->init_done_hash = entity->init_hash;
    entity->init_incarnation = entity->instance_incarnation;
    entity->init_completed_at_ms = engine->now_ms;
    entity->init_failed_command = 0;
    entity->last_active_at_ms = engine->now_ms;
    slu_entity_set_text(entity, SLU_TEXT_INIT_ERROR, "", 0);
    forget_troubles(entity);
    const int64_t changed_ms = motion->changed_at_ms;
    slu_emit(engine, entity, "initialized", "Completed", "");
    if (changed_ms && slu_entity_has_converged(entity)) {
        motion->changed_at_ms = 0;
        slu_note_add(engine, &(struct slu_note){.event = "converged",
                                                .key = slu_entity_text(entity, SLU_TEXT_KEY),
                                                .generation = entity->generation,
                                                .incarnation = entity->incarnation,
                                                .converged_after_ms = engine->now_ms - changed_ms});
    }
}

/* First non-zero exit: the rest is not run, the sandbox stays, and the list is tried again from its
 * first command under a new attempt (rule 9). */
static void
fail_init(struct slu_engine *engine, struct slu_entity *entity, const struct slu_facts *facts)
{
    struct slu_motion *motion = entity->motion;
    char message[128];
    const int size = snprintf(message, sizeof message, "init command %d of %d: exit code %d",
                              motion->init_index + 1, entity->init_count, facts->exit_code);
    slu_entity_set_text(entity, SLU_TEXT_INIT_ERROR, message, (size_t) size);
    entity->init_failed_command = (int16_t) (motion->init_index + 1);
    if (entity->init_attempts < UINT16_MAX)
        entity->init_attempts++;
    motion->init_index = 0;
    motion->main = (struct slu_waiting){0};
    motion->failed_action = SLU_ACTION_INIT;
    motion->retry_at_ms =
        engine->now_ms + slu_backoff_ms(entity->init_attempts, 0, &engine->random);
    motion->started_at_ms = 0;
    slu_emit(engine, entity, "init_failed", "CommandFailed", message);
}

static void
absorb_init(struct slu_engine *engine,
            struct slu_entity *entity,
            const struct slu_open_call *open,
            const struct slu_facts *facts)
{
    struct slu_motion *motion = entity->motion;
    entity->seen_at_ms = engine->now_ms;
    /* Of a list that is wished no more, or is wished anew from its first command. */
    if (open->init_hash != entity->init_hash || open->init_index != motion->init_index) {
        motion->main = (struct slu_waiting){0};
        slu_mark_dirty(engine, entity);
        return;
    }
    if (!facts->has_exit) {
        set_life(engine, entity, SLU_LIFE_UNKNOWN);
        return;
    }
    if (facts->exit_code != 0) {
        fail_init(engine, entity, facts);
        return;
    }
    motion->failures = 0;
    motion->started_at_ms = 0;
    if (++motion->init_index >= entity->init_count)
        complete_init(engine, entity);
}

/* --- looks --------------------------------------------------------------------------------------
 */

static bool
is_uid_of(const struct slu_entity *entity, const struct slu_seen *seen)
{
    char uid[SLU_UID_SIZE];
    slu_entity_uid(entity, uid);
    return strcmp(uid, seen->uid) == 0;
}

static int64_t
uid_offset_of(const struct slu_seen *seen)
{
    const char *dash = strchr(seen->uid, '-');
    return dash ? slu_slice_int((struct slu_slice){dash + 1, strlen(dash + 1)}, -1) : -1;
}

static const struct slu_seen *
find_by_id(const struct slu_entity *entity, const struct slu_facts *facts)
{
    for (int i = 0; i < facts->seen_count; i++) {
        if (strcmp(facts->seen[i].external_id, slu_entity_text(entity, SLU_TEXT_EXTERNAL_ID)) == 0)
            return &facts->seen[i];
    }
    return NULL;
}

/* Of several with our labels the first by id: every leader chooses the same. */
static const struct slu_seen *
find_ours(const struct slu_entity *entity, const struct slu_facts *facts)
{
    const struct slu_seen *found = NULL;
    if (entity->motion
            ->lost_recorded) /* What was lost stays lost: it is found as an earlier one. */
        return NULL;
    for (int i = 0; i < facts->seen_count; i++) {
        const struct slu_seen *seen = &facts->seen[i];
        if (!is_uid_of(entity, seen) || seen->incarnation != entity->incarnation)
            continue;
        if (!found || strcmp(seen->external_id, found->external_id) < 0)
            found = seen;
    }
    return found;
}

/* An instance of an ended life of this key: it goes before anything new is made. */
static const struct slu_seen *
find_earlier(const struct slu_entity *entity, const struct slu_facts *facts)
{
    for (int i = 0; i < facts->seen_count; i++) {
        const struct slu_seen *seen = &facts->seen[i];
        const bool older_life = !is_uid_of(entity, seen) && uid_offset_of(seen) >= 0 &&
                                uid_offset_of(seen) < entity->uid_offset;
        const int64_t next = entity->incarnation + (entity->motion->lost_recorded ? 1 : 0);
        const bool older = is_uid_of(entity, seen) && seen->incarnation < next;
        if (older_life || older)
            return seen;
    }
    return NULL;
}

static void
adopt(struct slu_engine *engine, struct slu_entity *entity, const struct slu_seen *seen)
{
    const bool own = entity->motion->main.action == SLU_ACTION_CREATE;
    char body_sha256[65];
    slu_create_body_sha256(entity, body_sha256);
    const bool as_wished = strcmp(body_sha256, entity->motion->body_sha256) == 0;
    if (own)
        entity->motion->main = (struct slu_waiting){0};
    bind(engine, entity, seen, (uint32_t) seen->incarnation);
    take_lease(engine, entity, as_wished ? entity->lease_seconds : LEASE_UNKNOWN);
    slu_emit(engine, entity, "adopted", own ? "CreateWithoutAnswer" : "FoundByLabel",
             seen->external_id);
    set_life(engine, entity, seen->life);
    forget_troubles(entity);
}

/* Everything else that carries our uid and is proven surplus by what was found. */
static void
delete_others(struct slu_engine *engine,
              struct slu_entity *entity,
              const struct slu_facts *facts,
              const struct slu_seen *kept)
{
    for (int i = 0; i < facts->seen_count; i++) {
        const struct slu_seen *seen = &facts->seen[i];
        const bool same = strcmp(seen->external_id, kept->external_id) == 0; /* Lists repeat. */
        if (!same && is_uid_of(entity, seen) && seen->incarnation == kept->incarnation)
            slu_delete_surplus(engine, entity, seen);
    }
}

/* Whether a CREATE without an answer may simply be said again: the provider knows its key. */
static bool
may_repeat_create(const struct slu_engine *engine, const struct slu_entity *entity)
{
    const struct slu_provider_instance *instance = slu_instance_of(engine, entity);
    const struct slu_motion *motion = entity->motion;
    char body_sha256[65];
    slu_create_body_sha256(entity, body_sha256);
    return motion->main.action == SLU_ACTION_CREATE && !motion->create_spent && instance &&
           strcmp(body_sha256, motion->body_sha256) == 0 &&
           slu_instance_has(instance, "idempotent_create") &&
           slu_goal_now(engine, entity) == SLU_GOAL_RUNNING;
}

static void
conclude_absence(struct slu_engine *engine, struct slu_entity *entity)
{
    struct slu_motion *motion = entity->motion;
    const bool settled = engine->now_ms >= motion->unanswered_until_ms;
    if (!settled && !may_repeat_create(engine, entity)) {
        motion->retry_at_ms = motion->unanswered_until_ms;
        return;
    }
    const bool bound = slu_entity_has_instance(entity);
    motion->gone_by_id = false;
    if (settled)
        motion->unanswered_until_ms = 0;
    set_life(engine, entity, bound ? SLU_LIFE_GONE : SLU_LIFE_ABSENT);
}

static void
absorb_look_by_label(struct slu_engine *engine,
                     struct slu_entity *entity,
                     const struct slu_facts *facts)
{
    struct slu_motion *motion = entity->motion;
    const bool bound = slu_entity_has_instance(entity);
    const struct slu_seen *ours = bound ? find_by_id(entity, facts) : find_ours(entity, facts);
    if (bound && ours) { /* Gone by id, listed all the same: look again. */
        motion->gone_by_id = false;
        wait_for_provider(engine, entity, facts);
        return;
    }
    if (ours) {
        delete_others(engine, entity, facts, ours);
        adopt(engine, entity, ours);
        return;
    }
    /* A life that ends leaves nothing: whatever else carries its labels goes, too. */
    const bool ends = slu_goal_now(engine, entity) == SLU_GOAL_GONE;
    const struct slu_seen *earlier = bound && !ends ? NULL : find_earlier(entity, facts);
    if (!earlier && bound && ends)
        earlier = find_ours(entity, facts);
    if (earlier) {
        const int64_t session_ms = entity->session_created_at_ms;
        const int64_t unanswered_until_ms = motion->unanswered_until_ms;
        bind(engine, entity, earlier, (uint32_t) earlier->incarnation);
        entity->session_created_at_ms = session_ms;
        motion->unanswered_until_ms = unanswered_until_ms; /* The newer CREATE may still land. */
        entity->retiring = slu_goal_now(engine, entity) != SLU_GOAL_GONE;
        set_life(engine, entity, earlier->life);
        return;
    }
    if (facts->incomplete) {
        wait_for_provider(engine, entity, facts);
        return;
    }
    conclude_absence(engine, entity);
}

/* It is there. After an accepted DELETE that is a failure, unless it is on its way out. */
static void
absorb_presence(struct slu_engine *engine, struct slu_entity *entity, const struct slu_facts *facts)
{
    struct slu_motion *motion = entity->motion;
    motion->gone_by_id = false;
    set_life(engine, entity, facts->seen[0].life);
    if (motion->main.action != SLU_ACTION_DELETE || motion->main.id)
        return;
    if (entity->life != SLU_LIFE_STOPPING || is_past_deadline(engine, entity, SLU_ACTION_DELETE)) {
        fail(engine, entity, SLU_ACTION_DELETE, facts);
        return;
    }
    motion->retry_at_ms = engine->now_ms + slu_backoff_ms(1, 0, &engine->random);
}

static void
absorb_look(struct slu_engine *engine, struct slu_entity *entity, const struct slu_facts *facts)
{
    struct slu_motion *motion = entity->motion;
    const bool by_label = motion->look_by_label;
    motion->look_id = 0;
    if (facts->outcome == SLU_OUTCOME_GONE && !by_label) {
        motion->gone_by_id = true;
        motion->look_failures = 0;
        /* Calls without an answer may still act until their time-out: the second look waits. */
        motion->retry_at_ms =
            motion->unanswered_until_ms > engine->now_ms ? motion->unanswered_until_ms : 0;
        set_life(engine, entity, SLU_LIFE_UNKNOWN);
        return;
    }
    if (facts->outcome != SLU_OUTCOME_DONE) {
        const uint16_t before = motion->look_failures;
        wait_for_provider(engine, entity, facts);
        if (before < motion->look_failures && motion->look_failures == 3)
            slu_mark_dirty(engine, entity); /* Ready becomes Unknown. */
        return;
    }
    const bool was_unknown = motion->look_failures >= 3;
    motion->look_failures = 0;
    motion->retry_at_ms = motion->failures ? motion->retry_at_ms : 0;
    if (was_unknown)
        slu_mark_dirty(engine, entity);
    if (by_label)
        absorb_look_by_label(engine, entity, facts);
    else if (facts->seen_count > 0)
        absorb_presence(engine, entity, facts);
}

/* --- calls --------------------------------------------------------------------------------------
 */

static void
absorb_done(struct slu_engine *engine,
            struct slu_entity *entity,
            const struct slu_open_call *open,
            const struct slu_facts *facts)
{
    switch (open->action) {
    case SLU_ACTION_CREATE:
        absorb_create(engine, entity, open, facts);
        break;
    case SLU_ACTION_RESUME:
        absorb_resume(engine, entity, open, facts);
        break;
    case SLU_ACTION_PAUSE:
        absorb_pause(engine, entity);
        break;
    case SLU_ACTION_DELETE:
        absorb_delete(engine, entity, false);
        break;
    case SLU_ACTION_INIT:
        absorb_init(engine, entity, open, facts);
        break;
    case SLU_ACTION_NONE:
    case SLU_ACTION_INSPECT:
    case SLU_ACTION_CHECKPOINT:
    case SLU_ACTION_REWIND:
    case SLU_ACTION_RESTORE:
    case SLU_ACTION_EXTEND:
    case SLU_ACTION_COUNT:
        break;
    }
}

static void
absorb_main(struct slu_engine *engine,
            struct slu_entity *entity,
            const struct slu_open_call *open,
            const struct slu_facts *facts)
{
    struct slu_motion *motion = entity->motion;
    motion->main.id = 0; /* The fact stays in status until the decision is done or dropped. */
    switch (facts->outcome) {
    case SLU_OUTCOME_DONE:
        absorb_done(engine, entity, open, facts);
        break;
    case SLU_OUTCOME_GONE:
        absorb_delete(engine, entity, true);
        break;
    case SLU_OUTCOME_BUSY:
        fail(engine, entity, open->action, facts);
        if (open->action != SLU_ACTION_CREATE)
            set_life(engine, entity, SLU_LIFE_UNKNOWN);
        break;
    case SLU_OUTCOME_AMBIGUOUS:
        mark_unanswered(engine, entity, open->action);
        fail(engine, entity, open->action, facts);
        set_life(engine, entity, SLU_LIFE_UNKNOWN);
        if (open->action == SLU_ACTION_RESUME)
            entity->lease_given_seconds = LEASE_UNKNOWN;
        if (open->uid_offset != entity->uid_offset) /* Of an earlier life: not to be repeated. */
            motion->main = (struct slu_waiting){0};
        break;
    case SLU_OUTCOME_PERMANENT:
        motion->create_spent = open->action == SLU_ACTION_CREATE;
        fail(engine, entity, open->action, facts);
        set_life(engine, entity, SLU_LIFE_UNKNOWN);
        break;
    case SLU_OUTCOME_NEVER_SENT:
    case SLU_OUTCOME_CAPACITY:
    case SLU_OUTCOME_REJECTED:
    case SLU_OUTCOME_COUNT:
        wait_for_provider(engine, entity, facts);
        if (open->action == SLU_ACTION_CREATE && !motion->unanswered_until_ms)
            entity->life = SLU_LIFE_ABSENT; /* Nothing was made. */
        break;
    }
}

static void
absorb_side(struct slu_engine *engine,
            struct slu_entity *entity,
            const struct slu_open_call *open,
            const struct slu_facts *facts)
{
    struct slu_motion *motion = entity->motion;
    const bool of_bound =
        open->uid_offset == entity->uid_offset && open->incarnation == entity->instance_incarnation;
    motion->side.id = 0;
    /* Overtaken, and now answered; or about an instance that is bound no more. */
    if (open->action != SLU_ACTION_EXTEND || !of_bound) {
        motion->side = (struct slu_waiting){0};
        slu_mark_dirty(engine, entity);
        if (facts->outcome == SLU_OUTCOME_AMBIGUOUS)
            mark_unanswered(engine, entity, open->action);
        return;
    }
    motion->extend_retry_at_ms = 0;
    if (facts->outcome == SLU_OUTCOME_DONE) {
        motion->side = (struct slu_waiting){0};
        take_lease(engine, entity, open->lease_seconds);
        slu_mark_dirty(engine, entity);
        return;
    }
    motion->extend_retry_at_ms =
        engine->now_ms + slu_backoff_ms(4, facts->retry_after_ms, &engine->random);
    if (facts->outcome == SLU_OUTCOME_GONE) {
        motion->gone_by_id = true;
        set_life(engine, entity, SLU_LIFE_UNKNOWN);
    }
}

static void
note_outcome(struct slu_engine *engine,
             const struct slu_entity *entity,
             const struct slu_open_call *open,
             const struct slu_facts *facts)
{
    slu_note_add(engine, &(struct slu_note){
                             .event = "outcome",
                             .key = slu_entity_text(entity, SLU_TEXT_KEY),
                             .action = slu_action_names[open->action],
                             .outcome = slu_outcome_names[facts->outcome],
                             .life = slu_life_names[entity->life],
                             .message = facts->message,
                             .generation = entity->generation,
                             .incarnation = entity->incarnation,
                             .converged_after_ms = -1,
                             .warning = facts->outcome != SLU_OUTCOME_DONE &&
                                        facts->outcome != SLU_OUTCOME_GONE,
                         });
}

static void
absorb_surplus(struct slu_engine *engine, struct slu_entity *entity, const struct slu_facts *facts)
{
    const bool done = facts->outcome == SLU_OUTCOME_DONE || facts->outcome == SLU_OUTCOME_GONE;
    if (done)
        slu_emit(engine, entity, "surplus_deleted", "SecondInstance", "");
}

void
slu_engine_answer(struct slu_engine *engine,
                  uint64_t call_id,
                  const struct slu_facts *facts,
                  int64_t now_ms)
{
    if (now_ms > engine->now_ms)
        engine->now_ms = now_ms;
    const struct slu_open_call *found = slu_open_find(engine, call_id);
    if (!found)
        return;
    const struct slu_open_call open = *found;
    struct slu_entity *entity = open.entity;
    slu_open_remove(engine, call_id);
    engine->counters.facts++;

    struct slu_motion *motion = entity->motion;
    if (open.surplus)
        absorb_surplus(engine, entity, facts);
    else if (motion && motion->look_id == call_id)
        absorb_look(engine, entity, facts);
    else if (motion && motion->main.id == call_id)
        absorb_main(engine, entity, &open, facts);
    else if (motion && motion->side.id == call_id)
        absorb_side(engine, entity, &open, facts);
    note_outcome(engine, entity, &open, facts);
    slu_plan_soon(engine, entity);
}
