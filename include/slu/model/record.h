/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the log: what is read from it, and what one transaction writes to it. */
#ifndef SLU_MODEL_RECORD_H
#define SLU_MODEL_RECORD_H

#include "slu/base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slu_topic {
    SLU_TOPIC_DESIRED,
    SLU_TOPIC_STATUS,
    SLU_TOPIC_EVENTS,
    SLU_TOPIC_SECRETS,
    SLU_TOPIC_SHARDS,
    SLU_TOPIC_DEADLETTER,
    SLU_TOPIC_COUNT,
};

extern const char *const slu_topic_names[SLU_TOPIC_COUNT]; /* "desired", …: after the prefix. */

enum {
    SLU_RECORD_HEADERS_MAX = 16,                       /* More are ignored on input. */
    SLU_OUTPUT_SIZE_MAX = 2 * 1024 * 1024 - 64 * 1024, /* Key, value, headers together. */
};

struct slu_header {
    const char *name;
    const void *value; /* Not NUL-terminated. */
    size_t size;
};

/* A record as read. Everything it points to is lent, until the reader's next step says otherwise.
 */
struct slu_record {
    int partition;
    int64_t offset;
    int64_t timestamp_ms; /* Append time at the broker. */
    const void *key;      /* NULL when it has none. */
    size_t key_size;
    const void *value; /* NULL: a tombstone. */
    size_t value_size;
    struct slu_header headers[SLU_RECORD_HEADERS_MAX];
    size_t header_count;
};

/* NULL when absent. Names are compared exactly. */
const struct slu_header *slu_record_header(const struct slu_record *record, const char *name);

/* A record to write. Owns its bytes. */
struct slu_output {
    enum slu_topic topic;
    int partition;
    char *key;
    size_t key_size;
    char *value; /* NULL: a tombstone. */
    size_t value_size;

    struct slu_output_header {
        char name[24];
        char *value; /* NUL-terminated text. */
    } headers[SLU_RECORD_HEADERS_MAX];

    size_t header_count;
};

/* Everything one transaction of one shard writes. The shard record is its last output. Kept by the
 * committer, unchanged, until it has committed (design.md §7: roll forward, never back). */
struct slu_batch {
    int shard;
    int64_t epoch;
    int64_t seq;
    bool claim; /* The first transaction of a claim. */
    struct slu_output *outputs;
    size_t count, capacity;
    size_t bytes;
};

struct slu_output *slu_batch_add(struct slu_batch *batch, enum slu_topic topic, int partition);
void slu_output_header(struct slu_output *output, const char *name, const char *format, ...)
    SLU_PRINTF(3, 4);

/* The same without a format: the hot path writes a dozen headers for every record. */
void slu_output_header_text(struct slu_output *output, const char *name, const char *value);
void slu_output_header_int(struct slu_output *output, const char *name, int64_t value);
size_t slu_output_size(const struct slu_output *output);
struct slu_batch *slu_batch_new(int shard);
void slu_batch_free(struct slu_batch *batch);

#endif
