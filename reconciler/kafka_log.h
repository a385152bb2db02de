/* SPDX-License-Identifier: Apache-2.0 */
/* The log at run time: opened off the loop, again and again until Kafka answers; its events carried
 * to their shards. */
#ifndef SLU_RECONCILER_KAFKA_LOG_H
#define SLU_RECONCILER_KAFKA_LOG_H

#include "replica.h"

void slu_kafka_log_start(struct slu_replica *replica);

/* Waits for open transactions, leaves the group. Blocks for some seconds at most. */
void slu_kafka_log_stop(struct slu_replica *replica, int64_t patience_ms);

#endif
