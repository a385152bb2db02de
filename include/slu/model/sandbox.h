/* SPDX-License-Identifier: Apache-2.0 */
/* The nouns of a sandbox: what is wished, what was seen, what can be done. */
#ifndef SLU_MODEL_SANDBOX_H
#define SLU_MODEL_SANDBOX_H

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

/* spec.state */
enum slu_wish {
    SLU_WISH_RUNNING,
    SLU_WISH_PAUSED,
    SLU_WISH_STOPPED,
    SLU_WISH_DELETED,
    SLU_WISH_COUNT,
};

/* What the planner steers to: the wish, bent by deadline, idleness and lazy start. */
enum slu_goal {
    SLU_GOAL_RUNNING,
    SLU_GOAL_PAUSED,
    SLU_GOAL_GONE,
    SLU_GOAL_COUNT,
};

/* What the provider said last (behaviour.md §2). Only an answer sets it. */
enum slu_life {
    SLU_LIFE_UNKNOWN, /* Never asked, or a call ended without an answer. */
    SLU_LIFE_ABSENT,  /* Nothing was ever made for this incarnation, and a look confirmed it. */
    SLU_LIFE_STARTING,
    SLU_LIFE_RUNNING,
    SLU_LIFE_PAUSING,
    SLU_LIFE_PAUSED,
    SLU_LIFE_RESUMING,
    SLU_LIFE_STOPPING,
    SLU_LIFE_GONE, /* It was there and a positive answer says it is no more. */
    SLU_LIFE_FAILED,
    SLU_LIFE_COUNT,
};

enum slu_action {
    SLU_ACTION_NONE,
    SLU_ACTION_INSPECT,
    SLU_ACTION_CREATE,
    SLU_ACTION_RESUME,
    SLU_ACTION_PAUSE,
    SLU_ACTION_DELETE,
    SLU_ACTION_INIT,
    SLU_ACTION_CHECKPOINT,
    SLU_ACTION_REWIND,
    SLU_ACTION_RESTORE,
    SLU_ACTION_EXTEND,
    SLU_ACTION_COUNT,
};

/* status.phase (contract-map §3.0, §4). */
enum slu_phase {
    SLU_PHASE_PENDING,
    SLU_PHASE_STARTING,
    SLU_PHASE_RUNNING,
    SLU_PHASE_PAUSING,
    SLU_PHASE_PAUSED,
    SLU_PHASE_RESUMING,
    SLU_PHASE_STOPPING,
    SLU_PHASE_STOPPED,
    SLU_PHASE_EXPIRED,
    SLU_PHASE_LOST,
    SLU_PHASE_FAILED,
    SLU_PHASE_DELETING,
    SLU_PHASE_DELETED,
    SLU_PHASE_COUNT,
};

extern const char *const slu_wish_names[SLU_WISH_COUNT];
extern const char *const slu_goal_names[SLU_GOAL_COUNT];
extern const char *const slu_life_names[SLU_LIFE_COUNT];
extern const char *const slu_action_names[SLU_ACTION_COUNT]; /* "create", … as in `pending`. */
extern const char *const slu_phase_names[SLU_PHASE_COUNT];
int slu_name_index(const char *const *names, int count, const char *text); /* −1 when none. */

enum slu_recovery {
    SLU_RECOVERY_REPLACE,
    SLU_RECOVERY_MANUAL
};

/* What planning needs of a sandbox's spec, as numbers: read once per accepted generation. */
struct slu_sandbox_wish {
    enum slu_wish state;
    int64_t ttl_ms;        /* 0: expires_at_ms is given instead. */
    int64_t expires_at_ms; /* 0: ttl_ms is given instead. */
    bool ttl_paused_time_counts;
    bool has_session;
    bool auto_start;
    bool idle_pause; /* Session present and idlePauseEnabled. */
    int32_t idle_pause_after_seconds;
    bool resume_on_use;
    enum slu_recovery recovery;
    int32_t provider_lease_seconds;
    int32_t init_count; /* Commands in session.init. */
    uint64_t init_hash; /* slu_hash64 of the commands' JSON text; 0 when there are none. */
};

/* `spec` is decoded (document.h). */
void slu_sandbox_wish_read(const json_t *spec, struct slu_sandbox_wish *ret_wish);

#endif
