/* SPDX-License-Identifier: Apache-2.0 */
/* The planner: from what is wanted and what was seen to the one next action (behaviour.md §2).
 *
 * Pure. It reads no clock, does no I/O, allocates nothing and keeps no state, so that the same
 * arguments always give the same plan. lib/engine carries plans out. */
#ifndef SLU_PLAN_PLAN_H
#define SLU_PLAN_PLAN_H

#include "slu/model/sandbox.h"

#include <stdbool.h>
#include <stdint.h>

/* What bends a wish into a goal. */
struct slu_goal_facts {
    enum slu_wish wish;
    bool expired;       /* The deadline acted: final. */
    bool idle;          /* detail.idle: paused for idleness until first use. */
    bool auto_start;    /* False: nothing is made before first use. */
    bool started;       /* detail.started: first use happened. */
    bool resume_on_use; /* A wish `paused` yields to use. */
    bool active;        /* A session is active now. */
};

enum slu_goal slu_goal_of(const struct slu_goal_facts *facts);

/* Everything the planner looks at. */
struct slu_situation {
    enum slu_goal goal;
    enum slu_life life;
    bool call_in_flight;     /* … that the goal may not overtake. */
    bool held;               /* Nothing may be made or woken: Blocked, or recovery by hand. */
    bool init_due;           /* Running, and some init command has not completed. */
    int64_t parked_until_ms; /* 0: not parked. */
    int64_t retry_at_ms;     /* Backing off until then; 0: not. */
    int64_t seen_at_ms;      /* When the provider said `life`; 0: never. */
    int64_t resync_ms;       /* A known life is looked at again after this long. */
};

struct slu_plan {
    enum slu_action action;
    bool resync;              /* The look is routine: low lane. */
    int64_t look_again_at_ms; /* When to plan again if no fact comes first; INT64_MAX: never. */
    const char *reason;       /* A literal, for the log and the status message. */
};

enum {
    SLU_POLL_MS = 500
}; /* Between looks at a life that is on its way. */

struct slu_plan slu_plan_next(const struct slu_situation *situation, int64_t now_ms);

#endif
