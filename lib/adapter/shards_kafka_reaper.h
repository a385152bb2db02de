/* SPDX-License-Identifier: Apache-2.0 */
/* Ends clients in the background: rd_kafka_destroy may hang for ever on librdkafka 2.0.2, and no
 * shard may hang with it. */
#ifndef SLU_ADAPTER_SHARDS_KAFKA_REAPER_H
#define SLU_ADAPTER_SHARDS_KAFKA_REAPER_H

#include <librdkafka/rdkafka.h>

#include <stdbool.h>
#include <stdint.h>

struct slu_reaper;

struct slu_reaper *slu_reaper_new(void);

/* Takes the client, on which nobody else may be working. NULL is fine. */
void slu_reaper_take(struct slu_reaper *reaper, rd_kafka_t *client);

/* Waits until all are gone; false: some hang, and are left behind. Frees in either case. */
bool slu_reaper_close(struct slu_reaper *reaper, int64_t patience_ms);

#endif
