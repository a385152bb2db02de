/* SPDX-License-Identifier: Apache-2.0 */
/* The store: observations and views (design.md §8). Nothing is ever decided from it.
 * lib/adapter/store_redis.c talks to Redis on the loop's thread; tests/support/fake_store.c is the
 * fake; tests/contract/store_contract.c runs on both. Every callback runs on the loop's thread,
 * never inside the call that asked for it. */
#ifndef SLU_PORT_STORE_H
#define SLU_PORT_STORE_H

#include "slu/base/status.h"
#include "slu/model/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slu_store;
struct uv_loop_s;

struct slu_store_settings {
    const char
        *url; /* redis://[:password-from-file@]host:port[/db]; the password file is separate. */
    const char *password_file; /* "" for none. */
    const char *key_prefix;    /* "slu:" */
};

/* What became of a view write. */
enum slu_view_result {
    SLU_VIEW_APPLIED,
    SLU_VIEW_GAP,   /* Wiped, rolled back, or a write was lost: write the whole view anew. */
    SLU_VIEW_STALE, /* A higher epoch is there: we are no longer the leader. */
    SLU_VIEW_OTHER_CLUSTER, /* Another cluster uid lives under these keys: nothing stored, alarm. */
    SLU_VIEW_DOWN, /* No answer: the store is away. The next write will tell GAP or APPLIED. */
};

struct slu_view_head {
    int shard;
    const char *cluster;
    int64_t epoch;
    int64_t seq;
    const char *url; /* Of the leader's internal endpoint. */
};

typedef void(slu_view_done_fn)(void *context, int shard, enum slu_view_result result);

enum slu_status slu_store_open(struct uv_loop_s *loop,
                               const struct slu_store_settings *settings,
                               struct slu_store **ret_store,
                               struct slu_error *reterr);
void slu_store_close(struct slu_store *store, void (*closed)(void *context), void *context);
bool slu_store_up(const struct slu_store *store);

/* Why it is away, for people; "" while it is up. */
const char *slu_store_trouble(const struct slu_store *store);

/* Applies the status outputs of one committed batch (others are ignored); also for idle batches, so
 * that damage is noticed within seconds. The batch is lent during the call. */
void slu_store_apply(struct slu_store *store,
                     const struct slu_view_head *head,
                     const struct slu_batch *batch,
                     slu_view_done_fn *done,
                     void *context);

/* Writes a whole view beside the old one: begin, put each, finish (which switches the pointer). One
 * at a time per shard; a later begin abandons an earlier one (its `done`: GAP). Batches applied
 * between begin and the end follow on the new view, so call finish soon after begin. */
void slu_store_rewrite_begin(struct slu_store *store, const struct slu_view_head *head);
void slu_store_rewrite_put(
    struct slu_store *store, int shard, const char *key, const char *status, size_t status_size);
void
slu_store_rewrite_finish(struct slu_store *store, int shard, slu_view_done_fn *done, void *context);

/* Remembers what a provider said last. Fire and forget. */
void slu_store_observe(struct slu_store *store,
                       int shard,
                       const char *key,
                       const char *external_id,
                       const char *life,
                       int64_t seen_at_ms);
void slu_store_forget(struct slu_store *store, int shard, const char *key);

/* All observations of a shard; `seen` for each, then `done` (false: the store was away). */
typedef void(slu_observation_fn)(
    void *context, const char *key, const char *external_id, const char *life, int64_t seen_at_ms);
void slu_store_observations(struct slu_store *store,
                            int shard,
                            slu_observation_fn *seen,
                            void (*done)(void *context, bool complete),
                            void *context);

#endif
