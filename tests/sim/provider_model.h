/* SPDX-License-Identifier: Apache-2.0 */
/* A pretend sandbox provider with the manners of E2B: instances with labels and leases, idempotency
 * keys and fences where the weather has them, and every way of answering late, wrongly or not at
 * all that providers.md tells of. It lies in no positive answer twice in a row. */
#ifndef SIM_PROVIDER_MODEL_H
#define SIM_PROVIDER_MODEL_H

#include "log_model.h"
#include "slu/model/call.h"
#include "slu/model/instance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIM_INIT_MAX = 4,
    SIM_INIT_LISTS_MAX = 12, /* More are forgotten, oldest first. */
};

/* What the wrapper keeps of one list of init commands (behaviour.md 9). */
struct sim_init {
    char hash[17];
    int runs[SIM_INIT_MAX];
    bool exited[SIM_INIT_MAX];
    int exit_code[SIM_INIT_MAX];
};

struct sim_instance {
    char external_id[24];
    char key[64];
    char uid[SLU_UID_SIZE];
    char idempotency_key[SLU_IDEMPOTENCY_KEY_SIZE];
    int64_t incarnation;
    enum slu_life life;    /* GONE: it is no more. */
    enum slu_life becomes; /* … at `becomes_at_ms`, when that is not 0. */
    int64_t becomes_at_ms;
    int64_t created_at_ms, gone_at_ms, lease_until_ms;
    bool lied;                                 /* The last look said gone although it was there. */
    bool resurrected;                          /* It came back after a delete. */
    bool harmed;                               /* Something befell it that nobody wished. */
    struct sim_init inits[SIM_INIT_LISTS_MAX]; /* A folder for each list and attempt. */
    int init_count;
};

/* A call on its way, there and back. */
struct sim_flight {
    struct slu_call *call;
    int replica;
    uint32_t life; /* Of the replica. */
    int shard;
    uint64_t engine; /* Which engine of the replica asked. */
    int64_t sent_at_ms;
    bool settled; /* The replica has had its answer, or waits no longer. */
    bool executed;
    struct slu_facts *facts;
};

struct sim_provider {
    struct sim_instance *instances;
    size_t instance_count, instance_capacity;
    struct sim_flight *flights;
    size_t flight_count, flight_capacity;
    int64_t highest_epoch[SIM_SHARDS_MAX];
    int64_t outage_until_ms;
    struct slu_provider_instance settings;
    int64_t changes_executed[SLU_ACTION_COUNT];
};

void sim_provider_init(struct sim_world *world);
void sim_provider_done(struct sim_provider *provider);

/* The request leaves the replica. Takes the call. */
void sim_provider_send(
    struct sim_world *world, int replica, int shard, uint64_t engine, struct slu_call *call);
void sim_provider_execute(struct sim_world *world, int64_t number);
void sim_provider_resurrect(struct sim_world *world, int64_t number);

/* Something befalls an instance: it dies, sleeps or wakes. */
void sim_provider_harm(struct sim_world *world);

/* Brings an instance to what it is by now: transitions that ended, leases that ran out. */
void sim_instance_settle(struct sim_world *world, struct sim_instance *instance);
bool sim_instance_lives(const struct sim_instance *instance);
struct sim_instance *sim_instance_find(struct sim_world *world, const char *external_id);

#endif
