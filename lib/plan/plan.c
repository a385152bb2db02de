/* SPDX-License-Identifier: Apache-2.0 */
#include "slu/plan/plan.h"

#include <assert.h>

#define ROW(goal, unknown, absent, starting, running, pausing, paused, resuming, stopping, gone,  \
            failed)                                                                               \
    [SLU_GOAL_##goal] = {                                                                         \
        [SLU_LIFE_UNKNOWN] = SLU_ACTION_##unknown,   [SLU_LIFE_ABSENT] = SLU_ACTION_##absent,     \
        [SLU_LIFE_STARTING] = SLU_ACTION_##starting, [SLU_LIFE_RUNNING] = SLU_ACTION_##running,   \
        [SLU_LIFE_PAUSING] = SLU_ACTION_##pausing,   [SLU_LIFE_PAUSED] = SLU_ACTION_##paused,     \
        [SLU_LIFE_RESUMING] = SLU_ACTION_##resuming, [SLU_LIFE_STOPPING] = SLU_ACTION_##stopping, \
        [SLU_LIFE_GONE] = SLU_ACTION_##gone,         [SLU_LIFE_FAILED] = SLU_ACTION_##failed,     \
    }

/* The whole policy on one screen: what to do for a goal, given the life last seen. */
/* clang-format off */
static const enum slu_action policy[SLU_GOAL_COUNT][SLU_LIFE_COUNT] = {
    /*  goal     unknown  absent  starting running pausing  paused  resuming stopping gone    failed */
    ROW(RUNNING, INSPECT, CREATE, INSPECT, NONE,   INSPECT, RESUME, INSPECT, INSPECT, CREATE, DELETE),
    ROW(PAUSED,  INSPECT, NONE,   INSPECT, PAUSE,  INSPECT, NONE,   INSPECT, INSPECT, NONE,   DELETE),
    ROW(GONE,    INSPECT, NONE,   DELETE,  DELETE, DELETE,  DELETE, DELETE,  DELETE,  NONE,   DELETE),
};

/* clang-format on */
#undef ROW
static_assert(SLU_LIFE_COUNT == 10, "a new life needs a column in ROW");
static_assert(SLU_GOAL_COUNT == 3, "a new goal needs a row");

enum slu_goal
slu_goal_of(const struct slu_goal_facts *facts)
{
    if (facts->expired || facts->wish == SLU_WISH_STOPPED || facts->wish == SLU_WISH_DELETED)
        return SLU_GOAL_GONE;
    if (facts->wish == SLU_WISH_PAUSED)
        return facts->resume_on_use && facts->active ? SLU_GOAL_RUNNING : SLU_GOAL_PAUSED;
    if (facts->idle)
        return SLU_GOAL_PAUSED;
    /* Not started yet: what is absent stays so, which is what the goal PAUSED does. */
    return facts->auto_start || facts->started ? SLU_GOAL_RUNNING : SLU_GOAL_PAUSED;
}

static bool
is_on_its_way(enum slu_life life)
{
    return life == SLU_LIFE_STARTING || life == SLU_LIFE_PAUSING || life == SLU_LIFE_RESUMING ||
           life == SLU_LIFE_STOPPING;
}

/* Nothing is there, by a positive answer: no look can find out more. */
static bool
is_settled(enum slu_life life)
{
    return life == SLU_LIFE_ABSENT || life == SLU_LIFE_GONE;
}

static struct slu_plan
wait_until(int64_t at_ms, const char *reason)
{
    return (struct slu_plan){.look_again_at_ms = at_ms, .reason = reason};
}

struct slu_plan
slu_plan_next(const struct slu_situation *situation, int64_t now_ms)
{
    assert(situation->goal < SLU_GOAL_COUNT);
    assert(situation->life < SLU_LIFE_COUNT);

    if (situation->call_in_flight)
        return wait_until(INT64_MAX, "a call is in flight");
    if (now_ms < situation->parked_until_ms)
        return wait_until(situation->parked_until_ms, "parked");
    if (now_ms < situation->retry_at_ms)
        return wait_until(situation->retry_at_ms, "backing off");

    const enum slu_life life = situation->life;
    const int64_t stale_at_ms = situation->seen_at_ms + situation->resync_ms;
    const int64_t poll_at_ms = situation->seen_at_ms + SLU_POLL_MS;
    enum slu_action action = policy[situation->goal][life];

    if (action == SLU_ACTION_INSPECT && is_on_its_way(life) && now_ms < poll_at_ms)
        return wait_until(poll_at_ms, "on its way");
    if (situation->held && (action == SLU_ACTION_CREATE || action == SLU_ACTION_RESUME))
        return wait_until(INT64_MAX, "held");
    if (action == SLU_ACTION_NONE && situation->init_due && life == SLU_LIFE_RUNNING)
        action = SLU_ACTION_INIT;
    if (action != SLU_ACTION_NONE)
        return (struct slu_plan){action, false, INT64_MAX, "goal and life"};

    if (is_settled(life))
        return wait_until(INT64_MAX, "as wanted");
    if (now_ms >= stale_at_ms)
        return (struct slu_plan){SLU_ACTION_INSPECT, true, INT64_MAX, "last seen too long ago"};
    return wait_until(stale_at_ms, "as wanted");
}
