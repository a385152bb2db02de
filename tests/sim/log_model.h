/* SPDX-License-Identifier: Apache-2.0 */
/* A pretend Kafka: the topics, transactions with their markers, fencing by transactional id, the
 * last stable offset, append times and compaction. It keeps nothing from a reader that a real
 * broker would show, and shows nothing that one would keep. */
#ifndef SIM_LOG_MODEL_H
#define SIM_LOG_MODEL_H

#include "slu/model/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIM_SHARDS_MAX = 4,
    SIM_PARTITIONS_MAX = SIM_SHARDS_MAX + 2, /* Desired may have partitions no shard owns. */
    SIM_NO_TXN = -1,
};

struct sim_entry {
    struct slu_output *output; /* NULL: a control record, or cleaned away. */
    int64_t timestamp_ms;
    int64_t txn;
    int64_t wish; /* Which wish of the producers this is; −1 for what the leaders wrote. */
};

struct sim_partition {
    struct sim_entry *entries; /* The index is the offset. */
    size_t count, capacity;
    size_t stable; /* Last stable offset. */
};

enum sim_txn_state {
    SIM_TXN_OPEN,
    SIM_TXN_COMMITTED,
    SIM_TXN_ABORTED
};

struct sim_place {
    enum slu_topic topic;
    int partition;
    int64_t offset;
};

struct sim_txn {
    int shard;        /* −1: of an upstream system. */
    int64_t producer; /* Which init of the shard's transactional id. */
    enum sim_txn_state state;
    int64_t opened_at_ms;
    int replica;
    struct sim_place *places;
    size_t count, capacity;
};

struct sim_log {
    int shard_count;
    int desired_count; /* Partitions of desired: at least `shard_count`. */
    struct sim_partition partitions[SLU_TOPIC_COUNT][SIM_PARTITIONS_MAX];
    int64_t producers[SIM_SHARDS_MAX]; /* The newest init of each transactional id. */
    struct sim_txn *txns;
    int64_t txn_count, txn_capacity;
};

struct sim_world;

void sim_log_init(struct sim_world *world, int shard_count, int desired_count);
void sim_log_done(struct sim_log *log);

/* Appends outside any transaction, acknowledged at once. Takes a copy. */
int64_t sim_log_append(struct sim_world *world, const struct slu_output *output, int64_t wish);

/* init_transactions: fences every older producer of this shard and aborts what they left open. */
int64_t sim_log_init_producer(struct sim_world *world, int shard);

/* The transaction's number, or −1 when the producer is fenced. `shard` −1 never is. */
int64_t sim_log_begin(struct sim_world *world, int shard, int64_t producer, int replica);

/* False: fenced. `ret_timestamp_ms` is the append time. */
bool sim_log_append_in(struct sim_world *world,
                       int64_t txn,
                       const struct slu_output *output,
                       int64_t wish,
                       int64_t *ret_timestamp_ms);

/* False: it had ended otherwise before. */
bool sim_log_end(struct sim_world *world, int64_t txn, bool commit);

/* Moves the position to the next record a read_committed reader may see and fills it; false at the
 * last stable offset. What the record points to is lent until the log is cleaned. */
bool sim_log_read(struct sim_log *log,
                  enum slu_topic topic,
                  int partition,
                  size_t *position,
                  struct slu_record *ret_record);
size_t sim_log_stable_end(const struct sim_log *log, enum slu_topic topic, int partition);
const struct sim_entry *
sim_log_entry(const struct sim_log *log, enum slu_topic topic, int partition, int64_t offset);

/* Keeps the newest record per key among those below `before` that every reader may see. */
void sim_log_compact(
    struct sim_log *log, enum slu_topic topic, int partition, size_t before, bool drop_tombstones);

#endif
