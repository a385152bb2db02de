/* SPDX-License-Identifier: Apache-2.0 */
/* The pretend Kafka. Appends are visible to readers below the last stable offset and once their
 * transaction has committed; markers take offsets of their own, as on a broker. */
#include "log_model.h"

#include "slu/base/hash.h"
#include "slu/base/memory.h"
#include "world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct slu_output *
copy_output(const struct slu_output *output)
{
    struct slu_output *copy = slu_memdup(output, sizeof(*output));
    copy->key = output->key ? slu_memdup(output->key, output->key_size) : NULL;
    copy->value = output->value ? slu_memdup(output->value, output->value_size) : NULL;
    for (size_t i = 0; i < output->header_count; i++)
        copy->headers[i].value = slu_strdup(output->headers[i].value);
    return copy;
}

static void
drop_output(struct slu_output *output)
{
    if (!output)
        return;
    free(output->key);
    free(output->value);
    for (size_t i = 0; i < output->header_count; i++)
        free(output->headers[i].value);
    free(output);
}

void
sim_log_init(struct sim_world *world, int shard_count, int desired_count)
{
    world->log = (struct sim_log){.shard_count = shard_count, .desired_count = desired_count};
}

static void
drop_partition(struct sim_partition *partition)
{
    for (size_t i = 0; i < partition->count; i++)
        drop_output(partition->entries[i].output);
    free(partition->entries);
}

void
sim_log_done(struct sim_log *log)
{
    for (int topic = 0; topic < SLU_TOPIC_COUNT; topic++) {
        for (int i = 0; i < SIM_PARTITIONS_MAX; i++)
            drop_partition(&log->partitions[topic][i]);
    }
    for (int64_t i = 0; i < log->txn_count; i++)
        free(log->txns[i].places);
    free(log->txns);
}

static int64_t
append(struct sim_world *world, struct sim_partition *partition, struct sim_entry entry)
{
    if (partition->count == partition->capacity) {
        partition->capacity = partition->capacity ? partition->capacity * 2 : 64;
        partition->entries =
            slu_realloc(partition->entries, partition->capacity * sizeof(*partition->entries));
    }
    entry.timestamp_ms = sim_broker_ms(world);
    partition->entries[partition->count] = entry;
    return (int64_t) partition->count++;
}

/* Everything below the first record of an open transaction is stable. */
static void
settle_stable(struct sim_log *log, struct sim_partition *partition)
{
    while (partition->stable < partition->count) {
        const struct sim_entry *entry = &partition->entries[partition->stable];
        if (entry->txn != SIM_NO_TXN && log->txns[entry->txn].state == SIM_TXN_OPEN)
            return;
        partition->stable++;
    }
}

static struct sim_partition *
partition_of(struct sim_log *log, enum slu_topic topic, int partition)
{
    assert(partition >= 0 && partition < SIM_PARTITIONS_MAX);
    return &log->partitions[topic][partition];
}

int64_t
sim_log_append(struct sim_world *world, const struct slu_output *output, int64_t wish)
{
    struct sim_partition *partition = partition_of(&world->log, output->topic, output->partition);
    const struct sim_entry entry = {copy_output(output), 0, SIM_NO_TXN, wish};
    const int64_t offset = append(world, partition, entry);
    settle_stable(&world->log, partition);
    return offset;
}

static void
end_txn(struct sim_world *world, int64_t number, bool commit)
{
    struct sim_txn *txn = &world->log.txns[number];
    txn->state = commit ? SIM_TXN_COMMITTED : SIM_TXN_ABORTED;
    for (size_t i = 0; i < txn->count; i++) {
        struct sim_partition *partition =
            partition_of(&world->log, txn->places[i].topic, txn->places[i].partition);
        const bool marked = partition->count > 0 &&
                            !partition->entries[partition->count - 1].output &&
                            partition->entries[partition->count - 1].txn == number;
        if (!marked)
            append(world, partition, (struct sim_entry){NULL, 0, number, -1});
        settle_stable(&world->log, partition);
    }
    if (commit)
        sim_oracle_committed(world, txn);
}

int64_t
sim_log_init_producer(struct sim_world *world, int shard)
{
    struct sim_log *log = &world->log;
    for (int64_t i = 0; i < log->txn_count; i++) {
        if (log->txns[i].shard == shard && log->txns[i].state == SIM_TXN_OPEN)
            end_txn(world, i, false);
    }
    return ++log->producers[shard];
}

static bool
fenced(const struct sim_world *world, int shard, int64_t producer)
{
    return shard >= 0 && world->log.producers[shard] != producer &&
           !sim_broken(world, SIM_BREAK_LOG_FENCES_NOBODY);
}

int64_t
sim_log_begin(struct sim_world *world, int shard, int64_t producer, int replica)
{
    struct sim_log *log = &world->log;
    if (fenced(world, shard, producer))
        return -1;

    if (log->txn_count == log->txn_capacity) {
        log->txn_capacity = log->txn_capacity ? log->txn_capacity * 2 : 256;
        log->txns = slu_realloc(log->txns, (size_t) log->txn_capacity * sizeof(*log->txns));
    }
    log->txns[log->txn_count] = (struct sim_txn){
        .shard = shard, .producer = producer, .opened_at_ms = world->now_ms, .replica = replica};
    return log->txn_count++;
}

static void
remember_place(struct sim_txn *txn, struct sim_place place)
{
    if (txn->count == txn->capacity) {
        txn->capacity = txn->capacity ? txn->capacity * 2 : 4;
        txn->places = slu_realloc(txn->places, txn->capacity * sizeof(*txn->places));
    }
    txn->places[txn->count++] = place;
}

bool
sim_log_append_in(struct sim_world *world,
                  int64_t number,
                  const struct slu_output *output,
                  int64_t wish,
                  int64_t *ret_timestamp_ms)
{
    struct sim_txn *txn = &world->log.txns[number];
    if (txn->state != SIM_TXN_OPEN || fenced(world, txn->shard, txn->producer))
        return false;

    struct sim_partition *partition = partition_of(&world->log, output->topic, output->partition);
    const int64_t offset =
        append(world, partition, (struct sim_entry){copy_output(output), 0, number, wish});
    remember_place(txn, (struct sim_place){output->topic, output->partition, offset});
    *ret_timestamp_ms = partition->entries[offset].timestamp_ms;
    return true;
}

bool
sim_log_end(struct sim_world *world, int64_t number, bool commit)
{
    struct sim_txn *txn = &world->log.txns[number];
    if (txn->state != SIM_TXN_OPEN || fenced(world, txn->shard, txn->producer))
        return txn->state == (commit ? SIM_TXN_COMMITTED : SIM_TXN_ABORTED);
    end_txn(world, number, commit);
    return true;
}

static void
lend_record(const struct sim_entry *entry, int partition, size_t offset, struct slu_record *ret)
{
    const struct slu_output *output = entry->output;
    *ret = (struct slu_record){.partition = partition,
                               .offset = (int64_t) offset,
                               .timestamp_ms = entry->timestamp_ms,
                               .key = output->key,
                               .key_size = output->key_size,
                               .value = output->value,
                               .value_size = output->value_size,
                               .header_count = output->header_count};
    for (size_t i = 0; i < output->header_count; i++) {
        ret->headers[i] = (struct slu_header){output->headers[i].name, output->headers[i].value,
                                              strlen(output->headers[i].value)};
    }
}

bool
sim_log_read(struct sim_log *log,
             enum slu_topic topic,
             int partition,
             size_t *position,
             struct slu_record *ret_record)
{
    const struct sim_partition *from = partition_of(log, topic, partition);
    while (*position < from->stable) {
        const struct sim_entry *entry = &from->entries[(*position)++];
        if (!entry->output)
            continue;
        if (entry->txn != SIM_NO_TXN && log->txns[entry->txn].state != SIM_TXN_COMMITTED)
            continue;
        lend_record(entry, partition, *position - 1, ret_record);
        return true;
    }
    return false;
}

size_t
sim_log_stable_end(const struct sim_log *log, enum slu_topic topic, int partition)
{
    return log->partitions[topic][partition].stable;
}

const struct sim_entry *
sim_log_entry(const struct sim_log *log, enum slu_topic topic, int partition, int64_t offset)
{
    if (partition < 0 || partition >= SIM_PARTITIONS_MAX)
        return NULL;
    const struct sim_partition *from = &log->partitions[topic][partition];
    return offset >= 0 && (size_t) offset < from->count ? &from->entries[offset] : NULL;
}

enum {
    KEYS_MAX = 64
};

/* True when the key was met before, newer. */
static bool
met(uint64_t *keys, size_t *count, const struct slu_output *output)
{
    const uint64_t key = slu_hash64(output->key, output->key_size);
    for (size_t i = 0; i < *count; i++) {
        if (keys[i] == key)
            return true;
    }
    assert(*count < KEYS_MAX);
    keys[(*count)++] = key;
    return false;
}

void
sim_log_compact(
    struct sim_log *log, enum slu_topic topic, int partition, size_t before, bool drop_tombstones)
{
    struct sim_partition *cleaned = partition_of(log, topic, partition);
    uint64_t keys[KEYS_MAX];
    size_t key_count = 0;

    for (size_t i = before < cleaned->stable ? before : cleaned->stable; i-- > 0;) {
        struct sim_entry *entry = &cleaned->entries[i];
        if (!entry->output || !entry->output->key)
            continue;
        const bool aborted =
            entry->txn != SIM_NO_TXN && log->txns[entry->txn].state != SIM_TXN_COMMITTED;
        if (aborted || met(keys, &key_count, entry->output) ||
            (drop_tombstones && !entry->output->value)) {
            drop_output(entry->output);
            entry->output = NULL;
        }
    }
}
