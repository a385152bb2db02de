/* SPDX-License-Identifier: Apache-2.0 */
/* Desired records on their way into a shard's engine, in order, with the marks between them that
 * say "read through". What the engine cannot take yet waits here; too much waiting stops the
 * reading. */
#ifndef SLU_RECONCILER_SHARD_INPUT_H
#define SLU_RECONCILER_SHARD_INPUT_H

#include "replica.h"

/* Takes a RECORDS or READ_THROUGH event. */
void slu_shard_input_put(struct slu_shard *shard, struct slu_shard_event *event);

enum slu_input_left {
    SLU_INPUT_EMPTY,
    SLU_INPUT_MORE, /* `limit` was reached. */
    SLU_INPUT_FULL, /* The engine wants its batch taken first. */
};

enum slu_input_left slu_shard_input_feed(struct slu_shard *shard, int64_t now_ms, int limit);
void slu_shard_input_drop(struct slu_shard *shard);

#endif
