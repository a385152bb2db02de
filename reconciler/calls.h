/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on their way to a provider and back: one exchange after the other, until the provider's
 * translation says it was the last. A call that changes something waits here until leadership is
 * proven, and until a provider that keeps fences was shown this leader's epoch. */
#ifndef SLU_RECONCILER_CALLS_H
#define SLU_RECONCILER_CALLS_H

#include "replica.h"

/* Takes the call. It will be answered to the engine, unless the shard is lost first. */
void slu_calls_start(struct slu_shard *shard, struct slu_call *call);

/* Tries again what waits: after a commit, or after a fence was shown. */
void slu_calls_retry(struct slu_shard *shard);

/* Drops what waits, when the shard is lost; what flies is dropped as it lands. */
void slu_calls_drop(struct slu_shard *shard);

#endif
