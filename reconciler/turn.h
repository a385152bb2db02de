/* SPDX-License-Identifier: Apache-2.0 */
/* One turn of a shard: facts into its engine, effects out, in the order that makes crashes safe:
 * commit, call, write view (design.md §7). */
#ifndef SLU_RECONCILER_TURN_H
#define SLU_RECONCILER_TURN_H

#include "replica.h"

/* Runs a turn before the loop waits again. May be asked any number of times. */
void slu_turn_soon(struct slu_shard *shard);

/* The same, and a commit as soon as none is in flight, for a younger proof of leadership. */
void slu_turn_want_proof(struct slu_shard *shard);
void slu_turn_run(struct slu_shard *shard);

/* Hands the batch to the log when none is in flight and it is worth one. */
void slu_turn_commit(struct slu_shard *shard, bool even_if_idle);
void slu_turn_log_notes(struct slu_shard *shard);

/* The shard's own time; 0 before its first commit. */
int64_t slu_turn_now(const struct slu_shard *shard);

#endif
