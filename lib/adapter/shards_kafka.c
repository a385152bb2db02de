/* SPDX-License-Identifier: Apache-2.0 */
/* The log on Kafka: puts the elector, the writers and the input together behind the port.
 *
 * Nothing here blocks but opening and closing. Threads: one elector, one writer for each shard that
 * was ever claimed, one for input, one for questions; they speak to the loop through one queue. */
#include "shards_kafka_elector.h"
#include "shards_kafka_events.h"
#include "shards_kafka_input.h"
#include "shards_kafka_reader.h"
#include "shards_kafka_reaper.h"
#include "shards_kafka_writer.h"
#include "slu/base/memory.h"
#include "slu/port/clock.h"
#include "slu/port/shards.h"
#include "topics_kafka.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLAIM_PATIENCE_MS = 60 * 1000,
    CLOSE_PATIENCE_MS = 10 * 1000, /* For each thread, after all had their chance. */
    DESTROY_PATIENCE_MS = 5 * 1000,
};

struct slu_shards {
    struct slu_kafka kafka;
    struct slu_events events;
    struct slu_reaper *reaper;
    struct slu_reader *reader;
    struct slu_input *input;
    struct slu_elector *elector;
    struct slu_writer_home home;
    int shard_count;
    int64_t claim_patience_ms;

    pthread_mutex_t lock; /* Guards the slots of `writers`: the elector looks for stuck claims. */
    pthread_cond_t changed;
    struct slu_writer **writers; /* By shard; NULL: never claimed. */
};

/* --- what the parts ask of the whole --------------------------------------------------------- */

static void
suspect(void *context, const char *why)
{
    struct slu_shards *shards = context;
    slu_input_suspect(shards->input, why);
}

/* While no broker answers nobody could claim anything: the time starts anew. */
static int
find_stuck(void *context)
{
    struct slu_shards *shards = context;
    const int64_t now_ms = slu_clock_boottime_ms();
    const int64_t up_since_ms = slu_input_up_since_ms(shards->input);
    int stuck = -1;
    if (up_since_ms > now_ms - shards->claim_patience_ms)
        return stuck;
    pthread_mutex_lock(&shards->lock);
    for (int i = 0; i < shards->shard_count && stuck < 0; i++) {
        const int64_t since_ms =
            shards->writers[i] ? slu_writer_claiming_since_ms(shards->writers[i]) : 0;
        if (since_ms && now_ms - since_ms > shards->claim_patience_ms)
            stuck = i;
    }
    pthread_mutex_unlock(&shards->lock);
    return stuck;
}

/* --- life ------------------------------------------------------------------------------------ */

static enum slu_status
open_parts(struct slu_shards *shards,
           const struct slu_shards_settings *settings,
           struct slu_error *reterr)
{
    struct slu_topics_found topics = {0};
    enum slu_status status = slu_reader_open(&shards->kafka, &shards->reader, reterr);
    if (!status)
        status = slu_topics_survey(shards->reader, &topics, reterr);
    const struct slu_input_settings input = {.kafka = &shards->kafka,
                                             .shard_count = topics.shard_count,
                                             .partitions = topics.inputs,
                                             .events = &shards->events};
    if (!status)
        status = slu_input_open(&input, &shards->input, reterr);
    if (status)
        return status;
    shards->shard_count = topics.shard_count;

    const struct slu_elector_settings elector = {
        .kafka = &shards->kafka,
        .group = settings->group,
        .session_timeout_ms = settings->session_timeout_ms,
        .away_ms = shards->claim_patience_ms,
        .shard_count = shards->shard_count,
        .events = &shards->events,
        .reaper = shards->reaper,
        .suspect = suspect,
        .stuck = find_stuck,
        .context = shards,
    };
    shards->elector = slu_elector_new(&elector);
    shards->writers = slu_alloc((size_t) shards->shard_count * sizeof(struct slu_writer *));
    memcpy(shards->home.cluster, topics.cluster, sizeof(shards->home.cluster));
    shards->home.kafka = &shards->kafka;
    shards->home.shard_count = shards->shard_count;
    shards->home.events = &shards->events;
    shards->home.elector = shards->elector;
    shards->home.reader = shards->reader;
    shards->home.reaper = shards->reaper;
    shards->home.suspect = suspect;
    shards->home.context = shards;
    return SLU_OK;
}

/* Everything that is left when all threads have ended. */
static void
free_shards(struct slu_shards *shards)
{
    slu_events_done(&shards->events); /* Records that nobody took are counted by the input. */
    slu_elector_free(shards->elector);
    slu_reaper_take(shards->reaper, slu_input_free(shards->input));
    slu_reader_close(shards->reader, shards->reaper);
    (void) slu_reaper_close(shards->reaper, DESTROY_PATIENCE_MS);
    slu_kafka_done(&shards->kafka);
    slu_lock_done(&shards->lock, &shards->changed);
    free(shards->writers);
    free(shards);
}

enum slu_status
slu_shards_open(const struct slu_shards_settings *settings,
                struct slu_shards **ret_shards,
                struct slu_error *reterr)
{
    struct slu_shards *shards = slu_alloc(sizeof(*shards));
    slu_kafka_init(&shards->kafka, settings->brokers, settings->topic_prefix, settings->client_id,
                   settings->properties);
    slu_events_init(&shards->events, settings->wake, settings->wake_context);
    slu_lock_init(&shards->lock, &shards->changed);
    shards->reaper = slu_reaper_new();
    shards->claim_patience_ms =
        settings->claim_patience_ms ? settings->claim_patience_ms : CLAIM_PATIENCE_MS;

    const enum slu_status status = open_parts(shards, settings, reterr);
    if (status)
        free_shards(shards);
    else
        *ret_shards = shards;
    return status;
}

static int64_t
left_ms(int64_t until_ms)
{
    const int64_t left = until_ms - slu_clock_boottime_ms();
    return left > 0 ? left : 0;
}

/* All are told first, so that they end at the same time. */
static bool
close_writers(struct slu_shards *shards)
{
    for (int i = 0; i < shards->shard_count; i++) {
        if (shards->writers[i])
            slu_writer_stop(shards->writers[i]);
    }
    bool all = true;
    for (int i = 0; i < shards->shard_count; i++) {
        pthread_mutex_lock(&shards->lock); /* The elector may be looking. */
        struct slu_writer *writer = slu_steal(shards->writers[i]);
        pthread_mutex_unlock(&shards->lock);
        if (writer)
            all = slu_writer_close(writer, CLOSE_PATIENCE_MS) && all;
    }
    return all;
}

void
slu_shards_close(struct slu_shards *shards, int64_t patience_ms)
{
    if (!shards)
        return;
    /* What is decided is committed first; only then does the group give the shards away. */
    const int64_t until_ms = slu_clock_boottime_ms() + patience_ms;
    for (int i = 0; i < shards->shard_count; i++) {
        if (shards->writers[i])
            (void) slu_writer_wait_idle(shards->writers[i], left_ms(until_ms));
    }
    bool all = slu_elector_stop(shards->elector, CLOSE_PATIENCE_MS);
    all = close_writers(shards) && all;
    all = all && slu_input_stop(shards->input, CLOSE_PATIENCE_MS);
    if (all)
        free_shards(shards);
    else /* A thread hangs in the library and may come back: what it uses stays. */
        slu_events_mute(&shards->events);
}

/* --- the port -------------------------------------------------------------------------------- */

int
slu_shards_count(const struct slu_shards *shards)
{
    return shards->shard_count;
}

int
slu_shards_inputs(const struct slu_shards *shards)
{
    const int partitions = slu_input_partitions(shards->input);
    return partitions > shards->shard_count ? partitions : shards->shard_count;
}

bool
slu_shards_next(struct slu_shards *shards, struct slu_shard_event *ret_event)
{
    while (slu_events_take(&shards->events, ret_event)) {
        if (slu_input_is_current(shards->input, ret_event))
            return true;
        slu_shard_event_done(ret_event);
    }
    return false;
}

void
slu_shard_event_done(struct slu_shard_event *event)
{
    if (event->shard_record) {
        slu_shard_record_done(event->shard_record);
        free(event->shard_record);
    }
    slu_input_event_done(event->private); /* Records lie in it. */
    *event = (struct slu_shard_event){0};
}

void
slu_shards_elect(struct slu_shards *shards)
{
    slu_elector_tick(shards->elector);
    slu_elector_elect(shards->elector);
}

void
slu_shards_tick(struct slu_shards *shards)
{
    slu_elector_tick(shards->elector);
}

void
slu_shards_claim(struct slu_shards *shards, int shard, const struct slu_shards_sink *sink)
{
    assert(shard >= 0 && shard < shards->shard_count);
    if (!shards->writers[shard]) {
        struct slu_writer *writer = slu_writer_new(&shards->home, shard);
        pthread_mutex_lock(&shards->lock);
        shards->writers[shard] = writer;
        pthread_mutex_unlock(&shards->lock);
    }
    if (shards->writers[shard]) {
        slu_writer_claim(shards->writers[shard], sink);
        return;
    }
    struct slu_shard_event event = {.kind = SLU_SHARD_CLAIM_FAILED, .shard = shard};
    (void) slu_fail(&event.error, SLU_RETRY, "no thread for shard %d: too many are running", shard);
    slu_events_put(&shards->events, &event);
}

void
slu_shards_commit(struct slu_shards *shards, int shard, struct slu_batch *batch)
{
    assert(shard >= 0 && shard < shards->shard_count);
    if (shards->writers[shard]) {
        slu_writer_commit(shards->writers[shard], batch);
        return;
    }
    struct slu_shard_event event = {.kind = SLU_SHARD_LOST, .shard = shard};
    (void) slu_fail(&event.error, SLU_CONFLICT, "shard %d is not claimed", shard);
    slu_batch_free(batch);
    slu_events_put(&shards->events, &event);
}

void
slu_shards_release(struct slu_shards *shards, int shard)
{
    assert(shard >= 0 && shard < shards->shard_count);
    slu_input_release(shards->input, shard);
    if (shards->writers[shard])
        slu_writer_release(shards->writers[shard]);
}

void
slu_shards_read(struct slu_shards *shards, int shard, int partition, int64_t offset)
{
    assert(shard >= 0 && shard < shards->shard_count);
    slu_input_read(shards->input, shard, partition, offset);
}

void
slu_shards_pause(struct slu_shards *shards, int shard, bool paused)
{
    assert(shard >= 0 && shard < shards->shard_count);
    slu_input_pause(shards->input, shard, paused);
}

void
slu_shards_ask_end(struct slu_shards *shards, int shard, int64_t token)
{
    assert(shard >= 0 && shard < shards->shard_count);
    slu_input_ask_end(shards->input, shard, token);
}
