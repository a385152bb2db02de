/* SPDX-License-Identifier: Apache-2.0 */
#include "shard_input.h"

#include "slu/base/memory.h"

#include <stdlib.h>

enum {
    RECORDS_PAUSE = 8000,
    RECORDS_RESUME = 2000,
};

struct slu_input_node {
    struct slu_shard_event event;
    size_t next_record;
    struct slu_input_node *next;
};

static void
pause_input(struct slu_shard *shard, bool paused)
{
    if (shard->input_paused == paused)
        return;
    shard->input_paused = paused;
    slu_shards_pause(shard->replica->log, shard->number, paused);
}

void
slu_shard_input_put(struct slu_shard *shard, struct slu_shard_event *event)
{
    struct slu_input_node *node = slu_alloc(sizeof(*node));
    node->event = *event;
    *event = (struct slu_shard_event){0};
    if (shard->input_last)
        shard->input_last->next = node;
    else
        shard->input_first = node;
    shard->input_last = node;
    shard->input_records += node->event.record_count;
    if (shard->input_records > RECORDS_PAUSE)
        pause_input(shard, true);
}

static void
end_first(struct slu_shard *shard)
{
    struct slu_input_node *node = shard->input_first;
    shard->input_first = node->next;
    if (!shard->input_first)
        shard->input_last = NULL;
    slu_shard_event_done(&node->event);
    free(node);
}

/* False: the engine wants its batch taken first. */
static bool
feed_records(struct slu_shard *shard, struct slu_input_node *node, int64_t now_ms, int *limit)
{
    while (node->next_record<node->event.record_count && * limit> 0) {
        if (!slu_engine_record(shard->engine, &node->event.records[node->next_record], now_ms))
            return false;
        node->next_record++;
        shard->input_records--;
        (*limit)--;
    }
    return true;
}

enum slu_input_left
slu_shard_input_feed(struct slu_shard *shard, int64_t now_ms, int limit)
{
    enum slu_input_left left = SLU_INPUT_EMPTY;
    while (shard->input_first && left == SLU_INPUT_EMPTY) {
        struct slu_input_node *node = shard->input_first;
        if (node->event.kind == SLU_SHARD_READ_THROUGH) {
            shard->asked_end = false;
            slu_engine_read_through(shard->engine, node->event.token, now_ms);
            end_first(shard);
        } else if (!feed_records(shard, node, now_ms, &limit)) {
            left = SLU_INPUT_FULL;
        } else if (node->next_record == node->event.record_count) {
            end_first(shard);
        } else {
            left = SLU_INPUT_MORE;
        }
    }
    if (shard->input_records < RECORDS_RESUME)
        pause_input(shard, false);
    return left;
}

void
slu_shard_input_drop(struct slu_shard *shard)
{
    while (shard->input_first)
        end_first(shard);
    shard->input_records = 0;
    shard->input_paused = false;
    shard->asked_end = false;
}
