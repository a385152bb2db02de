/* SPDX-License-Identifier: Apache-2.0 */
/* One run: a storm by the seed's weather, then calm, then silence. Time jumps from occurrence to
 * occurrence. */
#include "world.h"

#include "slu/base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALM_MS_MAX = 600000, /* Convergence is owed within this. */
    LOOK_MS = 2000,       /* Between two looks whether it has come. */
    SILENCE_MS = 50000,
};

const char *const sim_break_names[SIM_BREAK_COUNT] = {
    [SIM_BREAK_NOTHING] = "nothing",
    [SIM_BREAK_LOG_FENCES_NOBODY] = "log-fences-nobody",
    [SIM_BREAK_UNCLEAR_IS_COMMITTED] = "unclear-is-committed",
    [SIM_BREAK_ABORTED_IS_COMMITTED] = "aborted-is-committed",
    [SIM_BREAK_UNCLEAR_IS_SENT_AGAIN] = "unclear-is-sent-again",
    [SIM_BREAK_NO_PROOF] = "no-proof",
    [SIM_BREAK_CLAIM_READS_HALF] = "claim-reads-half",
    [SIM_BREAK_READ_THROUGH_WITHOUT_READING] = "read-through-without-reading",
    [SIM_BREAK_PROVIDER_LIES_TWICE] = "provider-lies-twice",
    [SIM_BREAK_PROVIDER_IGNORES_KEYS] = "provider-ignores-keys",
    [SIM_BREAK_RECORD_SKIPPED] = "record-skipped",
    [SIM_BREAK_ANSWERS_NEVER_COME] = "answers-never-come",
};

const char *const sim_property_names[SIM_PROPERTY_COUNT] = {
    [SIM_HOLDS] = "holds",
    [SIM_JUDGED_ONCE] = "judged_once",
    [SIM_JUDGED_AS_LOG_ORDER_SAYS] = "judged_as_log_order_says",
    [SIM_STATUS_NEVER_GOES_BACK] = "status_never_goes_back",
    [SIM_EVENTS_WITHOUT_GAPS] = "events_without_gaps",
    [SIM_COMMITTED_BEFORE_CALLED] = "committed_before_called",
    [SIM_PROOF_BEFORE_CALLED] = "proof_before_called",
    [SIM_ONE_CREATE_PER_INCARNATION] = "one_create_per_incarnation",
    [SIM_WANTED_IS_NEVER_DELETED] = "wanted_is_never_deleted",
    [SIM_LOST_ONLY_WHEN_GONE] = "lost_only_when_gone",
    [SIM_RENEWAL_BEATS_EXPIRY] = "renewal_beats_expiry",
    [SIM_EXPIRY_IS_NOT_EARLY] = "expiry_is_not_early",
    [SIM_IDLE_NEVER_PAUSES_THE_ACTIVE] = "idle_never_pauses_the_active",
    [SIM_FORWARDED_ONCE] = "forwarded_once",
    [SIM_EPOCHS_ARE_OF_ONE_LEADER] = "epochs_are_of_one_leader",
    [SIM_CLAIM_SUCCEEDS] = "claim_succeeds",
    [SIM_INIT_IN_ORDER] = "init_in_order",
    [SIM_EVERY_RECORD_IS_JUDGED] = "every_record_is_judged",
    [SIM_ONE_LIVE_INSTANCE] = "one_live_instance",
    [SIM_CONVERGES] = "converges",
    [SIM_DELETED_LEAVES_NOTHING] = "deleted_leaves_nothing",
    [SIM_INIT_COMPLETES] = "init_completes",
    [SIM_TOMBSTONED_AFTER_RETENTION] = "tombstoned_after_retention",
    [SIM_SILENT_WHEN_DONE] = "silent_when_done",
    [SIM_FEW_PLANS_PER_FACT] = "few_plans_per_fact",
};

int64_t
sim_broker_ms(const struct sim_world *world)
{
    return SIM_BROKER_START_MS + world->now_ms;
}

bool
sim_chance(struct sim_world *world, int per_thousand)
{
    return per_thousand > 0 && slu_random_below(&world->random, 1000) < (uint64_t) per_thousand;
}

bool
sim_fault(struct sim_world *world, int per_thousand)
{
    return !world->calm && sim_chance(world, per_thousand);
}

int64_t
sim_between(struct sim_world *world, int64_t least, int64_t most)
{
    return least + (int64_t) slu_random_below(&world->random, (uint64_t) (most - least + 1));
}

bool
sim_broken(const struct sim_world *world, enum sim_break rule)
{
    return world->broken == rule;
}

void
sim_put(struct sim_world *world, int64_t after_ms, struct sim_occurrence occurrence)
{
    occurrence.at_ms = world->now_ms + after_ms;
    sim_agenda_put(&world->agenda, occurrence);
}

void
sim_violate(struct sim_world *world, enum sim_property property, const char *format, ...)
{
    if (world->violated)
        return;
    world->violated = property;
    va_list arguments;
    va_start(arguments, format);
    (void) vsnprintf(world->violation, sizeof(world->violation), format, arguments);
    va_end(arguments);
    sim_say(world, "VIOLATED %s: %s", sim_property_names[property], world->violation);
}

/* --- faults ------------------------------------------------------------------------------------
 */

static void
compact(struct sim_world *world)
{
    for (int shard = 0; shard < world->shard_count; shard++) {
        struct sim_log *log = &world->log;
        const size_t status = log->partitions[SLU_TOPIC_STATUS][shard].stable;
        const size_t shards = log->partitions[SLU_TOPIC_SHARDS][shard].stable;
        sim_log_compact(log, SLU_TOPIC_STATUS, shard,
                        (size_t) sim_between(world, 0, (int64_t) status), false);
        sim_log_compact(log, SLU_TOPIC_SHARDS, shard, shards, false);
    }
    if (!world->weather.compact_desired)
        return;
    for (int i = 0; i < world->log.desired_count; i++) {
        const size_t desired = world->log.partitions[SLU_TOPIC_DESIRED][i].stable;
        sim_log_compact(&world->log, SLU_TOPIC_DESIRED, i,
                        (size_t) sim_between(world, 0, (int64_t) desired), false);
    }
}

static void
break_something(struct sim_world *world)
{
    const struct sim_weather *weather = &world->weather;
    const int replica = (int) sim_between(world, 0, world->replica_count - 1);
    if (sim_fault(world, weather->crash))
        sim_replica_crash(world, replica);
    if (sim_fault(world, weather->stop))
        sim_replica_stop(world, replica,
                         sim_between(world, 10, sim_chance(world, 500) ? 3500 : 20000));
    if (sim_fault(world, weather->flap))
        sim_group_rebalance(world);
    if (sim_fault(world, weather->outage)) {
        world->provider.outage_until_ms = world->now_ms + sim_between(world, 500, 15000);
        sim_say(world, "provider: out of order");
    }
    sim_provider_harm(world);
    sim_put(world, sim_between(world, 100, 2000),
            (struct sim_occurrence){.what = SIM_OCCASION_FAULT, .replica = SIM_NOBODY});
}

static void
session_ends(struct sim_world *world, const struct sim_occurrence *occurrence)
{
    const struct sim_replica *replica = &world->replicas[occurrence->replica];
    if (replica->life == occurrence->life && (replica->down || replica->stopped))
        sim_group_leave(world, occurrence->replica);
}

static void
start_again(struct sim_world *world, const struct sim_occurrence *occurrence)
{
    const struct sim_replica *replica = &world->replicas[occurrence->replica];
    if (replica->down && replica->life == occurrence->life)
        sim_replica_start(world, occurrence->replica);
}

static void
end_old_txn(struct sim_world *world, int64_t txn)
{
    const struct sim_txn *old = &world->log.txns[txn];
    if (old->state == SIM_TXN_OPEN) /* The broker bumps the producer's epoch with it. */
        (void) sim_log_init_producer(world, old->shard);
}

static void
happen(struct sim_world *world, const struct sim_occurrence *occurrence)
{
    switch (occurrence->what) {
    case SIM_OCCASION_TICK:
    case SIM_OCCASION_ADAPTER:
    case SIM_OCCASION_LEARN:
    case SIM_OCCASION_ANSWER:
    case SIM_OCCASION_TIME_OUT:
        sim_replica_hear(world, occurrence);
        break;
    case SIM_OCCASION_SESSION:
        session_ends(world, occurrence);
        break;
    case SIM_OCCASION_START:
        start_again(world, occurrence);
        break;
    case SIM_OCCASION_CONTINUE:
        if (world->replicas[occurrence->replica].life == occurrence->life)
            sim_replica_continue(world, occurrence->replica);
        break;
    case SIM_OCCASION_EXECUTE:
        sim_provider_execute(world, occurrence->number);
        break;
    case SIM_OCCASION_PRODUCE:
        if (!world->silent)
            sim_wishes_produce(world);
        break;
    case SIM_OCCASION_FAULT:
        if (!world->calm)
            break_something(world);
        break;
    case SIM_OCCASION_TXN_LATE:
        (void) sim_log_end(world, occurrence->number, true);
        break;
    case SIM_OCCASION_TXN_OLD:
        end_old_txn(world, occurrence->number);
        break;
    case SIM_OCCASION_RESURRECT:
        sim_provider_resurrect(world, occurrence->number);
        break;
    case SIM_OCCASION_COMPACT:
        compact(world);
        sim_put(world, sim_between(world, 1000, 20000), *occurrence);
        break;
    case SIM_OCCASION_COUNT:
        break;
    }
}

/* Lets things happen until `until_ms`, or until a property is violated. */
static void
run_until(struct sim_world *world, int64_t until_ms, int64_t *steps)
{
    struct sim_occurrence next;
    while (!world->violated && world->agenda.count > 0 && world->agenda.heap[0].at_ms <= until_ms) {
        if (steps && (*steps)-- == 0)
            break;
        (void) sim_agenda_take(&world->agenda, &next);
        world->now_ms = next.at_ms;
        world->occurrences++;
        happen(world, &next);
    }
    if (world->now_ms < until_ms && !world->violated && (!steps || *steps >= 0))
        world->now_ms = until_ms;
}

/* --- the three phases --------------------------------------------------------------------------
 */

static void
make_topics(struct sim_world *world)
{
    for (int shard = 0; shard < world->shard_count; shard++) {
        char key[8], value[160];
        (void) snprintf(key, sizeof(key), "%d", shard);
        (void) snprintf(value, sizeof(value),
                        "{\"cluster\":\"c-1\",\"n\":%d,\"epoch\":0,\"seq\":0,\"owner\":\"\","
                        "\"admitted\":{},\"claims\":0}",
                        world->shard_count);
        const struct slu_output first = {.topic = SLU_TOPIC_SHARDS,
                                         .partition = shard,
                                         .key = key,
                                         .key_size = strlen(key),
                                         .value = value,
                                         .value_size = strlen(value)};
        (void) sim_log_append(world, &first, -1);
    }
}

static void
begin(struct sim_world *world, const struct sim_options *options)
{
    world->seed = options->seed;
    world->random.state = options->seed * 0x9e3779b97f4a7c15U + 1;
    world->broken = options->broken;
    sim_trace_init(&world->trace, options->print_trace);
    sim_weather_choose(world);
    world->shard_count = (int) sim_between(world, 1, SIM_SHARDS_MAX);
    world->replica_count = (int) sim_between(world, 1, SIM_REPLICAS_MAX);
    const int strays = sim_chance(world, 200) ? (int) sim_between(world, 1, 2) : 0;
    sim_log_init(world, world->shard_count,
                 world->shard_count + (strays < world->shard_count ? strays : world->shard_count));
    make_topics(world);
    sim_group_init(world);
    sim_provider_init(world);
    sim_wishes_init(world);
    world->chaos_until_ms = sim_between(world, 10000, 90000);
    for (int i = 0; i < world->replica_count; i++) {
        world->replicas[i].number = i;
        sim_replica_start(world, i);
    }

    const enum sim_occasion first[] = {SIM_OCCASION_PRODUCE, SIM_OCCASION_FAULT,
                                       SIM_OCCASION_COMPACT};

    for (size_t i = 0; i < SLU_COUNT(first); i++)
        sim_put(world, sim_between(world, 1, 2000),
                (struct sim_occurrence){.what = first[i], .replica = SIM_NOBODY});
}

static void
calm_down(struct sim_world *world)
{
    world->calm = world->silent = true;
    world->provider.outage_until_ms = 0;
    sim_wishes_end_txn(world, true);
    for (int i = 0; i < world->replica_count; i++)
        sim_replica_continue(world, i);
    sim_say(world, "calm");
}

static void
await_convergence(struct sim_world *world)
{
    const int64_t until_ms = world->now_ms + CALM_MS_MAX;
    enum sim_property owed = SIM_HOLDS;
    char why[300] = "";
    while (!world->violated && world->now_ms < until_ms) {
        run_until(world, world->now_ms + LOOK_MS, NULL);
        if (sim_oracle_is_done(world, &owed, why, sizeof(why)))
            return;
    }
    sim_violate(world, owed, "%lld s after the last fault: %s", (long long) (CALM_MS_MAX / 1000),
                why);
}

static void
await_silence(struct sim_world *world)
{
    run_until(world, world->now_ms + LOOK_MS, NULL);
    sim_oracle_silence_begins(world);
    run_until(world, world->now_ms + SILENCE_MS, NULL);
    sim_oracle_silence_ends(world);
    enum sim_property owed;
    char why[300];
    if (!world->violated && !sim_oracle_is_done(world, &owed, why, sizeof(why)))
        sim_violate(world, owed, "it was done, and is no more: %s", why);
}

static void
end(struct sim_world *world)
{
    for (int i = 0; i < world->replica_count; i++)
        sim_replica_free(&world->replicas[i]);
    sim_provider_done(&world->provider);
    sim_wishes_done(&world->wishes);
    sim_oracle_done(&world->oracle);
    sim_log_done(&world->log);
    sim_agenda_done(&world->agenda);
    sim_trace_done(&world->trace);
}

void
sim_run(const struct sim_options *options, struct sim_outcome *ret_outcome)
{
    struct sim_world *world = slu_alloc(sizeof(*world));
    begin(world, options);
    int64_t steps = options->steps;
    run_until(world, world->chaos_until_ms, steps > 0 ? &steps : NULL);
    if (!world->violated)
        calm_down(world);
    if (!world->violated)
        await_convergence(world);
    if (!world->violated)
        await_silence(world);
    if (world->violated && !options->no_tail)
        sim_trace_tail(&world->trace, stderr);

    *ret_outcome = (struct sim_outcome){.violated = world->violated,
                                        .trace_hash = world->trace.hash,
                                        .weather = world->weather.name,
                                        .virtual_ms = world->now_ms,
                                        .occurrences = world->occurrences};
    (void) snprintf(ret_outcome->violation, sizeof(ret_outcome->violation), "%s", world->violation);
    end(world);
    free(world);
}
