/* SPDX-License-Identifier: Apache-2.0 */
/* What the shards suite needs of a log beside the port itself: its records, and its accidents.
 * subject_fake.c and subject_kafka.c are the two. */
#ifndef SLU_TESTS_SHARDS_SUBJECT_H
#define SLU_TESTS_SHARDS_SUBJECT_H

#include "slu/port/shards.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void subject_start(void); /* Once per program. */
void subject_stop(void);
bool subject_is_real(void);

/* A log with topics of its own: N shards, and `inputs` ≥ N partitions of desired. */
struct subject;
struct subject *subject_new(int shard_count, int inputs);
void subject_free(struct subject *subject);

/* Fills where the log is; the rest is the caller's. Lent. */
void subject_settings(const struct subject *subject, struct slu_shards_settings *ret_settings);

/* As any producer writes; a NULL value is a tombstone. Returns the offset. */
int64_t subject_put(struct subject *subject,
                    enum slu_topic topic,
                    int partition,
                    const char *key,
                    const void *value,
                    size_t value_size);

/* A record of a transaction that was aborted: it takes offsets and is never seen. */
void subject_put_aborted(struct subject *subject, enum slu_topic topic, int partition);

/* The same, committed: a control record lies behind it. */
void subject_put_committed(struct subject *subject,
                           enum slu_topic topic,
                           int partition,
                           const char *key,
                           const char *value);

/* Every committed record, in order. Lent during the call. */
void subject_each(struct subject *subject,
                  enum slu_topic topic,
                  int partition,
                  void (*visit)(void *context, const struct slu_record *record),
                  void *context);

/* Deletes the records of a desired partition before an offset. */
void subject_delete_before(struct subject *subject, int partition, int64_t offset);

enum subject_fault {
    SUBJECT_ABORTED,           /* The transaction is aborted. */
    SUBJECT_UNCLEAR_COMMITTED, /* It commits, and the answer is lost. */
    SUBJECT_UNCLEAR_LOST,      /* The request is lost, and with it the answer. */
    SUBJECT_FENCED_IDLE,       /* Somebody takes the shard's id, and writes nothing. */
    SUBJECT_FENCED_LED,        /* Somebody takes the shard's id, and leads at epoch + 1. */
};

/* What becomes of the shard's next commit. */
void subject_fault(struct subject *subject, int shard, enum subject_fault fault);

#endif
