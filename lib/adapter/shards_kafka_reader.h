/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a partition from somewhere to an end, committed records only: what a claim, a roll-forward
 * and the topic tools need. Calls block; several threads may read at once, each another partition.
 */
#ifndef SLU_ADAPTER_SHARDS_KAFKA_READER_H
#define SLU_ADAPTER_SHARDS_KAFKA_READER_H

#include "shards_kafka_client.h"
#include "shards_kafka_reaper.h"
#include "slu/model/shard_record.h"

#include <stdatomic.h>
#include <stdbool.h>

struct slu_reader;

enum slu_status slu_reader_open(const struct slu_kafka *kafka,
                                struct slu_reader **ret_reader,
                                struct slu_error *reterr);

/* Nobody may be reading. NULL is fine. */
void slu_reader_close(struct slu_reader *reader, struct slu_reaper *reaper);
rd_kafka_t *slu_reader_client(const struct slu_reader *reader);

/* Partitions of a topic; NOT_FOUND when it does not exist. */
enum slu_status slu_reader_partitions(struct slu_reader *reader,
                                      enum slu_topic topic,
                                      int *ret_count,
                                      struct slu_error *reterr);

/* Which end of a partition is meant. */
enum slu_reader_end {
    SLU_READER_STABLE, /* The last stable offset: what a reader of committed records can reach now.
                        */
    SLU_READER_WHOLE,  /* The end of the log. A transaction that is still open, or whose marks are
                          not  written yet although its commit was answered, lies before it: a read
                          to  here  waits for its fate. */
};

struct slu_reader_place {
    enum slu_topic topic;
    int partition;
    enum slu_reader_end end;
};

enum slu_status slu_reader_bounds(struct slu_reader *reader,
                                  const struct slu_reader_place *place,
                                  int64_t *ret_begin,
                                  int64_t *ret_end,
                                  struct slu_error *reterr);

/* One read. Ends with RETRY when `stop` becomes true or nothing comes for 10 s. */
struct slu_reading {
    enum slu_topic topic;
    int partition;
    int64_t from; /* Position, inclusive. */
    int64_t end;  /* Position to be reached: holes and control records count. */
    enum slu_status (*visit)(void *context,
                             const struct slu_record *record,
                             struct slu_error *reterr);
    void *context;
    const atomic_bool *stop;   /* NULL: never. */
    atomic_llong *progress_ms; /* Moved to now (BOOTTIME) while records come; or NULL. */
};

enum slu_status slu_reader_read(struct slu_reader *reader,
                                const struct slu_reading *reading,
                                struct slu_error *reterr);

/* The newest shard record of shards[shard], as the bytes it has in the log and as parsed. */
struct slu_shard_found {
    struct slu_shard_record record;
    struct slu_buffer bytes;
    int64_t append_ms;
    bool is_there;
};

/* NOT_FOUND when there is none. The caller ends `ret_found` in any case. */
enum slu_status slu_reader_newest(struct slu_reader *reader,
                                  int shard,
                                  enum slu_reader_end end,
                                  const atomic_bool *stop,
                                  struct slu_shard_found *ret_found,
                                  struct slu_error *reterr);
void slu_shard_found_done(struct slu_shard_found *found);

#endif
