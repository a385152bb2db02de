/* SPDX-License-Identifier: Apache-2.0 */
/* What was committed, carried to the store (design.md §8): after the commit, never before it. */
#ifndef SLU_RECONCILER_VIEWS_H
#define SLU_RECONCILER_VIEWS_H

#include "replica.h"

/* Keeps a copy of what the view needs of a batch that is about to be committed. */
void slu_views_keep(struct slu_shard *shard, const struct slu_batch *batch);

/* The batch kept last has committed. */
void slu_views_committed(struct slu_shard *shard);
void slu_views_drop(struct slu_shard *shard);

/* What the store remembers of this shard's instances, as hints to the engine. */
void slu_views_read_observations(struct slu_shard *shard);

/* What the engine saw, to the store. */
void slu_views_write_observations(struct slu_shard *shard);

#endif
