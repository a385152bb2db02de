/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of one shard: facts in, effects out (design.md §2, §7).
 *
 * It holds every resource of the shard, judges desired records in log order, plans what is due, and
 * leaves its effects in two places: the batch (what the next transaction writes) and the calls
 * (what a provider is asked). It touches no clock, socket or file: time comes in as `now_ms`, the
 * shard's own clock, never going back; 0 while there is none (before the claim's first commit).
 * Deterministic: the same inputs give the same outputs, byte for byte.
 *
 * Order (commit, call, write view): a call that changes anything at a provider is handed out only
 * once the batch that holds its cause was reported committed. Looks leave at once.
 *
 * Used by one thread at a time. */
#ifndef SLU_ENGINE_ENGINE_H
#define SLU_ENGINE_ENGINE_H

#include "slu/base/buffer.h"
#include "slu/base/status.h"
#include "slu/model/call.h"
#include "slu/model/instance.h"
#include "slu/model/record.h"
#include "slu/model/shard_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slu_engine;

struct slu_engine_config {
    int shard;
    int shard_count;
    const char *cluster;   /* Expected cluster uid; "" takes the one in the shard record. */
    const char *owner_url; /* This replica's internal endpoint, for the shard record. */
    const struct slu_provider_instance *instances; /* Lent for the engine's life. */
    int instance_count;
    const char *default_provider; /* Of documents that name none; NULL: "e2b". */
    int64_t deleted_retention_ms; /* A deleted life's status is kept this long; default 24 h. */
    int64_t activity_write_ms;    /* Status is written for activity at most this often; 30 s. */
    int64_t park_retry_ms;        /* A parked resource is tried again this often; 10 min. */
    int failures_before_park;     /* 5. */
    uint64_t seed;                /* Jitter of back-offs. */
    int batch_records_max;        /* A batch is full at so many outputs; 1,000. */
    size_t batch_bytes_max;       /* … or bytes; 4 MiB. */
};

/* Fills what is zero with the defaults above. */
void slu_engine_config_defaults(struct slu_engine_config *config);

struct slu_engine *slu_engine_new(const struct slu_engine_config *config);
void slu_engine_free(struct slu_engine *engine);

/* --- claim: first every record of sluice.status[p], in log order (keeps the last per key, drops
 * tombstoned ones); then the newest record of sluice.shards[p]; then the first batch. -----------
 */

/* SLU_INVALID: no status document of ours; the shard must not be claimed over it (FATAL to it). */
enum slu_status slu_engine_restore(struct slu_engine *engine,
                                   const struct slu_record *record,
                                   struct slu_error *reterr);

/* Takes over after `last` (its newest shard record). Puts the claim's first transaction (epoch + 1)
 * into the batch. SLU_FATAL: another cluster or another N. */
enum slu_status slu_engine_claim(struct slu_engine *engine,
                                 const struct slu_shard_record *last,
                                 struct slu_error *reterr);

/* --- facts ---------------------------------------------------------------------------------------
 */

/* One desired record, in offset order of its partition. Judges it, or forwards it, or dead-letters
 * it; moves the admitted position. False: the batch is full, or the record must travel alone and
 * the batch is not empty: hand over the same record again after the next slu_engine_take_batch. */
bool slu_engine_record(struct slu_engine *engine, const struct slu_record *record, int64_t now_ms);

/* Every desired record appended before shard time `through_ms` has been handed over. Deadlines up
 * to that moment may act (behaviour.md 12). */
void slu_engine_read_through(struct slu_engine *engine, int64_t through_ms, int64_t now_ms);

/* The answer of a call handed out by slu_engine_next_call. Unknown ids are ignored. */
void slu_engine_answer(struct slu_engine *engine,
                       uint64_t call_id,
                       const struct slu_facts *facts,
                       int64_t now_ms);

/* The batch taken last has committed. */
void slu_engine_committed(struct slu_engine *engine, int64_t now_ms);

/* Something outside says that this resource may have changed: look now. */
void slu_engine_hint(struct slu_engine *engine, const char *key, int64_t now_ms);

/* An observation read back from the cache: a hint that may spare a look, never cause a change. */
void slu_engine_observed_before(struct slu_engine *engine,
                                const char *key,
                                const char *external_id,
                                enum slu_life life,
                                int64_t seen_at_ms);

/* --- effects -------------------------------------------------------------------------------------
 */

/* Plans what is due, until `now_ms`, or until `limit` resources were planned (0: no limit). Returns
 * how many were planned. */
int slu_engine_turn(struct slu_engine *engine, int64_t now_ms, int limit);

/* When the next turn is worth taking, INT64_MAX when nothing is due. */
int64_t slu_engine_due_ms(const struct slu_engine *engine);

/* True when some deadline waits only for slu_engine_read_through of a later moment. */
bool slu_engine_wants_read_through(const struct slu_engine *engine);

/* The next transaction's content, or NULL when there is nothing to write (`even_if_idle` gives one
 * with the shard record alone: the idle commit). Never while one is in flight. The caller owns it
 * and reports slu_engine_committed. */
struct slu_batch *slu_engine_take_batch(struct slu_engine *engine, bool even_if_idle);
bool slu_engine_batch_in_flight(const struct slu_engine *engine);
bool slu_engine_batch_waiting(const struct slu_engine *engine);

/* A call that may leave now; NULL when there is none. The caller owns it and must answer it, with
 * NEVER_SENT if need be. */
struct slu_call *slu_engine_next_call(struct slu_engine *engine);

/* What the shell should keep in the observation cache; false when there is no more. Text is lent
 * until the next call into the engine. */
struct slu_observation {
    const char *key;
    const char *external_id;
    enum slu_life life;
    int64_t seen_at_ms;
};

bool slu_engine_next_observation(struct slu_engine *engine,
                                 struct slu_observation *ret_observation);

/* One line for the log about a decision or an outcome; false when there is no more. Text is lent
 * until the next call into the engine; `reason` is a literal. */
struct slu_note {
    const char *event; /* "plan", "outcome", "accepted", "refused", "forwarded", "deadletter",
                          "loss_burst" … */
    const char *key;
    const char *goal, *life, *action, *outcome; /* "" when not of this note. */
    const char *reason;
    const char *message;
    int partition;
    int64_t offset;
    int64_t generation;
    int64_t incarnation;
    int64_t converged_after_ms; /* ≥ 0 when this note ends a change: append time → wished phase. */
    bool warning;
};

bool slu_engine_next_note(struct slu_engine *engine, struct slu_note *ret_note);

/* --- views ---------------------------------------------------------------------------------------
 */

/* Calls `visit` with the status document of every resource, as last written. For whole views. */
typedef void(slu_engine_visit_fn)(void *context,
                                  const char *key,
                                  const char *status,
                                  size_t status_size);
void slu_engine_each_status(struct slu_engine *engine, slu_engine_visit_fn *visit, void *context);

size_t slu_engine_resource_count(const struct slu_engine *engine);
int64_t slu_engine_epoch(const struct slu_engine *engine);
int64_t slu_engine_seq(const struct slu_engine *engine); /* Of the last batch taken. */
const char *slu_engine_cluster(const struct slu_engine *engine);
int64_t slu_engine_next_offset(const struct slu_engine *engine, int partition); /* To read from. */

struct slu_engine_counters {
    int64_t admitted, refused, repeated, forwarded, deadlettered;
    int64_t plans, facts; /* Plans per new fact: bar ≤ 1.2. */
    int64_t calls[SLU_ACTION_COUNT];
    int64_t parked; /* Now. */
};

void slu_engine_counters(const struct slu_engine *engine, struct slu_engine_counters *ret_counters);

#endif
