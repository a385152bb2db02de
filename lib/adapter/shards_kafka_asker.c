/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that asks brokers and waits. A suspicion becomes the event DOWN only when a question
 * fails, so that one connection that broke is no outage; then it asks until somebody answers. */
#include "shards_kafka_asker.h"

#include "slu/base/memory.h"
#include "slu/port/clock.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROBE_TIMEOUT_MS = 1000,
    PROBE_EVERY_MS = 200,
    END_TIMEOUT_MS = 3 * 1000,
    ASK_AGAIN_MS = 50,
    PARTITIONS_EVERY_MS = 10 * 1000,
};

struct ask_node {
    struct ask_node *next;
    struct slu_ask ask;
};

struct slu_asker {
    struct slu_asker_settings settings;
    pthread_t thread;
    pthread_mutex_t lock; /* Guards what follows, up to the blank line. */
    pthread_cond_t changed;
    struct ask_node *first, **end;
    bool suspected;
    char why[160];
    bool stopping;

    atomic_int partitions;
    atomic_llong up_since_ms;
    bool is_down; /* Asker's thread. */
};

void
slu_asker_ask(struct slu_asker *asker, const struct slu_ask *ask)
{
    struct ask_node *node = slu_alloc(sizeof(*node));
    node->ask = *ask;
    pthread_mutex_lock(&asker->lock);
    *asker->end = node;
    asker->end = &node->next;
    pthread_cond_signal(&asker->changed);
    pthread_mutex_unlock(&asker->lock);
}

void
slu_asker_suspect(struct slu_asker *asker, const char *why)
{
    pthread_mutex_lock(&asker->lock);
    if (!asker->suspected) {
        asker->suspected = true;
        asker->why[0] = '\0';
        strncat(asker->why, why, sizeof(asker->why) - 1);
    }
    pthread_cond_signal(&asker->changed);
    pthread_mutex_unlock(&asker->lock);
}

int
slu_asker_partitions(const struct slu_asker *asker)
{
    return atomic_load(&asker->partitions);
}

int64_t
slu_asker_up_since_ms(const struct slu_asker *asker)
{
    return atomic_load(&asker->up_since_ms);
}

static void
tell(struct slu_asker *asker, enum slu_shard_event_kind kind, const char *why)
{
    struct slu_shard_event event = {.kind = kind, .shard = -1};
    if (why)
        (void) slu_fail(&event.error, SLU_RETRY, "no Kafka broker answers: %s", why);
    slu_events_put(asker->settings.events, &event);
}

static bool
probe(struct slu_asker *asker)
{
    const struct rd_kafka_metadata *metadata;
    if (rd_kafka_metadata(asker->settings.client, 0, asker->settings.topic, &metadata,
                          PROBE_TIMEOUT_MS))
        return false;
    if (metadata->topic_cnt == 1 && !metadata->topics[0].err)
        atomic_store(&asker->partitions, metadata->topics[0].partition_cnt);
    rd_kafka_metadata_destroy(metadata);
    return true;
}

static void
look_at_brokers(struct slu_asker *asker, const char *why)
{
    const bool answers = probe(asker);
    if (answers == !asker->is_down)
        return;
    asker->is_down = !answers;
    atomic_store(&asker->up_since_ms, answers ? slu_clock_boottime_ms() : INT64_MAX);
    tell(asker, answers ? SLU_SHARD_UP : SLU_SHARD_DOWN, answers ? NULL : why);
}

/* Last stable offsets: what a reader of committed records can reach. */
static bool
ask_ends(struct slu_asker *asker, struct slu_ask *ask)
{
    const char *topic = rd_kafka_topic_name(asker->settings.topic);
    for (int i = 0; i < ask->count; i++) {
        int64_t begin;
        if (rd_kafka_query_watermark_offsets(asker->settings.client, topic, ask->of[i].partition,
                                             &begin, &ask->of[i].end, END_TIMEOUT_MS))
            return false;
    }
    return true;
}

static void
serve_ask(struct slu_asker *asker, struct ask_node *node)
{
    if (ask_ends(asker, &node->ask)) {
        asker->settings.answer(asker->settings.context, &node->ask);
        free(node);
        return;
    }
    /* Not now; the question stays. */
    slu_asker_suspect(asker, "asking for the end of a partition failed");
    poll(NULL, 0, ASK_AGAIN_MS);
    pthread_mutex_lock(&asker->lock);
    node->next = NULL;
    *asker->end = node;
    asker->end = &node->next;
    pthread_mutex_unlock(&asker->lock);
}

/* Sleeps until there is something to do. Returns a question, or NULL. */
static struct ask_node *
wait_for_work(struct slu_asker *asker, char *ret_why, size_t size, bool *ret_suspected)
{
    const struct timespec until =
        slu_wait_until(asker->is_down ? PROBE_EVERY_MS : PARTITIONS_EVERY_MS);
    struct ask_node *node = NULL;
    pthread_mutex_lock(&asker->lock);
    bool timed_out = false;
    while (!asker->stopping && !timed_out &&
           (asker->is_down || (!asker->first && !asker->suspected)))
        timed_out = pthread_cond_timedwait(&asker->changed, &asker->lock, &until);
    if (!asker->is_down && asker->first) {
        node = asker->first;
        asker->first = node->next;
        if (!asker->first)
            asker->end = &asker->first;
    }
    *ret_suspected = asker->suspected || timed_out;
    asker->suspected = false;
    snprintf(ret_why, size, "%s", asker->why);
    pthread_mutex_unlock(&asker->lock);
    return node;
}

static bool
is_stopping(struct slu_asker *asker)
{
    pthread_mutex_lock(&asker->lock);
    const bool stopping = asker->stopping;
    pthread_mutex_unlock(&asker->lock);
    return stopping;
}

static void *
run_asker(void *context)
{
    struct slu_asker *asker = context;
    while (!is_stopping(asker)) {
        char why[sizeof(asker->why)];
        bool suspected;
        struct ask_node *node = wait_for_work(asker, why, sizeof(why), &suspected);
        if (suspected)
            look_at_brokers(asker, why);
        if (node)
            serve_ask(asker, node);
    }
    return NULL;
}

struct slu_asker *
slu_asker_new(const struct slu_asker_settings *settings)
{
    struct slu_asker *asker = slu_alloc(sizeof(*asker));
    asker->settings = *settings;
    asker->end = &asker->first;
    atomic_store(&asker->partitions, settings->partitions);
    atomic_store(&asker->up_since_ms, slu_clock_boottime_ms());
    slu_lock_init(&asker->lock, &asker->changed);
    if (slu_thread_start(&asker->thread, "slu-asker", run_asker, asker))
        return asker;
    slu_lock_done(&asker->lock, &asker->changed);
    free(asker);
    return NULL;
}

bool
slu_asker_close(struct slu_asker *asker, int64_t patience_ms)
{
    pthread_mutex_lock(&asker->lock);
    asker->stopping = true;
    pthread_cond_signal(&asker->changed);
    pthread_mutex_unlock(&asker->lock);
    if (!slu_thread_join(asker->thread, patience_ms))
        return false;
    struct ask_node *node;
    while ((node = asker->first)) {
        asker->first = node->next;
        free(node);
    }
    slu_lock_done(&asker->lock, &asker->changed);
    free(asker);
    return true;
}
