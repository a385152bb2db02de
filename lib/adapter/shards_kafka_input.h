/* SPDX-License-Identifier: Apache-2.0 */
/* Input: one plain consumer that reads desired partitions for shards. Never a member of a group, so
 * a rebalance does not touch it; each partition starts and stops alone, so a change for one shard
 * neither interrupts nor repeats anything for another. */
#ifndef SLU_ADAPTER_SHARDS_KAFKA_INPUT_H
#define SLU_ADAPTER_SHARDS_KAFKA_INPUT_H

#include "shards_kafka_client.h"
#include "shards_kafka_events.h"

struct slu_input;

struct slu_input_settings {
    const struct slu_kafka *kafka; /* Lent for the input's life. */
    int shard_count;
    int partitions; /* Of desired, now. */
    struct slu_events *events;
};

enum slu_status slu_input_open(const struct slu_input_settings *settings,
                               struct slu_input **ret_input,
                               struct slu_error *reterr);

/* All of these only from the loop's thread; each returns at once. */
void slu_input_read(struct slu_input *input, int shard, int partition, int64_t offset);
void slu_input_pause(struct slu_input *input, int shard, bool paused);
void slu_input_release(struct slu_input *input, int shard);
void slu_input_ask_end(struct slu_input *input, int shard, int64_t token);

/* False: the event belongs to an earlier read of its shard and must not be seen. */
bool slu_input_is_current(struct slu_input *input, const struct slu_shard_event *event);

/* Partitions of desired, as last seen. */
int slu_input_partitions(struct slu_input *input);

/* Any thread: Kafka may be away. The events DOWN and UP follow when it is. */
void slu_input_suspect(struct slu_input *input, const char *why);
int64_t slu_input_up_since_ms(struct slu_input *input); /* BOOTTIME; INT64_MAX while away. */

/* A block of memory that lives as long as its event, and tells the input when it ends. */
void slu_input_event_done(void *private_block);

/* Ends the threads. False: one hangs and was left behind; do not free then. */
bool slu_input_stop(struct slu_input *input, int64_t patience_ms);

/* After every event has ended. Gives the client back, for the reaper. */
rd_kafka_t *slu_input_free(struct slu_input *input);

#endif
