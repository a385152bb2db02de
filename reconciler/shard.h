/* SPDX-License-Identifier: Apache-2.0 */
/* One shard's life in this replica: candidate → claiming → taking → active → lost. The log says
 * what happens; nothing here decides who leads. */
#ifndef SLU_RECONCILER_SHARD_H
#define SLU_RECONCILER_SHARD_H

#include "replica.h"

void slu_shard_init(struct slu_shard *shard, struct slu_replica *replica, int number);

/* Takes what the log says about this shard; ends the event, now or later. */
void slu_shard_hear(struct slu_shard *shard, struct slu_shard_event *event);

/* Forgets everything, and gives the shard back to the group. */
void slu_shard_leave(struct slu_shard *shard);

#endif
