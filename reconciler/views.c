/* SPDX-License-Identifier: Apache-2.0 */
#include "views.h"

#include "alarm.h"
#include "slu/base/log.h"
#include "slu/base/memory.h"
#include "turn.h"

#include <stdlib.h>

static struct slu_view_head
head_of(const struct slu_shard *shard)
{
    return (struct slu_view_head){
        .shard = shard->number,
        .cluster = slu_engine_cluster(shard->engine),
        .epoch = shard->view_batch->epoch,
        .seq = shard->view_batch->seq,
        .url = shard->replica->url,
    };
}

void
slu_views_keep(struct slu_shard *shard, const struct slu_batch *batch)
{
    slu_batch_free(shard->view_batch);
    shard->view_batch = slu_batch_new(batch->shard);
    shard->view_batch->epoch = batch->epoch;
    shard->view_batch->seq = batch->seq;
    shard->view_batch->claim = batch->claim;
    for (size_t i = 0; i < batch->count; i++) {
        const struct slu_output *from = &batch->outputs[i];
        if (from->topic != SLU_TOPIC_STATUS)
            continue;
        struct slu_output *to = slu_batch_add(shard->view_batch, from->topic, from->partition);
        to->key = slu_memdup(from->key, from->key_size);
        to->key_size = from->key_size;
        to->value = from->value ? slu_memdup(from->value, from->value_size) : NULL;
        to->value_size = from->value_size;
    }
}

static void
read_result(struct slu_shard *shard, enum slu_view_result result)
{
    struct slu_metrics *metrics = &shard->replica->metrics;
    switch (result) {
    case SLU_VIEW_APPLIED:
        metrics->views_applied++;
        break;
    case SLU_VIEW_GAP:
        shard->wants_view = true;
        slu_turn_want_proof(shard); /* A commit soon: the view is written after it. */
        break;
    case SLU_VIEW_STALE:
        metrics->views_stale++;
        slu_turn_want_proof(shard);
        break;
    case SLU_VIEW_OTHER_CLUSTER:
        slu_alarm(shard->replica, "other_cluster", shard->number,
                  "the store's keys hold the views of another cluster; nothing was written");
        break;
    case SLU_VIEW_DOWN:
        metrics->views_down++;
        break;
    }
}

static void
on_applied(void *context, int number, enum slu_view_result result)
{
    (void) number;
    struct slu_shard *shard = context;
    if (shard->state == SLU_SHARD_IS_ACTIVE)
        read_result(shard, result);
}

static void
on_rewritten(void *context, int number, enum slu_view_result result)
{
    struct slu_shard *shard = context;
    shard->rewriting_view = false;
    if (result == SLU_VIEW_APPLIED) {
        shard->replica->metrics.views_rewritten++;
        SLU_LOG(INFO, "view_written", SLU_INT("shard", number));
        return;
    }
    on_applied(context, number, result);
}

static void
put_status(void *context, const char *key, const char *status, size_t size)
{
    const struct slu_shard *shard = context;
    slu_store_rewrite_put(shard->replica->store, shard->number, key, status, size);
}

static void
rewrite(struct slu_shard *shard, const struct slu_view_head *head)
{
    struct slu_store *store = shard->replica->store;
    shard->wants_view = false;
    shard->rewriting_view = true;
    slu_store_rewrite_begin(store, head);
    slu_engine_each_status(shard->engine, put_status, shard);
    slu_store_rewrite_finish(store, shard->number, on_rewritten, shard);
}

void
slu_views_committed(struct slu_shard *shard)
{
    if (!shard->view_batch)
        return;
    const struct slu_view_head head = head_of(shard);
    if (shard->wants_view && !shard->rewriting_view)
        rewrite(shard, &head);
    else
        slu_store_apply(shard->replica->store, &head, shard->view_batch, on_applied, shard);
    slu_batch_free(shard->view_batch);
    shard->view_batch = NULL;
}

void
slu_views_drop(struct slu_shard *shard)
{
    slu_batch_free(shard->view_batch);
    shard->view_batch = NULL;
    shard->wants_view = false;
}

/* --- observations ------------------------------------------------------------------------------
 */

struct reading {
    struct slu_shard *shard;
    uint64_t life;
};

static bool
is_current(const struct reading *reading)
{
    return reading->shard->life == reading->life && reading->shard->state == SLU_SHARD_IS_ACTIVE;
}

static void
on_observation(void *context,
               const char *key,
               const char *external_id,
               const char *life_word,
               int64_t seen_at_ms)
{
    const struct reading *reading = context;
    const int life = slu_name_index(slu_life_names, SLU_LIFE_COUNT, life_word);
    if (is_current(reading) && life >= 0)
        slu_engine_observed_before(reading->shard->engine, key, external_id, (enum slu_life) life,
                                   seen_at_ms);
}

static void
on_observations_read(void *context, bool complete)
{
    struct reading *reading = context;
    if (!complete)
        SLU_LOG(DEBUG, "observations_missing", SLU_INT("shard", reading->shard->number));
    if (is_current(reading))
        slu_turn_soon(reading->shard);
    free(reading);
}

void
slu_views_read_observations(struct slu_shard *shard)
{
    struct reading *reading = slu_alloc(sizeof(*reading));
    *reading = (struct reading){shard, shard->life};
    slu_store_observations(shard->replica->store, shard->number, on_observation,
                           on_observations_read, reading);
}

void
slu_views_write_observations(struct slu_shard *shard)
{
    struct slu_store *store = shard->replica->store;
    struct slu_observation seen;
    while (slu_engine_next_observation(shard->engine, &seen)) {
        if (seen.life == SLU_LIFE_GONE || seen.life == SLU_LIFE_ABSENT)
            slu_store_forget(store, shard->number, seen.key);
        else
            slu_store_observe(store, shard->number, seen.key, seen.external_id,
                              slu_life_names[seen.life], seen.seen_at_ms);
    }
}
