/* SPDX-License-Identifier: Apache-2.0 */
/* The shards port in memory: several replicas on one log, in one thread, without time-outs but that
 * of a loop which does not tick. What a call causes has happened when it returns. */
#ifndef SLU_TESTS_FAKE_SHARDS_H
#define SLU_TESTS_FAKE_SHARDS_H

#include "slu/model/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fake_log;

enum {
    FAKE_LOG_SHARDS_MAX = 16,
    FAKE_LOG_PARTITIONS_MAX = 64,
    FAKE_LOG_MEMBERS_MAX = 8
};

/* With its first shard records. `inputs`: partitions of desired, at least the shards. */
struct fake_log *fake_log_new(int shard_count, int inputs);
void fake_log_free(struct fake_log *log); /* After every replica was closed. */

/* For slu_shards_settings.brokers. */
const char *fake_log_address(const struct fake_log *log);

int64_t fake_log_put(struct fake_log *log,
                     enum slu_topic topic,
                     int partition,
                     const char *key,
                     const void *value,
                     size_t value_size);
void fake_log_put_hole(struct fake_log *log, enum slu_topic topic, int partition);
void fake_log_delete_before(struct fake_log *log, int partition, int64_t offset);
void fake_log_each(struct fake_log *log,
                   enum slu_topic topic,
                   int partition,
                   void (*visit)(void *context, const struct slu_record *record),
                   void *context);

enum fake_fault {
    FAKE_NO_FAULT,
    FAKE_ABORTED,           /* The next commit of the shard is aborted. */
    FAKE_UNCLEAR_COMMITTED, /* … commits, but the answer is lost. */
    FAKE_UNCLEAR_LOST,      /* … is lost with its answer. */
    FAKE_FENCED_IDLE,       /* Now: somebody takes the shard's id and writes nothing. */
    FAKE_FENCED_LED,        /* Now: somebody leads at epoch + 1. */
};

void fake_log_fault(struct fake_log *log, int shard, enum fake_fault fault);

/* No broker answers: claims and commits wait, input is silent. */
void fake_log_down(struct fake_log *log, bool down);

#endif
