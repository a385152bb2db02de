/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses packed for the trip to Redis: in portions small enough that one script call never keeps
 * Redis from its other clients for long. Owns copies of everything. */
#ifndef SLU_ADAPTER_STORE_REDIS_RECORDS_H
#define SLU_ADAPTER_STORE_REDIS_RECORDS_H

#include "slu/base/buffer.h"

#include <stddef.h>
#include <sys/queue.h>

enum {
    SLU_REDIS_PORTION_RECORDS = 256,
    SLU_REDIS_PORTION_BYTES = 512 * 1024, /* Or one record, whatever its size. */
    SLU_REDIS_RECORD_ARGS = 4,            /* key, "<kind>:<id>", index, status. */
};

struct slu_redis_portion {
    TAILQ_ENTRY(slu_redis_portion) next;
    int count;
    struct slu_buffer bytes;
    size_t
        ends[SLU_REDIS_PORTION_RECORDS * SLU_REDIS_RECORD_ARGS]; /* Of each argument in `bytes`. */
};

TAILQ_HEAD(slu_redis_portion_list, slu_redis_portion);

struct slu_redis_records {
    struct slu_redis_portion_list portions;
    int portion_count;
};

void slu_redis_records_init(struct slu_redis_records *records);
void slu_redis_records_done(struct slu_redis_records *records);

/* `status` NULL removes the key. The index comes from the status document's scope. */
void slu_redis_records_add(struct slu_redis_records *records,
                           const char *key,
                           size_t key_size,
                           const char *status,
                           size_t status_size);

/* The next portion, out of the list; NULL when there is none. The caller frees. */
struct slu_redis_portion *slu_redis_records_take(struct slu_redis_records *records);
void slu_redis_portion_free(struct slu_redis_portion *portion);

#endif
