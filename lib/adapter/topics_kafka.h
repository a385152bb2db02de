/* SPDX-License-Identifier: Apache-2.0 */
/* What slu_shards_open and the topic tools both want to know of the topics. */
#ifndef SLU_ADAPTER_TOPICS_KAFKA_H
#define SLU_ADAPTER_TOPICS_KAFKA_H

#include "shards_kafka_reader.h"

/* N and the cluster uid, the same in every partition; SLU_INVALID or SLU_NOT_FOUND with what to run
 * when they are not. */
enum slu_status slu_topics_survey(struct slu_reader *reader,
                                  int *ret_shard_count,
                                  char ret_cluster[SLU_CLUSTER_SIZE],
                                  struct slu_error *reterr);

#endif
