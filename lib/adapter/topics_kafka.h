/* SPDX-License-Identifier: Apache-2.0 */
/* What slu_shards_open and the topic tools both want to know of the topics. */
#ifndef SLU_ADAPTER_TOPICS_KAFKA_H
#define SLU_ADAPTER_TOPICS_KAFKA_H

#include "shards_kafka_reader.h"

struct slu_topics_found {
    int shard_count;
    int inputs;                     /* Partitions of desired. */
    char cluster[SLU_CLUSTER_SIZE]; /* The same in every partition. */
};

/* SLU_INVALID or SLU_NOT_FOUND, with what to run, when the partitions do not agree. */
enum slu_status slu_topics_survey(struct slu_reader *reader,
                                  struct slu_topics_found *ret_found,
                                  struct slu_error *reterr);

#endif
