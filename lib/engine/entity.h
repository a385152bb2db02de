/* SPDX-License-Identifier: Apache-2.0 */
/* One resource as the engine keeps it: small at rest (design.md §13: 1 KB with a 500-byte spec),
 * with a separate piece of memory while something is going on. Private to lib/engine. */
#ifndef SLU_ENGINE_ENTITY_H
#define SLU_ENGINE_ENTITY_H

#include "slu/base/hash.h"
#include "slu/model/call.h"
#include "slu/model/json_slice.h"
#include "slu/model/key.h"
#include "slu/model/sandbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slu_condition {
    SLU_CONDITION_READY,
    SLU_CONDITION_ACCEPTED,
    SLU_CONDITION_PROGRESSING,
    SLU_CONDITION_INITIALIZED,
    SLU_CONDITION_RECOVERABLE,
    SLU_CONDITION_BLOCKED,
    SLU_CONDITION_COUNT,
};

enum slu_truth {
    SLU_TRUTH_UNSET,
    SLU_TRUTH_TRUE,
    SLU_TRUTH_FALSE,
    SLU_TRUTH_UNKNOWN
};

/* Scope strings, shared by every entity of the scope. */
struct slu_scope {
    char *tenant;
    char *project;
};

/* The strings of an entity, in one allocation. Order of the texts: enum slu_text. */
enum slu_text {
    SLU_TEXT_KEY,
    SLU_TEXT_SPEC,        /* Canonical JSON of the accepted spec. */
    SLU_TEXT_EXTERNAL_ID, /* Of the bound instance; "" when none. */
    SLU_TEXT_CE_ID,       /* Of the record that created this life. */
    SLU_TEXT_WORKSPACE,   /* Path inside the sandbox. */
    SLU_TEXT_INIT_ERROR,  /* lastInitError; "" when none. */
    SLU_TEXT_UNKNOWN,     /* Status members of a newer version: JSON members, kept as they are. */
    SLU_TEXT_COUNT,
};

struct slu_texts {
    uint32_t offset[SLU_TEXT_COUNT + 1]; /* Of each text in `bytes`; each ends with a NUL. */
    char bytes[];
};

/* A call the entity waits for. `action` NONE: none. */
struct slu_waiting {
    uint64_t id;   /* 0: decided by an earlier leader, or answered: only its fact is left. */
    uint32_t call; /* Its number. */
    uint8_t action;
    int64_t since_ms; /* When it was decided. */
};

/* What exists only while something goes on; freed when the entity comes to rest. */
struct slu_motion {
    struct slu_waiting main; /* The call that carries the goal on. */
    struct slu_waiting side; /* EXTEND beside it, or what a DELETE overtook. */
    uint64_t look_id;        /* An INSPECT in flight; 0: none. */
    bool look_by_label;
    bool gone_by_id;       /* A look by id said gone; the look by label is still to come. */
    bool redriven;         /* Asked by hand to go on: overrules recovery by hand. */
    bool lost_recorded;    /* Phase lost is written: a replacement may be made. */
    bool recovering;       /* The next running is a recovery, and says so. */
    bool create_spent;     /* The incarnation's one CREATE failed for good: take the next. */
    uint8_t failed_action; /* Of the failures in a row. */
    uint16_t failures;
    uint16_t look_failures;
    uint16_t init_index; /* Next init command. */
    int64_t retry_at_ms;
    int64_t extend_retry_at_ms;
    int64_t parked_until_ms;
    int64_t started_at_ms;       /* When the transition under way began: for its deadline. */
    int64_t unanswered_until_ms; /* Until then a changing call without an answer may still act. */
    int64_t changed_at_ms;       /* Append time of the wish being carried out; 0: none. */
    int64_t lost_at_ms;
    uint32_t lost_incarnation;
    char lost_external_id[SLU_EXTERNAL_ID_MAX + 1];
    char body_sha256[65]; /* Of the frozen CREATE body; "" when none is open. */
    char parked_reason[48];
    char message[256]; /* Of the last failure, for people. */
};

struct slu_entity {
    struct slu_texts *texts;
    const struct slu_scope *scope;
    struct slu_motion *motion;      /* NULL at rest. */
    struct slu_entity *parent;      /* Checkpoint: its sandbox. */
    struct slu_entity *first_child; /* Sandbox: its checkpoints. */
    struct slu_entity *next_sibling;
    struct slu_hash128 raw_hash; /* Of the raw value accepted last; zero: none to compare. */
    uint8_t created_sha256[32];

    int64_t uid_offset;
    int64_t generation;
    int64_t fence_epoch;
    int64_t fence_offset;  /* Desired offset of the record accepted last. */
    int64_t origin_ms;     /* Append time of that record at its first writing. */
    int64_t created_at_ms; /* First admission of this life. */
    int64_t updated_at_ms;
    int64_t expires_at_ms; /* 0: never (other kinds). */
    int64_t last_active_at_ms;
    int64_t active_until_ms;      /* A session is active until then; 0: none. */
    int64_t active_told_until_ms; /* … as status says. */
    int64_t paused_since_ms;      /* 0: not paused. */
    int64_t paused_total_ms;
    int64_t lease_refreshed_at_ms;
    int64_t init_completed_at_ms;
    int64_t session_created_at_ms; /* Of the first instance; 0: none yet. */
    int64_t seen_at_ms;            /* When the provider said `life`; 0: not by this leader. */
    int64_t due_at_ms;
    int64_t condition_at_ms[SLU_CONDITION_COUNT];
    uint64_t init_hash;      /* Of the wish's commands; 0: none. */
    uint64_t init_done_hash; /* Of the commands completed on the bound instance. */

    int32_t uid_shard;
    uint32_t incarnation;
    uint32_t instance_incarnation; /* Label of the bound instance. */
    uint32_t init_incarnation;     /* The instance init completed on. */
    uint32_t transition;
    uint32_t call;
    int32_t idle_pause_after_seconds;
    int32_t lease_seconds;       /* As wished. */
    int32_t lease_given_seconds; /* Of the lease in place. */
    uint32_t due_index;          /* Place in the due heap, from 1; 0: not in it. */
    uint16_t init_count;
    uint16_t init_attempts;
    int16_t init_failed_command; /* Number of the command that failed, from 1; 0: none. */
    int16_t provider;            /* Index of the instance; −1: not configured any more. */
    uint8_t kind;
    uint8_t phase;
    uint8_t life;
    uint8_t wish;
    uint8_t session_status;                 /* enum slu_life: running, paused, or gone for lost. */
    uint8_t condition[SLU_CONDITION_COUNT]; /* enum slu_truth as last written. */

    bool raw_is_plain : 1; /* The raw value had no ifGeneration: an equal one is a repeat. */
    bool dirty : 1;        /* Its status is in the batch being collected. */
    bool expired : 1;
    bool idle : 1;
    bool started : 1;
    bool auto_start : 1;
    bool idle_pause : 1;
    bool resume_on_use : 1;
    bool manual_recovery : 1;
    bool paused_time_counts : 1;
    bool retiring : 1;   /* The bound instance belongs to an ended life: DELETE it first. */
    bool references : 1; /* The spec names other resources: held until they are served. */
    bool rewind_wished : 1;
    bool soon : 1;           /* Planned for a fact that is counted already, not for its time. */
    bool hinted : 1;         /* `life` was read back from the cache: look before any change. */
    bool awaits_reading : 1; /* A deadline passed; the log must first be read up to it. */
};

const char *slu_entity_text(const struct slu_entity *entity, enum slu_text text);
size_t slu_entity_text_size(const struct slu_entity *entity, enum slu_text text);
struct slu_slice slu_entity_spec(const struct slu_entity *entity);
void
slu_entity_set_text(struct slu_entity *entity, enum slu_text text, const char *bytes, size_t size);

struct slu_entity *slu_entity_new(const char *key, size_t key_size);
void slu_entity_free(struct slu_entity *entity);

struct slu_motion *slu_entity_motion(struct slu_entity *entity); /* Makes it when at rest. */

/* Takes what planning needs out of a decoded spec. */
void slu_entity_take_wish(struct slu_entity *entity, const json_t *spec);

/* Content hash of the creating document, as 64 lower-case hex digits. */
void slu_entity_set_created_hex(struct slu_entity *entity, const char hex[65]);
void slu_entity_created_hex(const struct slu_entity *entity, char ret_hex[65]);
void slu_entity_uid(const struct slu_entity *entity, char ret_uid[SLU_UID_SIZE]);
bool slu_entity_has_instance(const struct slu_entity *entity);

#endif
