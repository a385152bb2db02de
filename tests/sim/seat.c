/* SPDX-License-Identifier: Apache-2.0 */
/* The loop's part of a seat: input into the engine, turns, batches out, calls out, answers in.
 * After every step that someone else could see, the process may die. */
#include "replica.h"
#include "world.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static struct sim_seat *
seat_of(struct sim_world *world, int replica, int shard)
{
    return &world->replicas[replica].seats[shard];
}

int64_t
sim_seat_now_ms(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    if (!seat->clock_append_ms)
        return 0;
    const int64_t now_ms =
        seat->clock_append_ms + sim_replica_boot_ms(world, replica) - seat->clock_boot_ms;
    if (now_ms > seat->last_now_ms)
        seat->last_now_ms = now_ms;
    return seat->last_now_ms;
}

/* --- claim -------------------------------------------------------------------------------------
 */

static void
read_from_engine(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    seat->input_count = 0;
    for (int partition = shard; partition < world->log.desired_count;
         partition += world->shard_count) {
        assert(seat->input_count < SIM_INPUTS_MAX);
        const int64_t next = slu_engine_next_offset(seat->engine, partition);
        seat->inputs[seat->input_count++] = (struct sim_input){partition, (size_t) next, 0};
    }
}

void
sim_seat_claim_read(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    char owner[16];
    (void) snprintf(owner, sizeof(owner), "r%d.%u", replica, world->replicas[replica].life);
    struct slu_engine_config config = {.shard = shard,
                                       .shard_count = world->shard_count,
                                       .cluster = "",
                                       .owner_url = owner,
                                       .instances = &world->provider.settings,
                                       .instance_count = 1,
                                       .default_provider = "local",
                                       .deleted_retention_ms = SIM_RETENTION_MS,
                                       .activity_write_ms = SIM_ACTIVITY_WRITE_MS,
                                       .park_retry_ms = 20000,
                                       .failures_before_park = 3,
                                       .seed = slu_random_next(&world->random)};
    if (sim_chance(world, 200))
        config.batch_records_max = (int) sim_between(world, 4, 20);
    slu_engine_config_defaults(&config);
    seat->engine = slu_engine_new(&config);
    seat->engine_number = ++world->replicas[replica].engine_number;
}

void
sim_seat_committed(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    slu_batch_free(slu_steal(seat->batch));
    seat->proof_boot_ms = seat->began_boot_ms;
    seat->last_commit_boot_ms = seat->began_boot_ms;
    seat->clock_append_ms = seat->append_ms;
    seat->clock_boot_ms = sim_replica_boot_ms(world, replica);
    slu_engine_committed(seat->engine, sim_seat_now_ms(world, replica, shard));
    if (seat->state == SIM_SEAT_CLAIMING) {
        seat->state = SIM_SEAT_LEADING;
        sim_say(world, "r%d shard %d: leads, epoch %lld", replica, shard,
                (long long) slu_engine_epoch(seat->engine));
        read_from_engine(world, replica, shard);
    }
    (void) sim_seat_turn(world, replica, shard);
}

/* --- input -------------------------------------------------------------------------------------
 */

/* Hands over what is there, until the engine's batch is full. */
static bool
read_input(struct sim_world *world, int replica, int shard, struct sim_input *input)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    const int64_t now_ms = sim_seat_now_ms(world, replica, shard);
    for (int64_t chunk = sim_between(world, 1, 20); chunk > 0; chunk--) {
        struct slu_record record;
        size_t position = input->position;
        if (!sim_log_read(&world->log, SLU_TOPIC_DESIRED, input->partition, &position, &record)) {
            input->position = position;
            return true;
        }
        if (sim_broken(world, SIM_BREAK_RECORD_SKIPPED) && sim_fault(world, 30)) {
            input->position = position;
            continue;
        }
        if (!slu_engine_record(seat->engine, &record, now_ms))
            return true;
        input->position = position;
        if (sim_replica_dies_here(world, replica))
            return false;
    }
    return true;
}

static bool
reached_ends(const struct sim_seat *seat)
{
    for (int i = 0; i < seat->input_count; i++) {
        if (seat->inputs[i].position < seat->inputs[i].end)
            return false;
    }
    return true;
}

static void
read_through(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    const int64_t now_ms = sim_seat_now_ms(world, replica, shard);
    if (seat->asked_end &&
        (reached_ends(seat) || sim_broken(world, SIM_BREAK_READ_THROUGH_WITHOUT_READING))) {
        seat->asked_end = false;
        slu_engine_read_through(seat->engine, seat->asked_at_ms, now_ms);
    }
    if (!seat->asked_end && slu_engine_wants_read_through(seat->engine)) {
        seat->asked_end = true;
        seat->asked_at_ms = now_ms;
        for (int i = 0; i < seat->input_count; i++) {
            /* The high watermark: what lies behind an open transaction was acknowledged too. */
            seat->inputs[i].end =
                world->log.partitions[SLU_TOPIC_DESIRED][seat->inputs[i].partition].count;
        }
    }
}

/* --- output ------------------------------------------------------------------------------------
 */

static bool
proof_is_fresh(struct sim_world *world, int replica, int shard)
{
    const struct sim_seat *seat = seat_of(world, replica, shard);
    return sim_replica_boot_ms(world, replica) - seat->proof_boot_ms < SIM_PROOF_MS ||
           sim_broken(world, SIM_BREAK_NO_PROOF);
}

static bool
send_call(struct sim_world *world, int replica, int shard, struct slu_call *call)
{
    sim_oracle_leaves(world, replica, shard, call);
    sim_say(world, "r%d shard %d: %s %s", replica, shard, slu_action_names[call->action],
            call->key);
    const uint64_t engine = seat_of(world, replica, shard)->engine_number;
    sim_provider_send(world, replica, shard, engine, call);
    return !sim_replica_dies_here(world, replica);
}

/* Changing calls wait for a proof younger than 3 s; one more commit fetches it. */
static bool
send_calls(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    while (seat->held_count > 0 && proof_is_fresh(world, replica, shard)) {
        struct slu_call *call = seat->held[0];
        seat->held_count--;
        for (int i = 0; i < seat->held_count; i++)
            seat->held[i] = seat->held[i + 1];
        if (!send_call(world, replica, shard, call))
            return false;
    }
    struct slu_call *call;
    while (seat->held_count < SIM_HELD_MAX && (call = slu_engine_next_call(seat->engine))) {
        if (call->changes && !proof_is_fresh(world, replica, shard))
            seat->held[seat->held_count++] = call;
        else if (!send_call(world, replica, shard, call))
            return false;
    }
    return true;
}

static bool
write_batch(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    if (seat->batch || seat->step != SIM_STEP_REST)
        return true;
    const int64_t idle_ms = sim_replica_boot_ms(world, replica) - seat->last_commit_boot_ms;
    const bool even_if_idle = idle_ms >= SIM_IDLE_COMMIT_MS || seat->held_count > 0;
    struct slu_batch *batch = slu_engine_take_batch(seat->engine, even_if_idle);
    if (!batch)
        return true;
    sim_adapter_commit(world, replica, shard, batch);
    return !sim_replica_dies_here(world, replica);
}

static void
drain(struct slu_engine *engine)
{
    struct slu_observation observation;
    while (slu_engine_next_observation(engine, &observation))
        continue;
    struct slu_note note;
    while (slu_engine_next_note(engine, &note))
        continue;
}

bool
sim_seat_turn(struct sim_world *world, int replica, int shard)
{
    struct sim_seat *seat = seat_of(world, replica, shard);
    if (seat->state != SIM_SEAT_LEADING)
        return true;

    for (int i = 0; i < seat->input_count; i++) {
        if (!read_input(world, replica, shard, &seat->inputs[i]))
            return false;
    }
    read_through(world, replica, shard);
    (void) slu_engine_turn(seat->engine, sim_seat_now_ms(world, replica, shard),
                           sim_chance(world, 300) ? (int) sim_between(world, 1, 3) : 0);
    if (sim_replica_dies_here(world, replica) || !write_batch(world, replica, shard) ||
        !send_calls(world, replica, shard))
        return false;
    drain(seat->engine);
    return true;
}

void
sim_seat_answer(struct sim_world *world, int replica, const struct slu_facts *facts, int64_t number)
{
    struct sim_flight *flight = &world->provider.flights[number];
    struct sim_seat *seat = seat_of(world, replica, flight->shard);
    if (flight->settled)
        return;
    flight->settled = true;
    if (!seat->engine || seat->engine_number != flight->engine)
        return;
    slu_engine_answer(seat->engine, flight->call->id, facts,
                      sim_seat_now_ms(world, replica, flight->shard));
    if (!sim_replica_dies_here(world, replica))
        (void) sim_seat_turn(world, replica, flight->shard);
}
