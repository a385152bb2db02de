/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the brokers that may take their time: where partitions end, whether anybody answers,
 * how many partitions desired has. One thread, so that nobody else has to wait. */
#ifndef SLU_ADAPTER_SHARDS_KAFKA_ASKER_H
#define SLU_ADAPTER_SHARDS_KAFKA_ASKER_H

#include "shards_kafka_client.h"
#include "shards_kafka_events.h"

struct slu_asker;

struct slu_ask {
    int shard;
    int64_t token;
    int64_t life; /* The asker's owner knows it again by this. */
    int count;

    struct {
        int partition;
        int64_t end; /* Filled by the asker. */
    } of[SLU_ADMITTED_MAX];
};

struct slu_asker_settings {
    rd_kafka_t *client; /* Lent, as is the topic: desired. */
    rd_kafka_topic_t *topic;
    int partitions;            /* Of it, now. */
    struct slu_events *events; /* DOWN and UP. */

    /* Asker's thread: the ends are known. */
    void (*answer)(void *context, const struct slu_ask *ask);
    void *context;
};

struct slu_asker *slu_asker_new(const struct slu_asker_settings *settings);

/* Any thread; each returns at once. */
void slu_asker_ask(struct slu_asker *asker, const struct slu_ask *ask);
void slu_asker_suspect(struct slu_asker *asker, const char *why);
int slu_asker_partitions(const struct slu_asker *asker);

/* BOOTTIME since when brokers answer; INT64_MAX while none does. */
int64_t slu_asker_up_since_ms(const struct slu_asker *asker);
bool slu_asker_close(struct slu_asker *asker, int64_t patience_ms);

#endif
