/* SPDX-License-Identifier: Apache-2.0 */
/* Ends clients in the background, one thread each, so that one that hangs delays no other. */
#include "shards_kafka_reaper.h"

#include "shards_kafka_thread.h"
#include "slu/base/memory.h"

#include <assert.h>
#include <stdlib.h>

struct slu_reaper {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int alive;   /* Clients still being destroyed. */
    bool closed; /* The last thread frees. */
};

struct end {
    struct slu_reaper *reaper;
    rd_kafka_t *client;
};

struct slu_reaper *
slu_reaper_new(void)
{
    struct slu_reaper *reaper = slu_alloc(sizeof(*reaper));
    slu_lock_init(&reaper->lock, &reaper->changed);
    return reaper;
}

static void
free_reaper(struct slu_reaper *reaper)
{
    slu_lock_done(&reaper->lock, &reaper->changed);
    free(reaper);
}

static void *
destroy_client(void *context)
{
    struct end *end = context;
    struct slu_reaper *reaper = end->reaper;
    /* Consumers were closed by their own thread, or must not wait for a broker now. */
    rd_kafka_destroy_flags(end->client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    free(end);

    pthread_mutex_lock(&reaper->lock);
    reaper->alive--;
    const bool last = reaper->alive == 0 && reaper->closed;
    pthread_cond_broadcast(&reaper->changed);
    pthread_mutex_unlock(&reaper->lock);
    if (last)
        free_reaper(reaper);
    return NULL;
}

void
slu_reaper_take(struct slu_reaper *reaper, rd_kafka_t *client)
{
    if (!client)
        return;
    struct end *end = slu_alloc(sizeof(*end));
    *end = (struct end){reaper, client};
    pthread_mutex_lock(&reaper->lock);
    reaper->alive++;
    pthread_mutex_unlock(&reaper->lock);

    pthread_t thread;
    if (slu_thread_start(&thread, "slu-reaper", destroy_client, end))
        pthread_detach(thread);
    else
        destroy_client(end);
}

bool
slu_reaper_close(struct slu_reaper *reaper, int64_t patience_ms)
{
    const struct timespec until = slu_wait_until(patience_ms);
    pthread_mutex_lock(&reaper->lock);
    while (reaper->alive > 0 && !pthread_cond_timedwait(&reaper->changed, &reaper->lock, &until))
        continue;
    const bool gone = reaper->alive == 0;
    reaper->closed = true;
    pthread_mutex_unlock(&reaper->lock);
    if (gone)
        free_reaper(reaper);
    return gone;
}
