/* SPDX-License-Identifier: Apache-2.0 */
/* The one way from the adapter's threads to the loop: events in the order they were put. */
#ifndef SLU_ADAPTER_SHARDS_KAFKA_EVENTS_H
#define SLU_ADAPTER_SHARDS_KAFKA_EVENTS_H

#include "shards_kafka_thread.h"
#include "slu/port/shards.h"

struct slu_events_node;

struct slu_events {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* Unused: slu_lock_init makes both. */
    struct slu_events_node *first, **end;
    void (*wake)(void *context);
    void *wake_context;
};

void slu_events_init(struct slu_events *events, void (*wake)(void *context), void *wake_context);
void slu_events_done(struct slu_events *events); /* Ends what nobody took. */

/* From here on nobody is woken: for threads that are left behind. */
void slu_events_mute(struct slu_events *events);

/* Takes what `event` owns. Any thread. Wakes on empty → non-empty. */
void slu_events_put(struct slu_events *events, const struct slu_shard_event *event);
bool slu_events_take(struct slu_events *events, struct slu_shard_event *ret_event);

#endif
