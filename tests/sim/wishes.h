/* SPDX-License-Identifier: Apache-2.0 */
/* The upstream systems: every record they write, kept in plain numbers beside its JSON text, so
 * that the oracles know what was asked without decoding anything. */
#ifndef SIM_WISHES_H
#define SIM_WISHES_H

#include "log_model.h"
#include "slu/model/sandbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIM_KEYS_MAX = 5,
    SIM_RETENTION_MS = 25000, /* Of a deleted life's status. */
    SIM_ACTIVITY_WRITE_MS = 5000,
};

/* A sandbox's wish. Equal numbers are equal content. */
struct sim_shape {
    int tenant;
    int session; /* 0: none. */
    enum slu_wish state;
    int64_t ttl_ms;
    int64_t expires_at_ms; /* When not 0, instead of `ttl_ms`. */
    int alias;
    bool auto_start;
    bool idle_pause;
    int idle_after_s;
    bool resume_on_use;
    bool manual_recovery;
    int lease_s;
    int init; /* Which list of commands: as many as its number, 0: none. */
};

enum sim_wish_kind {
    SIM_WISH_SANDBOX,
    SIM_WISH_TOMBSTONE,
    SIM_WISH_ACTIVITY,
    SIM_WISH_BAD,    /* Refused or dead-lettered, whatever the state. */
    SIM_WISH_NO_KEY, /* Dead-lettered. */
};

struct sim_wish {
    enum sim_wish_kind kind;
    int key;
    int64_t generation;    /* 0: absent. */
    int64_t if_generation; /* −1: absent. */
    int64_t ce_id;         /* 0: none. */
    struct sim_shape shape;
    bool active; /* Activity. */
    int64_t active_ttl_ms;
    int bad; /* Which defect. */
    /* Where it was written first. */
    int partition;
    int64_t offset;
    int64_t timestamp_ms;
    bool aborted;     /* Its transaction was: it never was. */
    int judgements;   /* Committed. */
    int forwards;     /* Committed. */
    int forwarded_to; /* Partition, and offset there. */
    int64_t forwarded_at;
};

struct sim_wishes {
    struct sim_wish *wishes;
    int64_t count, capacity;
    int key_count;
    char keys[SIM_KEYS_MAX][32];
    int shard[SIM_KEYS_MAX];
    struct sim_shape newest[SIM_KEYS_MAX]; /* What the upstream system wished last. */
    int64_t newest_generation[SIM_KEYS_MAX];
    int64_t ce_count;
    int64_t open_txn;  /* Of an upstream system; SIM_NO_TXN: none. */
    int64_t open_from; /* First wish in it. */
    int64_t every_ms;
};

void sim_wishes_init(struct sim_world *world);
void sim_wishes_done(struct sim_wishes *wishes);

/* Writes one record, or ends an upstream transaction, and plans the next. */
void sim_wishes_produce(struct sim_world *world);

/* Ends what is open, and brings every key to a plain last wish now and then. */
void sim_wishes_calm(struct sim_world *world);
void sim_wishes_end_txn(struct sim_world *world, bool commit);
bool sim_shape_equal(const struct sim_shape *a, const struct sim_shape *b);

#endif
