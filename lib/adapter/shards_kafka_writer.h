/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of one shard: claims it, commits its batches, and finds out what became of them. One
 * thread each, because every call of a transaction blocks. */
#ifndef SLU_ADAPTER_SHARDS_KAFKA_WRITER_H
#define SLU_ADAPTER_SHARDS_KAFKA_WRITER_H

#include "shards_kafka_elector.h"
#include "shards_kafka_events.h"
#include "shards_kafka_producer.h"
#include "shards_kafka_reader.h"

struct slu_writer;

/* What all writers share. */
struct slu_writer_home {
    const struct slu_kafka *kafka;
    char cluster[SLU_CLUSTER_SIZE];
    int shard_count;
    struct slu_events *events;
    struct slu_elector *elector;
    struct slu_reader *reader;
    struct slu_reaper *reaper;
    void (*suspect)(void *context, const char *why); /* Kafka may be away: any thread. */
    void *context;
};

struct slu_writer *slu_writer_new(const struct slu_writer_home *home, int shard);

/* Each returns at once; done in order. */
void slu_writer_claim(struct slu_writer *writer, const struct slu_shards_sink *sink);
void slu_writer_commit(struct slu_writer *writer, struct slu_batch *batch);
void slu_writer_release(struct slu_writer *writer);

/* BOOTTIME of the last progress of a claim that has not led to a commit; 0: no claim goes on. */
int64_t slu_writer_claiming_since_ms(const struct slu_writer *writer);

/* True once no batch is in flight; false when that takes longer. */
bool slu_writer_wait_idle(struct slu_writer *writer, int64_t patience_ms);
void slu_writer_stop(struct slu_writer *writer);

/* False: it hangs and was left behind. */
bool slu_writer_close(struct slu_writer *writer, int64_t patience_ms);

#endif
