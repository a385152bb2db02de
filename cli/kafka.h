/* SPDX-License-Identifier: Apache-2.0 */
/* Kafka for commands: reading partitions from one place to another, following them, publishing.
 * Plain consumers without group and a plain producer; nothing here leads or fences. */
#ifndef SLU_CLI_KAFKA_H
#define SLU_CLI_KAFKA_H

#include "cli.h"
#include "slu/model/record.h"

#include <librdkafka/rdkafka.h>

enum {
    KAFKA_CALL_MS = 10000
};

void kafka_topic_name(const struct cli *cli, enum slu_topic topic, char ret_name[256]);

/* Number of shards: partitions of <prefix>shards. 0: complained. */
int kafka_shard_count(const struct cli *cli);

/* A reader of any topics. `committed` false also sees what no transaction has committed yet. */
struct kafka_reader;
struct kafka_reader *kafka_reader_new(const struct cli *cli, bool committed);
void kafka_reader_free(struct kafka_reader *reader);

/* First and next offset of a partition; for a committed reader the next readable one. */
bool kafka_reader_range(struct kafka_reader *reader,
                        enum slu_topic topic,
                        int partition,
                        int64_t *ret_low,
                        int64_t *ret_high);

/* Adds a partition from `offset` on. Before the first kafka_reader_next. */
void
kafka_reader_add(struct kafka_reader *reader, enum slu_topic topic, int partition, int64_t offset);
bool kafka_reader_start(struct kafka_reader *reader);

/* The next record; lent until the next call. False: none within `wait_ms`, or (with `until_end`)
 * every partition was read to its end. */
bool kafka_reader_next(struct kafka_reader *reader,
                       bool until_end,
                       int wait_ms,
                       enum slu_topic *ret_topic,
                       struct slu_record *ret_record);
bool kafka_reader_failed(const struct kafka_reader *reader); /* No broker; complained. */

/* Adds the last `count` records' worth of offsets of every partition (0: all). */
bool kafka_reader_add_all(struct kafka_reader *reader, enum slu_topic topic, int64_t count);

/* Text of a record header; "" when absent or too long. */
const char *
kafka_header(const struct slu_record *record, const char *name, char *ret_text, size_t size);

/* A record to publish, and where it was written. */
struct kafka_message {
    char key[600];
    int partition;
    const void *value; /* NULL: a tombstone. */
    size_t size;
    const char *kind_word;
    bool redrive;
    int64_t offset; /* −1: not delivered. */
    bool ended;
};

/* Publishes all to the desired topic and waits for their delivery reports. False: complained. */
bool kafka_publish(const struct cli *cli, struct kafka_message *messages, size_t count);

/* What Kafka said last, for messages. */
const char *kafka_trouble(void);

/* True after SIGINT or SIGTERM: loops end, and what is open is closed. */
bool interrupted(void);
void catch_interrupts(void);

#endif
