/* SPDX-License-Identifier: Apache-2.0 */
/* A replica as the tests drive it: an opened port, its events sorted as they come, and a stand-in
 * for the engine that writes batches. All replicas are ticked while a test waits for one of them.
 */
#ifndef SLU_TESTS_SHARDS_REPLICA_H
#define SLU_TESTS_SHARDS_REPLICA_H

#include "shards_subject.h"

enum {
    REPLICA_SHARDS_MAX = 16,
    RESTORED_MAX = 16,
};

/* What a replica knows of one shard. */
struct lead {
    struct slu_shard_record newest; /* Of the last claim. */
    int64_t epoch, seq;             /* Ours, of the batch made last. */

    struct {
        char key[64];
        char *value; /* NULL: a tombstone. */
    } restored[RESTORED_MAX];

    size_t restored_count; /* Those beyond RESTORED_MAX are only counted. */

    size_t input_count;
    bool input_in_order; /* No offset came twice or backwards (of one partition alone). */
    int64_t first_offset, last_offset;
    char first_value[64];
    char last_key[64];
    bool last_is_tombstone;
    int64_t last_timestamp_ms;
};

struct replica {
    struct subject *log;
    char name[32];
    struct slu_shards *shards;
    bool candidate[REPLICA_SHARDS_MAX];
    struct lead leads[REPLICA_SHARDS_MAX];
    bool refuse_status;
    struct replica_private *private;
};

struct replica *replica_open(struct subject *log, const char *name); /* And elects. */
struct replica *replica_open_idle(struct subject *log, const char *name);
struct replica *
replica_open_idle_for(struct subject *log, const char *name, int64_t claim_patience_ms);
void replica_close(struct replica *replica);
void replica_close_all(void);

/* Waits for an event and takes it out; shard −1: any. Fails the test after 60 s. */
struct slu_shard_event
replica_await(struct replica *replica, enum slu_shard_event_kind kind, int shard);
struct slu_shard_event replica_await_for(struct replica *replica,
                                         enum slu_shard_event_kind kind,
                                         int shard,
                                         int64_t patience_ms);
/* False: the second kind came first, for any shard; it is not taken. */
bool replica_await_unless(struct replica *replica,
                          enum slu_shard_event_kind kind,
                          int shard,
                          enum slu_shard_event_kind unless);
bool replica_has(struct replica *replica, enum slu_shard_event_kind kind); /* Came, not awaited. */
void replica_await_candidacies(struct replica *const *those, int count, const int *each);

void replica_ask_claim(struct replica *replica, int shard);
void replica_claim(struct replica *replica, int shard);        /* Until CLAIM_READ. */
void replica_commit_claim(struct replica *replica, int shard); /* The claim's first batch. */
void replica_lead(struct replica *replica, int shard);         /* Candidate, claim, first batch. */
void replica_read_through(struct replica *replica, int shard);

struct slu_batch *replica_batch(struct replica *replica, int shard);
struct slu_batch *replica_claim_batch(struct replica *replica, int shard); /* Sealed. */
struct slu_batch *replica_batch_sealed(struct replica *replica, int shard);
void replica_seal(struct replica *replica, int shard, struct slu_batch *batch);
struct slu_shard_event replica_commit(struct replica *replica, int shard, struct slu_batch *batch);
struct slu_output *batch_output(struct slu_batch *batch,
                                enum slu_topic topic,
                                int partition,
                                const char *key,
                                const char *value);
struct slu_output *
batch_status(struct slu_batch *batch, int partition, const char *key, const char *value);

/* A loop that hangs neither ticks nor takes events. */
void replica_hang(struct replica *replica, bool hanging);

/* Waits for a first wake-up, and a while longer, without taking anything. */
void replica_let_events_queue(struct replica *replica);
int replica_wakes(struct replica *replica);

/* Takes what is queued and keeps it. Returns the bytes of its records. */
size_t replica_hold_queued(struct replica *replica);
void replica_end_held(struct replica *replica);

/* What a topic holds. */
struct seen {
    size_t count;

    struct {
        char key[64];
        char value[64]; /* The beginning. */
        size_t value_size;
        char headers[160]; /* "name=value;…" */
        int64_t timestamp_ms;
    } last;
};

void see(struct subject *log, enum slu_topic topic, int partition, struct seen *ret_seen);

#endif
