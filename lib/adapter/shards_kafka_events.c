/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of events from the adapter's threads to the loop. */
#include "shards_kafka_events.h"

#include "slu/base/memory.h"

#include <stdlib.h>

struct slu_events_node {
    struct slu_events_node *next;
    struct slu_shard_event event;
};

void
slu_events_init(struct slu_events *events, void (*wake)(void *context), void *wake_context)
{
    *events = (struct slu_events){.wake = wake, .wake_context = wake_context};
    events->end = &events->first;
    slu_lock_init(&events->lock, &events->changed);
}

void
slu_events_done(struct slu_events *events)
{
    struct slu_shard_event event;
    while (slu_events_take(events, &event))
        slu_shard_event_done(&event);
    slu_lock_done(&events->lock, &events->changed);
}

void
slu_events_mute(struct slu_events *events)
{
    pthread_mutex_lock(&events->lock);
    events->wake = NULL;
    pthread_mutex_unlock(&events->lock);
}

void
slu_events_put(struct slu_events *events, const struct slu_shard_event *event)
{
    struct slu_events_node *node = slu_alloc(sizeof(*node));
    node->event = *event;

    pthread_mutex_lock(&events->lock);
    const bool was_empty = !events->first;
    *events->end = node;
    events->end = &node->next;
    /* Under the lock, so that no wake-up comes after slu_events_mute. */
    if (was_empty && events->wake)
        events->wake(events->wake_context);
    pthread_mutex_unlock(&events->lock);
}

bool
slu_events_take(struct slu_events *events, struct slu_shard_event *ret_event)
{
    pthread_mutex_lock(&events->lock);
    struct slu_events_node *node = events->first;
    if (node) {
        events->first = node->next;
        if (!events->first)
            events->end = &events->first;
    }
    pthread_mutex_unlock(&events->lock);
    if (!node)
        return false;

    *ret_event = node->event;
    free(node);
    return true;
}
