/* SPDX-License-Identifier: Apache-2.0 */
/* What must be true, kept by somebody who sees everything and calls nothing of lib/plan or
 * lib/engine: the committed log, the provider's instances, and a plain re-telling of admission. */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "group_model.h"
#include "property.h"
#include "provider_model.h"
#include "slu/engine/engine.h"
#include "wishes.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SIM_PENDING_MAX = 3,
};

/* A status document, as far as the properties care. */
struct sim_status {
    bool exists;
    char uid[SLU_UID_SIZE];
    int64_t generation, incarnation, transition, call, epoch;
    char phase[16];
    char state[16]; /* spec.state */
    char external_id[24];
    bool idle;
    bool init_completed;

    struct {
        enum slu_action action;
        int64_t call;
    } pending[SIM_PENDING_MAX];

    int pending_count;
};

/* A changing call that was committed, with what the status said then. */
struct sim_cause {
    enum slu_action action;
    int64_t call;
    char uid[SLU_UID_SIZE];
    char external_id[24];
    int64_t incarnation;
    bool wanted;
};

struct sim_life_events {
    char uid[SLU_UID_SIZE];
    int64_t last; /* Number of the newest transition event. */
};

/* One id, as admission leaves it (design.md §4). */
struct sim_admitted {
    bool kept; /* A status document exists. */
    bool deleted, stopped, expired;
    int64_t generation;
    struct sim_shape shape, created_shape;
    int64_t created_ce;
    int64_t created_ms;
    int64_t last_origin_ms;
    int64_t last_active_ms, active_until_ms;
    int64_t active_epoch; /* Of the leader that judged the newest activity. */
    bool started;
};

struct sim_subject {
    struct sim_admitted admitted;
    struct sim_status status;
    struct sim_cause *causes;
    size_t cause_count, cause_capacity;
    struct sim_life_events life;
    int64_t gone_at_ms; /* When phase deleted was committed; 0: not. */
    bool ever_bound;
};

struct sim_leader {
    int64_t epoch, seq;
    char owner[16];
    int64_t began_ms[SIM_REPLICAS_MAX]; /* Of each replica's newest committed transaction. */
};

struct sim_oracle {
    struct sim_subject subjects[SIM_KEYS_MAX];
    struct sim_leader leaders[SIM_SHARDS_MAX];
    int64_t events, statuses, deadletters; /* Committed. */
    int64_t quiet_statuses;                /* … that changed nothing a user sees. */
    int64_t plans_before, facts_before;    /* At the beginning of the silence. */
};

void sim_oracle_done(struct sim_oracle *oracle);

/* As things happen. */
void sim_oracle_committed(struct sim_world *world, const struct sim_txn *txn);
void
sim_oracle_leaves(struct sim_world *world, int replica, int shard, const struct slu_call *call);
void sim_oracle_executes(struct sim_world *world,
                         const struct sim_flight *flight,
                         const struct sim_instance *instance);
void sim_oracle_created(struct sim_world *world, const struct sim_instance *instance);

/* Admission, re-told (oracle_admission.c). */
void sim_admission_accepted(struct sim_world *world,
                            struct sim_wish *wish,
                            bool forwarded,
                            int64_t generation,
                            bool repeated);
void sim_admission_refused(struct sim_world *world,
                           struct sim_wish *wish,
                           bool forwarded,
                           const char *code);
int64_t sim_admitted_deadline_ms(const struct sim_admitted *admitted);
int64_t sim_admitted_idle_ms(const struct sim_admitted *admitted); /* INT64_MAX: never. */

/* At the end (oracle_end.c). True when everything that is owed has come about; else `ret_why` and
 * the property that is still owed. */
bool sim_oracle_is_done(struct sim_world *world,
                        enum sim_property *ret_owed,
                        char *ret_why,
                        size_t size);
void sim_oracle_silence_begins(struct sim_world *world);
void sim_oracle_silence_ends(struct sim_world *world);
int sim_key_index(const struct sim_world *world, const char *key, size_t size);

#endif
