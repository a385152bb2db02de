/* SPDX-License-Identifier: Apache-2.0 */
/* A replica's process: it starts, joins the group, ticks, hears of assignments, dies, is stopped
 * and goes on with what it remembers. */
#include "replica.h"

#include "slu/base/memory.h"
#include "world.h"

#include <stdlib.h>

int64_t
sim_replica_boot_ms(const struct sim_world *world, int replica)
{
    return world->now_ms + world->replicas[replica].boot_offset_ms;
}

static void
put_for(struct sim_world *world, int replica, int64_t after_ms, enum sim_occasion what)
{
    sim_put(world, after_ms,
            (struct sim_occurrence){
                .what = what, .replica = replica, .life = world->replicas[replica].life});
}

void
sim_seat_forget(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = &world->replicas[replica].seats[shard];
    for (int i = 0; i < seat->held_count; i++)
        slu_call_free(seat->held[i]);
    slu_engine_free(seat->engine);
    slu_batch_free(seat->batch);
    slu_shard_record_done(&seat->claimed_over);
    if (seat->state == SIM_SEAT_LEADING)
        sim_say(world, "r%d shard %d: forgets", replica, shard);
    *seat = (struct sim_seat){.candidate = seat->candidate, .ticket = seat->ticket + 1};
}

void
sim_replica_start(struct sim_world *world, int replica)
{
    struct sim_replica *starting = &world->replicas[replica];
    starting->down = false;
    starting->restarts = false;
    starting->life++;
    starting->boot_offset_ms = sim_between(world, 0, 1000000);
    sim_say(world, "r%d starts, life %u", replica, starting->life);
    /* The group still counts on the process of before: it is a new member. */
    world->group.member[replica] = false;
    sim_group_join(world, replica);
    put_for(world, replica, sim_between(world, 1, 50), SIM_OCCASION_TICK);
}

void
sim_replica_crash(struct sim_world *world, int replica)
{
    struct sim_replica *dying = &world->replicas[replica];
    if (dying->down)
        return;
    sim_say(world, "r%d dies", replica);
    for (int shard = 0; shard < SIM_SHARDS_MAX; shard++) {
        dying->seats[shard].candidate = false;
        sim_seat_forget(world, replica, shard);
    }
    dying->down = true;
    dying->stopped = false;
    dying->deferred_count = 0;
    put_for(world, replica, SIM_SESSION_MS, SIM_OCCASION_SESSION);
    dying->restarts = true;
    put_for(world, replica, sim_between(world, 100, world->calm ? 500 : 9000), SIM_OCCASION_START);
}

void
sim_replica_stop(struct sim_world *world, int replica, int64_t for_ms)
{
    struct sim_replica *stopping = &world->replicas[replica];
    if (stopping->down || stopping->stopped)
        return;
    stopping->stopped = true;
    sim_say(world, "r%d is stopped for %lld ms", replica, (long long) for_ms);
    put_for(world, replica, SIM_SESSION_MS, SIM_OCCASION_SESSION);
    put_for(world, replica, for_ms, SIM_OCCASION_CONTINUE);
}

void
sim_replica_continue(struct sim_world *world, int replica)
{
    struct sim_replica *going_on = &world->replicas[replica];
    if (!going_on->stopped)
        return;
    going_on->stopped = false;
    sim_say(world, "r%d goes on", replica);
    for (size_t i = 0; i < going_on->deferred_count; i++)
        sim_put(world, sim_between(world, 0, 3), going_on->deferred[i]);
    going_on->deferred_count = 0;
    const struct sim_occurrence learn = {.what = SIM_OCCASION_LEARN,
                                         .replica = replica,
                                         .life = going_on->life,
                                         .number = world->group.generation};
    sim_put(world, sim_between(world, 1, 1500), learn);
}

void
sim_replica_free(struct sim_replica *replica)
{
    for (int shard = 0; shard < SIM_SHARDS_MAX; shard++) {
        struct sim_seat *seat = &replica->seats[shard];
        for (int i = 0; i < seat->held_count; i++)
            slu_call_free(seat->held[i]);
        slu_engine_free(seat->engine);
        slu_batch_free(seat->batch);
        slu_shard_record_done(&seat->claimed_over);
    }
    free(replica->deferred);
}

bool
sim_replica_dies_here(struct sim_world *world, int replica)
{
    world->effects++;
    const bool marked = world->weather.crash_at_effect == world->effects && !world->calm;
    if (!marked && !sim_fault(world, world->weather.effect_crash))
        return false;
    sim_replica_crash(world, replica);
    return true;
}

/* --- what it hears -----------------------------------------------------------------------------
 */

static void
learn(struct sim_world *world, int replica, int generation)
{
    struct sim_replica *learning = &world->replicas[replica];
    if (!world->group.member[replica]) { /* Thrown out meanwhile: back in as a new member. */
        for (int shard = 0; shard < world->shard_count; shard++) {
            learning->seats[shard].candidate = false;
            sim_seat_forget(world, replica, shard);
        }
        sim_group_join(world, replica);
        return;
    }
    if (generation != world->group.generation)
        return;
    learning->generation = generation;
    for (int shard = 0; shard < world->shard_count; shard++) {
        struct sim_seat *seat = &learning->seats[shard];
        seat->candidate = world->group.owner[shard] == replica;
        /* Some hand over at once; others find out by their next commit. */
        if (!seat->candidate && seat->state != SIM_SEAT_AWAY && !sim_fault(world, 300))
            sim_seat_forget(world, replica, shard);
    }
}

static int64_t
next_tick_ms(struct sim_world *world, int replica)
{
    int64_t wait_ms = 400;
    for (int shard = 0; shard < world->shard_count; shard++) {
        const struct sim_seat *seat = &world->replicas[replica].seats[shard];
        if (seat->state != SIM_SEAT_LEADING)
            continue;
        const int64_t due_ms = slu_engine_due_ms(seat->engine);
        const int64_t now_ms = sim_seat_now_ms(world, replica, shard);
        if (due_ms - now_ms < wait_ms)
            wait_ms = due_ms > now_ms ? due_ms - now_ms : 1;
    }
    return sim_between(world, 1, wait_ms + 1);
}

static void
tick(struct sim_world *world, int replica)
{
    struct sim_replica *ticking = &world->replicas[replica];
    for (int shard = 0; shard < world->shard_count; shard++) {
        struct sim_seat *seat = &ticking->seats[shard];
        if (seat->candidate && seat->state == SIM_SEAT_AWAY)
            sim_adapter_claim(world, replica, shard);
        if (!sim_seat_turn(world, replica, shard))
            return;
    }
    put_for(world, replica, next_tick_ms(world, replica), SIM_OCCASION_TICK);
}

static void
defer(struct sim_replica *replica, const struct sim_occurrence *occurrence)
{
    if (replica->deferred_count == replica->deferred_capacity) {
        replica->deferred_capacity =
            replica->deferred_capacity ? replica->deferred_capacity * 2 : 16;
        replica->deferred =
            slu_realloc(replica->deferred, replica->deferred_capacity * sizeof(*replica->deferred));
    }
    replica->deferred[replica->deferred_count++] = *occurrence;
}

static void
hear_adapter(struct sim_world *world, const struct sim_occurrence *occurrence)
{
    const int shard = (int) occurrence->number;
    if (world->replicas[occurrence->replica].seats[shard].ticket == occurrence->ticket)
        sim_adapter_step(world, occurrence->replica, shard);
}

static void
hear_time_out(struct sim_world *world, const struct sim_occurrence *occurrence)
{
    struct slu_facts facts = {.outcome = SLU_OUTCOME_AMBIGUOUS};
    (void) snprintf(facts.message, sizeof(facts.message), "no answer in time");
    sim_seat_answer(world, occurrence->replica, &facts, occurrence->number);
}

void
sim_replica_hear(struct sim_world *world, const struct sim_occurrence *occurrence)
{
    struct sim_replica *replica = &world->replicas[occurrence->replica];
    if (replica->down || replica->life != occurrence->life)
        return;
    if (replica->stopped) {
        defer(replica, occurrence);
        return;
    }
    if (occurrence->what == SIM_OCCASION_TICK) {
        tick(world, replica->number);
    } else if (occurrence->what == SIM_OCCASION_ADAPTER) {
        hear_adapter(world, occurrence);
    } else if (occurrence->what == SIM_OCCASION_LEARN) {
        learn(world, replica->number, (int) occurrence->number);
    } else if (occurrence->what == SIM_OCCASION_ANSWER) {
        sim_seat_answer(world, replica->number, world->provider.flights[occurrence->number].facts,
                        occurrence->number);
    } else if (occurrence->what == SIM_OCCASION_TIME_OUT) {
        hear_time_out(world, occurrence);
    }
}
