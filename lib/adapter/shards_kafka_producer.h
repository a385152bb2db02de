/* SPDX-License-Identifier: Apache-2.0 */
/* The transactional producer of one shard: its transactional id is the shard's fence. Knows how one
 * attempt to commit ended, and nothing of what to do then (shards_kafka_writer.c does). One thread.
 */
#ifndef SLU_ADAPTER_SHARDS_KAFKA_PRODUCER_H
#define SLU_ADAPTER_SHARDS_KAFKA_PRODUCER_H

#include "shards_kafka_client.h"
#include "shards_kafka_reaper.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct slu_producer;

/* Asks for the metadata of every topic at once: otherwise the first transaction takes a second.
 * Calls end early, as unclear, once `stop` is true; NULL: never. */
enum slu_status slu_producer_open(const struct slu_kafka *kafka,
                                  const char *transactional_id,
                                  const atomic_bool *stop,
                                  struct slu_producer **ret_producer,
                                  struct slu_error *reterr);

/* Fences every other holder of the id, and settles what it left open. RETRY: call again (with the
 * same producer); FATAL: open a new one. Blocks for about a second at most. */
enum slu_status slu_producer_init(struct slu_producer *producer, struct slu_error *reterr);

/* Frees; the reaper gets the client. NULL is fine. */
void slu_producer_close(struct slu_producer *producer, struct slu_reaper *reaper);

enum slu_attempt_end {
    SLU_ATTEMPT_COMMITTED,
    SLU_ATTEMPT_ABORTED, /* Not committed, for certain. The same producer may try again. */
    SLU_ATTEMPT_UNCLEAR, /* Fenced, or unknown. This producer can do nothing more. */
    SLU_ATTEMPT_REFUSED, /* Not committed, and these bytes never will be: `error` names the output.
                          */
};

struct slu_attempt {
    int64_t began_boottime_ms; /* Read before the transaction begins. */
    int64_t append_ms;         /* By the broker, of the shard record; from its delivery report. */
    int64_t done_boottime_ms;  /* When that report came. */
    bool reported;             /* Those two are known. */
    struct slu_error error;
};

/* One transaction with all of the batch's outputs, the shard record last. */
enum slu_attempt_end slu_producer_commit(struct slu_producer *producer,
                                         const struct slu_batch *batch,
                                         struct slu_attempt *ret_attempt);

#endif
