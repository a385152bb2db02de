/* SPDX-License-Identifier: Apache-2.0 */
/* The record of `sluice.shards` (design.md §3): who leads a shard, and how far it was admitted. */
#ifndef SLU_MODEL_SHARD_RECORD_H
#define SLU_MODEL_SHARD_RECORD_H

#include "slu/base/buffer.h"
#include "slu/base/status.h"

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SLU_CLUSTER_SIZE = 40,
    SLU_OWNER_MAX = 255,
    SLU_ADMITTED_MAX = 8, /* Desired partitions one shard reads: its own and strays ≥ N. */
};

struct slu_shard_record {
    char cluster[SLU_CLUSTER_SIZE];
    int shard_count;
    int64_t epoch;
    int64_t seq;
    char owner[SLU_OWNER_MAX + 1]; /* URL of the leader's internal endpoint; "" before the first. */

    struct {
        int partition;
        int64_t next_offset;
    } admitted[SLU_ADMITTED_MAX];

    int admitted_count;
    int64_t claims;  /* Claims since the position last moved. */
    char trying[48]; /* "partition/offset" of a record admitted alone; "" mostly. */
    int64_t tries;   /* Leaders that were about to admit `trying`; 0 without one. */
    json_t *unknown; /* Members this version does not know: kept and written back. */
};

enum slu_status slu_shard_record_read(const void *bytes,
                                      size_t size,
                                      struct slu_shard_record *ret_record,
                                      struct slu_error *reterr);
void slu_shard_record_write(const struct slu_shard_record *record, struct slu_buffer *out);
void slu_shard_record_done(struct slu_shard_record *record);
int64_t slu_shard_record_admitted(const struct slu_shard_record *record,
                                  int partition); /* 0: none */
void slu_shard_record_advance(struct slu_shard_record *record, int partition, int64_t next_offset);

#endif
