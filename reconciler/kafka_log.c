/* SPDX-License-Identifier: Apache-2.0 */
#include "kafka_log.h"

#include "alarm.h"
#include "shard.h"
#include "slu/base/log.h"
#include "slu/base/memory.h"
#include "slu/port/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPEN_AGAIN_MIN_MS = 500,
    OPEN_AGAIN_MAX_MS = 3 * 1000,
    EVENTS_A_WAKE = 10000
};

/* One try to open, on a thread of the pool: it waits for brokers. */
struct opening {
    uv_work_t work;
    struct slu_replica *replica;
    struct slu_shards_settings settings;
    struct slu_shards *log;
    enum slu_status status;
    struct slu_error error;
};

static void
wake(void *context)
{
    struct slu_replica *replica = context;
    uv_async_send(&replica->log_wake);
}

/* --- events
 * ---------------------------------------------------------------------------------------- */

static void
hear_whole_log(struct slu_replica *replica, struct slu_shard_event *event)
{
    if (event->kind == SLU_SHARD_ALARM) {
        slu_alarm(replica, "log", -1, event->error.message);
    } else if (event->kind == SLU_SHARD_DOWN) {
        replica->kafka_up = false;
        snprintf(replica->kafka_trouble, sizeof(replica->kafka_trouble), "%s",
                 event->error.message);
        SLU_LOG(WARN, "kafka_down", SLU_TEXT("message", event->error.message));
    } else if (event->kind == SLU_SHARD_UP) {
        replica->kafka_up = true;
        replica->kafka_trouble[0] = '\0';
        SLU_LOG(INFO, "kafka_up", SLU_INT("shards", replica->shard_count));
    }
    slu_shard_event_done(event);
}

static void
on_wake(uv_async_t *async)
{
    struct slu_replica *replica = async->data;
    struct slu_shard_event event;
    int left = EVENTS_A_WAKE; /* Then the others on the loop have their turn. */
    while (left-- > 0 && replica->log && slu_shards_next(replica->log, &event)) {
        if (event.shard >= 0 && event.kind != SLU_SHARD_DOWN && event.kind != SLU_SHARD_UP)
            slu_shard_hear(&replica->shards[event.shard], &event);
        else
            hear_whole_log(replica, &event);
    }
    if (left < 0)
        uv_async_send(async);
}

/* --- opening
 * --------------------------------------------------------------------------------------- */

static void start_opening(struct slu_replica *replica);

static void
open_log(uv_work_t *work)
{
    struct opening *opening = work->data;
    opening->status = slu_shards_open(&opening->settings, &opening->log, &opening->error);
}

static void
use_log(struct slu_replica *replica, struct slu_shards *log)
{
    replica->log = log;
    replica->kafka_up = true;
    replica->kafka_trouble[0] = '\0';
    replica->log_opened_boottime_ms = slu_clock_boottime_ms();
    replica->shard_count = slu_shards_count(log);
    replica->shards = slu_alloc((size_t) replica->shard_count * sizeof(*replica->shards));
    for (int i = 0; i < replica->shard_count; i++)
        slu_shard_init(&replica->shards[i], replica, i);
    SLU_LOG(INFO, "log_open", SLU_INT("shards", replica->shard_count));
    slu_shards_elect(log);
    wake(replica);
}

static void
on_open_timer(uv_timer_t *timer)
{
    start_opening(timer->data);
}

static void
open_later(struct slu_replica *replica)
{
    uv_timer_start(&replica->log_timer, on_open_timer, (uint64_t) replica->log_wait_ms, 0);
    replica->log_wait_ms *= 2;
    if (replica->log_wait_ms > OPEN_AGAIN_MAX_MS)
        replica->log_wait_ms = OPEN_AGAIN_MAX_MS;
}

static void
on_opened(uv_work_t *work, int status)
{
    (void) status;
    struct opening *opening = work->data;
    struct slu_replica *replica = opening->replica;
    replica->log_opening = false;
    if (opening->status == SLU_OK && replica->stage == SLU_STAGE_RUNNING) {
        use_log(replica, opening->log);
    } else if (opening->status == SLU_OK) {
        slu_shards_close(opening->log, 0);
    } else if (replica->stage == SLU_STAGE_RUNNING) {
        if (strcmp(replica->kafka_trouble, opening->error.message) != 0)
            SLU_LOG(WARN, "log_not_open", SLU_TEXT("message", opening->error.message));
        snprintf(replica->kafka_trouble, sizeof(replica->kafka_trouble), "%s",
                 opening->error.message);
        open_later(replica);
    }
    free(opening);
}

static void
start_opening(struct slu_replica *replica)
{
    struct opening *opening = slu_alloc(sizeof(*opening));
    const struct slu_settings *settings = &replica->settings;
    opening->work.data = opening;
    opening->replica = replica;
    opening->settings = (struct slu_shards_settings){
        .brokers = settings->kafka_brokers,
        .topic_prefix = settings->topic_prefix,
        .group = settings->group,
        .client_id = settings->client_id,
        .properties = settings->kafka_properties,
        .session_timeout_ms = settings->session_timeout_ms,
        .wake = wake,
        .wake_context = replica,
    };
    replica->log_opening = true;
    uv_queue_work(&replica->loop, &opening->work, open_log, on_opened);
}

void
slu_kafka_log_start(struct slu_replica *replica)
{
    uv_async_init(&replica->loop, &replica->log_wake, on_wake);
    replica->log_wake.data = replica;
    uv_timer_init(&replica->loop, &replica->log_timer);
    replica->log_timer.data = replica;
    snprintf(replica->kafka_trouble, sizeof(replica->kafka_trouble), "not answered yet");
    replica->log_wait_ms = OPEN_AGAIN_MIN_MS;
    start_opening(replica);
}

void
slu_kafka_log_stop(struct slu_replica *replica, int64_t patience_ms)
{
    for (int i = 0; i < replica->shard_count; i++)
        slu_shard_leave(&replica->shards[i]);
    slu_shards_close(slu_steal(replica->log), patience_ms);
}
