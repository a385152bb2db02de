/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a sandbox's states, and its wish as numbers. */
#include "slu/model/sandbox.h"

#include "slu/base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const slu_wish_names[SLU_WISH_COUNT] = {
    [SLU_WISH_RUNNING] = "running",
    [SLU_WISH_PAUSED] = "paused",
    [SLU_WISH_STOPPED] = "stopped",
    [SLU_WISH_DELETED] = "deleted",
};

const char *const slu_goal_names[SLU_GOAL_COUNT] = {
    [SLU_GOAL_RUNNING] = "running",
    [SLU_GOAL_PAUSED] = "paused",
    [SLU_GOAL_GONE] = "gone",
};

const char *const slu_life_names[SLU_LIFE_COUNT] = {
    [SLU_LIFE_UNKNOWN] = "unknown",   [SLU_LIFE_ABSENT] = "absent",
    [SLU_LIFE_STARTING] = "starting", [SLU_LIFE_RUNNING] = "running",
    [SLU_LIFE_PAUSING] = "pausing",   [SLU_LIFE_PAUSED] = "paused",
    [SLU_LIFE_RESUMING] = "resuming", [SLU_LIFE_STOPPING] = "stopping",
    [SLU_LIFE_GONE] = "gone",         [SLU_LIFE_FAILED] = "failed",
};

const char *const slu_action_names[SLU_ACTION_COUNT] = {
    [SLU_ACTION_NONE] = "none",     [SLU_ACTION_INSPECT] = "inspect",
    [SLU_ACTION_CREATE] = "create", [SLU_ACTION_RESUME] = "resume",
    [SLU_ACTION_PAUSE] = "pause",   [SLU_ACTION_DELETE] = "delete",
    [SLU_ACTION_INIT] = "init",     [SLU_ACTION_CHECKPOINT] = "checkpoint",
    [SLU_ACTION_REWIND] = "rewind", [SLU_ACTION_RESTORE] = "restore",
    [SLU_ACTION_EXTEND] = "extend",
};

const char *const slu_phase_names[SLU_PHASE_COUNT] = {
    [SLU_PHASE_PENDING] = "pending",   [SLU_PHASE_STARTING] = "starting",
    [SLU_PHASE_RUNNING] = "running",   [SLU_PHASE_PAUSING] = "pausing",
    [SLU_PHASE_PAUSED] = "paused",     [SLU_PHASE_RESUMING] = "resuming",
    [SLU_PHASE_STOPPING] = "stopping", [SLU_PHASE_STOPPED] = "stopped",
    [SLU_PHASE_EXPIRED] = "expired",   [SLU_PHASE_LOST] = "lost",
    [SLU_PHASE_FAILED] = "failed",     [SLU_PHASE_DELETING] = "deleting",
    [SLU_PHASE_DELETED] = "deleted",
};

static_assert(SLU_WISH_COUNT == 4 && SLU_GOAL_COUNT == 3 && SLU_LIFE_COUNT == 10 &&
                  SLU_ACTION_COUNT == 11 && SLU_PHASE_COUNT == 13,
              "a new value needs its word");

int
slu_name_index(const char *const *names, int count, const char *text)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], text) == 0)
            return i;
    }
    return -1;
}

static int64_t
read_int(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static bool
read_bool(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

static void
read_init(const json_t *session, struct slu_sandbox_wish *wish)
{
    const json_t *commands = json_object_get(json_object_get(session, "init"), "commands");
    wish->init_count = (int32_t) json_array_size(commands);
    if (wish->init_count == 0)
        return;

    char *text = json_dumps(commands, JSON_COMPACT);
    assert(text); /* Decoded, hence valid. */
    wish->init_hash = slu_hash64(text, strlen(text));
    free(text);
}

void
slu_sandbox_wish_read(const json_t *spec, struct slu_sandbox_wish *ret_wish)
{
    const json_t *session = json_object_get(spec, "session");
    const char *state = json_string_value(json_object_get(spec, "state"));
    const char *recovery = json_string_value(json_object_get(spec, "recovery"));
    const int wish = state ? slu_name_index(slu_wish_names, SLU_WISH_COUNT, state) : -1;
    assert(wish >= 0 && recovery);

    *ret_wish = (struct slu_sandbox_wish){
        .state = (enum slu_wish) wish,
        .ttl_ms = read_int(spec, "ttlMs"),
        .expires_at_ms = read_int(spec, "expiresAtMs"),
        .ttl_paused_time_counts = read_bool(spec, "ttlPausedTimeCounts"),
        .has_session = session,
        .auto_start = !session || read_bool(session, "autoStart"),
        .idle_pause = session && read_bool(session, "idlePauseEnabled"),
        .idle_pause_after_seconds = (int32_t) read_int(session, "idlePauseAfterSeconds"),
        .resume_on_use = read_bool(spec, "resumeOnUse"),
        .recovery = strcmp(recovery, "manual") == 0 ? SLU_RECOVERY_MANUAL : SLU_RECOVERY_REPLACE,
        .provider_lease_seconds = (int32_t) read_int(spec, "providerLeaseSeconds"),
    };
    read_init(session, ret_wish);
}
