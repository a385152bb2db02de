/* SPDX-License-Identifier: Apache-2.0 */
/* The group's coordinator: range assignment, now and then another one, so that shards move. */
#include "group_model.h"

#include "world.h"

void
sim_group_init(struct sim_world *world)
{
    world->group = (struct sim_group){0};
    for (int shard = 0; shard < SIM_SHARDS_MAX; shard++)
        world->group.owner[shard] = SIM_NOBODY;
}

static int
members(const struct sim_group *group, int *ret_members)
{
    int count = 0;
    for (int replica = 0; replica < SIM_REPLICAS_MAX; replica++) {
        if (group->member[replica])
            ret_members[count++] = replica;
    }
    return count;
}

void
sim_group_rebalance(struct sim_world *world)
{
    struct sim_group *group = &world->group;
    int present[SIM_REPLICAS_MAX];
    const int count = members(group, present);
    const bool shuffled = sim_fault(world, 500);

    group->generation++;
    for (int shard = 0; shard < world->shard_count; shard++) {
        int pick = shard * count / world->shard_count;
        if (shuffled && count > 0)
            pick = (int) sim_between(world, 0, count - 1);
        group->owner[shard] = count > 0 ? present[pick] : SIM_NOBODY;
    }
    for (int i = 0; i < count; i++) {
        const struct sim_occurrence learn = {.what = SIM_OCCASION_LEARN,
                                             .replica = present[i],
                                             .life = world->replicas[present[i]].life,
                                             .number = group->generation};
        sim_put(world, sim_between(world, 5, sim_fault(world, 100) ? 1500 : 200), learn);
    }
    sim_say(world, "group: generation %d of %d members", group->generation, count);
}

void
sim_group_join(struct sim_world *world, int replica)
{
    if (world->group.member[replica])
        return;
    world->group.member[replica] = true;
    sim_group_rebalance(world);
}

void
sim_group_leave(struct sim_world *world, int replica)
{
    if (!world->group.member[replica])
        return;
    world->group.member[replica] = false;
    sim_group_rebalance(world);
}

bool
sim_group_confirms(const struct sim_world *world, int replica, int generation, int shard)
{
    const struct sim_group *group = &world->group;
    return group->member[replica] && group->generation == generation &&
           group->owner[shard] == replica;
}
