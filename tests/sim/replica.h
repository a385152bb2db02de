/* SPDX-License-Identifier: Apache-2.0 */
/* A replica of the reconciler without its I/O: for each shard a seat with an engine, a pretend
 * Kafka thread that claims, commits and rolls forward as include/slu/port/shards.h says, the
 * shard's clock, and the proof of leadership. It may die after any step, and it may be stopped and
 * go on. */
#ifndef SIM_REPLICA_H
#define SIM_REPLICA_H

#include "agenda.h"
#include "group_model.h"
#include "slu/engine/engine.h"
#include "slu/model/shard_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIM_INPUTS_MAX = 2,  /* Partitions of desired one seat reads: its own and a stray one. */
    SIM_HELD_MAX = 64,   /* Calls that wait for a fresh proof. */
    SIM_PROOF_MS = 3000, /* A changing call needs a commit begun within this long. */
    SIM_IDLE_COMMIT_MS = 2000,
};

enum sim_seat_state {
    SIM_SEAT_AWAY,     /* Another's shard. */
    SIM_SEAT_CLAIMING, /* From the confirmation to the claim's first commit. */
    SIM_SEAT_LEADING,
};

/* Where the seat's Kafka thread stands. */
enum sim_adapter_step {
    SIM_STEP_REST,
    SIM_STEP_CONFIRM,
    SIM_STEP_INIT,
    SIM_STEP_RECORD,
    SIM_STEP_STATUS_END,
    SIM_STEP_STATUS,
    SIM_STEP_CLAIM,
    SIM_STEP_BEGIN,
    SIM_STEP_APPEND,
    SIM_STEP_END,
    SIM_STEP_RECONFIRM, /* Rolling forward from here on. */
    SIM_STEP_REINIT,
    SIM_STEP_RECHECK,
};

struct sim_input {
    int partition;
    size_t position;
    size_t end; /* Of the read-through that was asked for. */
};

struct sim_seat {
    bool candidate;
    enum sim_seat_state state;
    struct slu_engine *engine;
    uint64_t engine_number; /* Answers to an engine that is no more are dropped. */

    enum sim_adapter_step step;
    uint64_t ticket; /* What the thread was doing before a reset does not go on. */
    int64_t producer;
    struct slu_shard_record claimed_over; /* The newest when the claim began to read. */
    size_t status_position, status_end;
    struct slu_batch *batch;
    size_t appended;
    int64_t txn;
    int64_t began_boot_ms;
    int64_t append_ms; /* Of the shard record in the open transaction. */

    int64_t clock_append_ms, clock_boot_ms; /* 0: the shard has no time yet. */
    int64_t last_now_ms;
    int64_t proof_boot_ms;
    int64_t last_commit_boot_ms;

    struct sim_input inputs[SIM_INPUTS_MAX];
    int input_count;
    bool asked_end;
    int64_t asked_at_ms; /* By the shard's clock. */

    struct slu_call *held[SIM_HELD_MAX];
    int held_count;
};

struct sim_replica {
    int number;
    uint32_t life; /* Grows with every start. */
    bool down;
    bool stopped;
    bool restarts;          /* A start is on the agenda. */
    int generation;         /* Of the group, as it knows. */
    uint64_t engine_number; /* Of the newest engine, over all seats and lives. */
    int64_t boot_offset_ms; /* Its machine's boot time is another's. */
    struct sim_seat seats[SIM_SHARDS_MAX];
    struct sim_occurrence *deferred; /* What came while it was stopped. */
    size_t deferred_count, deferred_capacity;
};

void sim_replica_start(struct sim_world *world, int replica);
void sim_replica_crash(struct sim_world *world, int replica);
void sim_replica_stop(struct sim_world *world, int replica, int64_t for_ms);
void sim_replica_continue(struct sim_world *world, int replica);
void sim_replica_free(struct sim_replica *replica);

/* Hears an occurrence that is for this replica; keeps it for later while stopped. */
void sim_replica_hear(struct sim_world *world, const struct sim_occurrence *occurrence);

int64_t sim_replica_boot_ms(const struct sim_world *world, int replica);

/* A step that others can see was done. True: the process died right after it. */
bool sim_replica_dies_here(struct sim_world *world, int replica);

/* The seat's engine is forgotten, with all it knew. */
void sim_seat_forget(struct sim_world *world, int replica, int shard);

/* Kafka thread of a seat (adapter.c). */
void sim_adapter_claim(struct sim_world *world, int replica, int shard);
void sim_adapter_commit(struct sim_world *world, int replica, int shard, struct slu_batch *batch);
void sim_adapter_step(struct sim_world *world, int replica, int shard);

/* The loop's turn for one seat (seat.c). False: the process died. */
bool sim_seat_turn(struct sim_world *world, int replica, int shard);
void sim_seat_claim_read(struct sim_world *world, int replica, int shard);
void sim_seat_committed(struct sim_world *world, int replica, int shard);
void sim_seat_answer(struct sim_world *world,
                     int replica,
                     const struct slu_facts *facts,
                     int64_t number);
int64_t sim_seat_now_ms(struct sim_world *world, int replica, int shard);

#endif
