/* SPDX-License-Identifier: Apache-2.0 */
/* The topics of one Sluice: made, checked, and a shard's position set by hand. For `sluice topics`
 * and `sluice shards reset`; every call blocks until Kafka has answered. Never deletes anything. */
#ifndef SLU_ADAPTER_TOPICS_H
#define SLU_ADAPTER_TOPICS_H

#include "slu/base/buffer.h"
#include "slu/base/status.h"
#include "slu/model/shard_record.h"

#include <stdint.h>

struct slu_topics_settings {
    const char *brokers;
    const char *topic_prefix; /* "sluice." */
    const char *client_id;
    const char *properties; /* "name=value;…": further librdkafka properties; or "". */
};

enum {
    SLU_SHARD_COUNT_DEFAULT = 16,
    SLU_SHARD_COUNT_MAX = 1024,
};

/* Makes what is missing: the six topics with `shard_count` partitions (dead letters: one), and the
 * first record of every shard, all with one cluster uid. What is there is left as it is; may be
 * repeated, and interrupted anywhere. SLU_INVALID: what is there does not fit. */
enum slu_status slu_topics_create(const struct slu_topics_settings *settings,
                                  int shard_count,
                                  char ret_cluster[SLU_CLUSTER_SIZE],
                                  struct slu_error *reterr);

/* Every deviation as a line of words in `ret_words`. SLU_INVALID when there is any. */
enum slu_status slu_topics_check(const struct slu_topics_settings *settings,
                                 struct slu_buffer *ret_words,
                                 struct slu_error *reterr);

enum slu_topics_edge {
    SLU_TOPICS_BEGINNING, /* Judge again everything that is still in the log. */
    SLU_TOPICS_END,       /* Skip everything that is in the log now. */
};

/* Sets the admitted position of a shard to the log's present beginning or end, with epoch + 1,
 * under the shard's own producer id: a leader that runs is fenced and reads the shard anew. */
enum slu_status slu_topics_shard_reset(const struct slu_topics_settings *settings,
                                       int shard,
                                       enum slu_topics_edge edge,
                                       struct slu_shard_record *ret_record,
                                       struct slu_error *reterr);

#endif
