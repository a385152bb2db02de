/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and facts: what the engine asks of a provider, and what an answer taught it. Data only; the
 * engine makes calls and reads facts, lib/provider translates both, the shell carries them. */
#ifndef SLU_MODEL_CALL_H
#define SLU_MODEL_CALL_H

#include "slu/model/key.h"
#include "slu/model/sandbox.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SLU_EXTERNAL_ID_MAX = 128,
    SLU_IDEMPOTENCY_KEY_SIZE = 45, /* "slu-" + 40 hex + NUL. */
    SLU_UID_SIZE = 40,             /* "<shard>-<offset>". */
    SLU_SEEN_MAX = 16,
    SLU_FACTS_MESSAGE_MAX = 511,
};

/* One operation on one resource, complete in itself: what the engine decided, with everything a
 * provider needs to write it down. Owned by whoever holds it; slu_call_free. */
struct slu_call {
    uint64_t id; /* Unique in one engine; comes back with the facts. */
    enum slu_action action;
    bool by_label;     /* INSPECT without a known external id: look up by labels. */
    bool changes;      /* False for INSPECT: may leave before its cause is committed. */
    bool low_lane;     /* Resync work: behind everything a user waits for. */
    char *provider;    /* Configured instance name. */
    char *key;         /* "sandbox/sbx-1". */
    char *external_id; /* "" when unknown. */
    char uid[SLU_UID_SIZE];
    int64_t incarnation; /* Of the instance the call is about: its label. */
    int64_t call;        /* status.call, for the idempotency key. */
    char idempotency_key[SLU_IDEMPOTENCY_KEY_SIZE];
    char name[SLU_IDEMPOTENCY_KEY_SIZE];
    char *tenant;
    char *project;
    char *session_id; /* "" without a session. */
    char *cluster;    /* Cluster uid: label and fence. */
    int shard;
    int64_t epoch;
    char *spec; /* CREATE, INIT, RESUME: canonical spec JSON (document.h); else NULL. */
    int32_t lease_seconds;
    int32_t init_index; /* INIT: which command, from 0. */
    char init_hash[17]; /* INIT: hex of the wish's init_hash: names the marker folder. */
    int64_t timeout_ms;
};

struct slu_call *slu_call_copy(const struct slu_call *call);
void slu_call_free(struct slu_call *call);

/* How a call ended, in the words the engine reacts to (providers.md §6). */
enum slu_outcome {
    SLU_OUTCOME_DONE,       /* As wished, or already so. */
    SLU_OUTCOME_GONE,       /* A positive answer: no such instance. Only for looks and for calls on
                               an instance. */
    SLU_OUTCOME_BUSY,       /* Being changed: retry with backoff. Nothing was done. */
    SLU_OUTCOME_NEVER_SENT, /* Nothing left this machine. */
    SLU_OUTCOME_AMBIGUOUS,  /* May have happened: look before anything else. */
    SLU_OUTCOME_CAPACITY,   /* Quota, rate limit: slow retry, not a failure of the resource. */
    SLU_OUTCOME_PERMANENT,  /* The same call will fail the same way: park. Nothing was done. */
    SLU_OUTCOME_REJECTED,   /* The fence refused us: a newer leader exists. */
    SLU_OUTCOME_COUNT,
};

extern const char *const slu_outcome_names[SLU_OUTCOME_COUNT];

/* One instance as a look showed it. */
struct slu_seen {
    char external_id[SLU_EXTERNAL_ID_MAX + 1];
    enum slu_life life;
    char key[SLU_KEY_MAX + 1]; /* Labels; "" when it carries none of ours. */
    char uid[SLU_UID_SIZE];
    int64_t incarnation;
    int64_t lease_expires_at_ms; /* By the provider's clock; 0 unknown. */
};

/* What a call taught us. Plain bytes: copy freely. */
struct slu_facts {
    enum slu_outcome outcome;
    struct slu_seen seen[SLU_SEEN_MAX]; /* CREATE, RESUME, INSPECT by id: exactly one when DONE. By
                                           label: all that carry this key in this cluster. */
    int seen_count;
    bool incomplete; /* By label: the list could not be read to its end, or filters were ignored:
                        absence proves nothing. */
    char workspace_path[256];
    bool has_exit;
    int32_t exit_code; /* INIT. */
    int64_t retry_after_ms;
    char message[SLU_FACTS_MESSAGE_MAX + 1]; /* For people; never a secret. */
};

#endif
