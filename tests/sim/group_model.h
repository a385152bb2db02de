/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer group that elects: members, generations, who was given which shard, and the
 * synchronous offset commit that confirms it. */
#ifndef SIM_GROUP_MODEL_H
#define SIM_GROUP_MODEL_H

#include "log_model.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SIM_REPLICAS_MAX = 3,
    SIM_SESSION_MS = 6000,
    SIM_NOBODY = -1,
};

struct sim_group {
    int generation;
    bool member[SIM_REPLICAS_MAX];
    int owner[SIM_SHARDS_MAX];
};

void sim_group_init(struct sim_world *world);
void sim_group_join(struct sim_world *world, int replica);
void sim_group_leave(struct sim_world *world, int replica);

/* A new generation; each member hears of it a little later. */
void sim_group_rebalance(struct sim_world *world);

/* Whether an offset commit of this member, in the generation it knows, succeeds for this shard. */
bool sim_group_confirms(const struct sim_world *world, int replica, int generation, int shard);

#endif
