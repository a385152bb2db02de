/* SPDX-License-Identifier: Apache-2.0 */
/* Views in Redis: one script call per committed transaction, or the whole view anew beside the old
 * one (design.md §8). What the keys are and what the scripts check: store_redis_lua.h. */
#ifndef SLU_ADAPTER_STORE_REDIS_VIEW_H
#define SLU_ADAPTER_STORE_REDIS_VIEW_H

#include "slu/port/store.h"
#include "store_redis_link.h"
#include "uv_later.h"

struct slu_redis_views;

struct slu_redis_views *
slu_redis_views_new(struct slu_redis_link *link, struct slu_later *later, const char *key_prefix);

/* After the link is closed: what still waits behind a rewrite is answered DOWN, in this call. Free
 * it once `later` is closed too. */
void slu_redis_views_end(struct slu_redis_views *views);
void slu_redis_views_free(struct slu_redis_views *views);

void slu_redis_views_apply(struct slu_redis_views *views,
                           const struct slu_view_head *head,
                           const struct slu_batch *batch,
                           slu_view_done_fn *done,
                           void *context);
void slu_redis_views_begin(struct slu_redis_views *views, const struct slu_view_head *head);
void slu_redis_views_put(struct slu_redis_views *views,
                         int shard,
                         const char *key,
                         const char *status,
                         size_t status_size);
void slu_redis_views_finish(struct slu_redis_views *views,
                            int shard,
                            slu_view_done_fn *done,
                            void *context);

#endif
