/* SPDX-License-Identifier: Apache-2.0 */
/* A seat's Kafka thread, one step at a time, so that anything can come between two steps: claim =
 * confirm, init, ends, status, shard record, first commit; commit = begin, append, end; and what
 * was unclear or fenced is rolled forward, never back (design.md §7). */
#include "replica.h"
#include "slu/model/shard_record.h"
#include "world.h"

#include <assert.h>
#include <string.h>

static struct sim_seat *
seat_of(struct sim_world *world, int replica, int shard)
{
    return &world->replicas[replica].seats[shard];
}

static void
go_on(struct sim_world *world, int replica, int shard, enum sim_adapter_step step)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    seat->step = step;
    const bool slow = sim_fault(world, world->weather.broker_slow);
    sim_put(world, sim_between(world, 0, slow ? 5000 : 4),
            (struct sim_occurrence){.what = SIM_OCCASION_ADAPTER,
                                    .replica = replica,
                                    .life = world->replicas[replica].life,
                                    .number = shard,
                                    .ticket = seat->ticket});
}

/* --- claim -------------------------------------------------------------------------------------
 */

void
sim_adapter_claim(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    assert(seat->state == SIM_SEAT_AWAY && !seat->engine && !seat->batch);
    seat->state = SIM_SEAT_CLAIMING;
    seat->ticket++;
    go_on(world, replica, shard, SIM_STEP_CONFIRM);
}

/* Not now: asked again later, while it is still a candidate. */
static void
claim_fails(struct sim_world *world, int replica, int shard)
{
    sim_say(world, "r%d shard %d: claim fails", replica, shard);
    sim_seat_forget(world, replica, shard);
}

static void
confirm(struct sim_world *world, int replica, int shard)
{
    const int generation = world->replicas[replica].generation;
    if (!sim_group_confirms(world, replica, generation, shard) ||
        sim_fault(world, world->weather.claim_fails))
        claim_fails(world, replica, shard);
    else
        go_on(world, replica, shard, SIM_STEP_INIT);
}

static void
init_producer(struct sim_world *world, int replica, int shard, enum sim_adapter_step next)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    seat->producer = sim_log_init_producer(world, shard);
    sim_say(world, "r%d shard %d: producer %lld", replica, shard, (long long) seat->producer);
    go_on(world, replica, shard, next);
}

/* The newest shard record that every reader may see. */
static bool
newest_shard_record(struct sim_world *world, int shard, struct slu_shard_record *ret_record)
{
    const struct sim_partition *partition = &world->log.partitions[SLU_TOPIC_SHARDS][shard];
    for (size_t i = partition->stable; i-- > 0;) {
        const struct sim_entry *entry = &partition->entries[i];
        if (!entry->output ||
            (entry->txn != SIM_NO_TXN && world->log.txns[entry->txn].state != SIM_TXN_COMMITTED))
            continue;
        struct slu_error error;
        return slu_shard_record_read(entry->output->value, entry->output->value_size, ret_record,
                                     &error) == SLU_OK;
    }
    return false;
}

/* The shard record comes first: a claim may be rolled forward only while that record is still the
 * newest, and then the status read after it is whole. Read the other way round, a commit between
 * the two reads is lost with nobody to notice (seed 219 found it). */
static void
read_shard_record(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    slu_shard_record_done(&seat->claimed_over);
    seat->claimed_over = (struct slu_shard_record){0};
    if (!newest_shard_record(world, shard, &seat->claimed_over)) {
        sim_violate(world, SIM_CLAIM_SUCCEEDS, "shard %d has no readable record", shard);
        return;
    }
    go_on(world, replica, shard, SIM_STEP_STATUS_END);
}

static void
ask_status_end(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    seat->status_position = 0;
    seat->status_end = sim_log_stable_end(&world->log, SLU_TOPIC_STATUS, shard);
    if (sim_broken(world, SIM_BREAK_CLAIM_READS_HALF))
        seat->status_end /= 2;
    sim_seat_claim_read(world, replica, shard); /* Makes the engine that the sink fills. */
    go_on(world, replica, shard, SIM_STEP_STATUS);
}

static void
read_status(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    for (int64_t chunk = sim_between(world, 20, 200); chunk > 0; chunk--) {
        struct slu_record record;
        struct slu_error error;
        if (seat->status_position >= seat->status_end ||
            !sim_log_read(&world->log, SLU_TOPIC_STATUS, shard, &seat->status_position, &record) ||
            (size_t) record.offset >= seat->status_end) {
            go_on(world, replica, shard, SIM_STEP_CLAIM);
            return;
        }
        if (slu_engine_restore(seat->engine, &record, &error)) {
            sim_violate(world, SIM_CLAIM_SUCCEEDS, "status %lld: %s", (long long) record.offset,
                        error.message);
            return;
        }
    }
    go_on(world, replica, shard, SIM_STEP_STATUS);
}

static void
claim_over(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    struct slu_error error = {0};
    const enum slu_status status = slu_engine_claim(seat->engine, &seat->claimed_over, &error);
    struct slu_batch *batch = status ? NULL : slu_engine_take_batch(seat->engine, true);
    if (!batch) {
        sim_violate(world, SIM_CLAIM_SUCCEEDS, "shard %d: %s", shard, error.message);
        return;
    }
    seat->step = SIM_STEP_REST;
    sim_adapter_commit(world, replica, shard, batch);
}

/* --- commit ------------------------------------------------------------------------------------
 */

void
sim_adapter_commit(struct sim_world *world, int replica, int shard, struct slu_batch *batch)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    assert(!seat->batch && seat->step == SIM_STEP_REST);
    seat->batch = batch;
    go_on(world, replica, shard, SIM_STEP_BEGIN);
}

static void
begin(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    seat->began_boot_ms = sim_replica_boot_ms(world, replica);
    seat->appended = 0;
    seat->txn = sim_log_begin(world, shard, seat->producer, replica);
    if (seat->txn < 0) {
        go_on(world, replica, shard, SIM_STEP_RECONFIRM);
        return;
    }
    const struct sim_occurrence old = {
        .what = SIM_OCCASION_TXN_OLD, .replica = SIM_NOBODY, .number = seat->txn};
    sim_put(world, 10000, old);
    go_on(world, replica, shard, SIM_STEP_APPEND);
}

static void
append_some(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    const bool in_pieces = sim_chance(world, 50);
    do {
        const struct slu_output *output = &seat->batch->outputs[seat->appended];
        int64_t timestamp_ms;
        if (!sim_log_append_in(world, seat->txn, output, -1, &timestamp_ms)) {
            go_on(world, replica, shard, SIM_STEP_RECONFIRM);
            return;
        }
        if (output->topic == SLU_TOPIC_SHARDS)
            seat->append_ms = timestamp_ms;
    } while (++seat->appended < seat->batch->count && !in_pieces);
    const bool whole = seat->appended == seat->batch->count;
    go_on(world, replica, shard, whole ? SIM_STEP_END : SIM_STEP_APPEND);
}

static void
batch_is_in(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    seat->step = SIM_STEP_REST;
    sim_seat_committed(world, replica, shard);
}

/* Nobody told what became of it: it is in, it is open and its end is still on its way, or it is
 * open and stays so until the next producer. */
static void
end_unclear(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    const int64_t fate = sim_between(world, 0, 2);
    sim_say(world, "r%d shard %d: commit unclear (%lld)", replica, shard, (long long) fate);
    if (fate == 0)
        (void) sim_log_end(world, seat->txn, true);
    if (fate == 1) {
        const struct sim_occurrence late = {
            .what = SIM_OCCASION_TXN_LATE, .replica = SIM_NOBODY, .number = seat->txn};
        sim_put(world, sim_between(world, 1, 3000), late);
    }
    if (sim_broken(world, SIM_BREAK_UNCLEAR_IS_COMMITTED))
        batch_is_in(world, replica, shard);
    else
        go_on(world, replica, shard, SIM_STEP_RECONFIRM);
}

static void
end(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    if (sim_fault(world, world->weather.commit_aborted)) {
        (void) sim_log_end(world, seat->txn, false);
        sim_say(world, "r%d shard %d: commit aborted", replica, shard);
        if (sim_broken(world, SIM_BREAK_ABORTED_IS_COMMITTED))
            batch_is_in(world, replica, shard);
        else
            go_on(world, replica, shard, SIM_STEP_BEGIN);
    } else if (sim_fault(world, world->weather.commit_unclear)) {
        end_unclear(world, replica, shard);
    } else if (sim_log_end(world, seat->txn, true)) {
        batch_is_in(world, replica, shard);
    } else {
        go_on(world, replica, shard, SIM_STEP_RECONFIRM);
    }
}

/* --- roll forward ------------------------------------------------------------------------------
 */

static void
reconfirm(struct sim_world *world, int replica, int shard)
{
    const int generation = world->replicas[replica].generation;
    sim_say(world, "r%d shard %d: rolls forward", replica, shard);
    if (sim_group_confirms(world, replica, generation, shard))
        go_on(world, replica, shard, SIM_STEP_REINIT);
    else
        sim_seat_forget(world, replica, shard);
}

/* In, when the newest shard record is the one of this batch; to be sent again, when it is the one
 * before; anything else was written by another. Two claims of one epoch differ by their owner. */
static void
recheck(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    struct slu_shard_record last;
    if (!newest_shard_record(world, shard, &last)) {
        sim_violate(world, SIM_CLAIM_SUCCEEDS, "shard %d has no readable record", shard);
        return;
    }
    char owner[16];
    (void) snprintf(owner, sizeof(owner), "r%d.%u", replica, world->replicas[replica].life);
    const bool mine = strcmp(last.owner, owner) == 0;
    const int64_t before = seat->batch->claim ? seat->batch->epoch - 1 : seat->batch->epoch;
    const bool in = last.epoch == seat->batch->epoch && last.seq == seat->batch->seq && mine;
    const bool again = last.epoch == before && last.seq == seat->batch->seq - 1;
    slu_shard_record_done(&last);

    if (in && !sim_broken(world, SIM_BREAK_UNCLEAR_IS_SENT_AGAIN))
        batch_is_in(world, replica, shard);
    else if (in || again)
        go_on(world, replica, shard, SIM_STEP_BEGIN);
    else
        sim_seat_forget(world, replica, shard);
}

void
sim_adapter_step(struct sim_world *world, int replica, int shard)
{
    switch (seat_of(world, replica, shard)->step) {
    case SIM_STEP_REST:
        break;
    case SIM_STEP_CONFIRM:
        confirm(world, replica, shard);
        break;
    case SIM_STEP_INIT:
        init_producer(world, replica, shard, SIM_STEP_RECORD);
        break;
    case SIM_STEP_RECORD:
        read_shard_record(world, replica, shard);
        break;
    case SIM_STEP_STATUS_END:
        ask_status_end(world, replica, shard);
        break;
    case SIM_STEP_STATUS:
        read_status(world, replica, shard);
        break;
    case SIM_STEP_CLAIM:
        claim_over(world, replica, shard);
        break;
    case SIM_STEP_BEGIN:
        begin(world, replica, shard);
        break;
    case SIM_STEP_APPEND:
        append_some(world, replica, shard);
        break;
    case SIM_STEP_END:
        end(world, replica, shard);
        break;
    case SIM_STEP_RECONFIRM:
        reconfirm(world, replica, shard);
        break;
    case SIM_STEP_REINIT:
        init_producer(world, replica, shard, SIM_STEP_RECHECK);
        break;
    case SIM_STEP_RECHECK:
        recheck(world, replica, shard);
        break;
    }
}
