/* SPDX-License-Identifier: Apache-2.0 */
#include "drain.h"

#include "http_server.h"
#include "kafka_log.h"
#include "slu/base/log.h"
#include "slu/port/clock.h"
#include "turn.h"

#include <signal.h>
#include <stdlib.h>

enum {
    CALLS_PATIENCE_MS = 5000,
    COMMITS_PATIENCE_MS = 2000,
    LOOK_EVERY_MS = 20,
};

static void
close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void
on_store_closed(void *context)
{
    (void) context; /* The loop ends by itself once nothing is open any more. */
}

static void
on_http_closed(void *context)
{
    struct slu_replica *replica = context;
    slu_store_close(replica->store, on_store_closed, replica);
    slu_http_server_stop(replica);
}

static void
leave(struct slu_replica *replica)
{
    replica->stage = SLU_STAGE_LEAVING;
    const int64_t began_ms = slu_clock_boottime_ms();
    slu_kafka_log_stop(replica, COMMITS_PATIENCE_MS);
    SLU_LOG(INFO, "left", SLU_INT("drained_ms", began_ms - replica->drain_began_ms),
            SLU_INT("left_ms", slu_clock_boottime_ms() - began_ms));

    for (int i = 0; i < replica->shard_count; i++)
        close_handle(&replica->shards[i].timer);
    for (int i = 0; i < replica->provider_count; i++)
        slu_http_queue_close(replica->providers[i].queue);
    close_handle(&replica->busy);
    close_handle(&replica->tick);
    close_handle(&replica->log_wake);
    close_handle(&replica->log_timer);
    close_handle(&replica->drain_timer);
    close_handle(&replica->on_term);
    close_handle(&replica->on_int);
    slu_http_client_close(replica->http, on_http_closed, replica);
}

static bool
calls_are_done(const struct slu_replica *replica)
{
    for (int i = 0; i < replica->shard_count; i++) {
        if (replica->shards[i].flying > 0)
            return false;
    }
    return true;
}

static bool
commits_are_done(const struct slu_replica *replica)
{
    for (int i = 0; i < replica->shard_count; i++) {
        const struct slu_shard *shard = &replica->shards[i];
        if (shard->state == SLU_SHARD_IS_ACTIVE &&
            (slu_engine_batch_in_flight(shard->engine) || slu_engine_batch_waiting(shard->engine)))
            return false;
    }
    return true;
}

static void
on_drain_timer(uv_timer_t *timer)
{
    struct slu_replica *replica = timer->data;
    const int64_t since_ms = slu_clock_boottime_ms() - replica->drain_began_ms;
    for (int i = 0; i < replica->shard_count; i++)
        slu_turn_soon(&replica->shards[i]);
    const bool calls = calls_are_done(replica) || since_ms >= CALLS_PATIENCE_MS;
    const bool commits =
        commits_are_done(replica) || since_ms >= CALLS_PATIENCE_MS + COMMITS_PATIENCE_MS;
    if (calls && commits)
        leave(replica);
}

static void
on_signal(uv_signal_t *signal, int number)
{
    struct slu_replica *replica = signal->data;
    if (replica->stage != SLU_STAGE_RUNNING) {
        SLU_LOG(WARN, "killed", SLU_INT("signal", number));
        _exit(1);
    }
    SLU_LOG(INFO, "stopping", SLU_INT("signal", number));
    replica->stage = SLU_STAGE_DRAINING;
    replica->drain_began_ms = slu_clock_boottime_ms();
    uv_timer_start(&replica->drain_timer, on_drain_timer, 0, LOOK_EVERY_MS);
}

void
slu_drain_watch(struct slu_replica *replica)
{
    uv_timer_init(&replica->loop, &replica->drain_timer);
    replica->drain_timer.data = replica;
    uv_signal_init(&replica->loop, &replica->on_term);
    uv_signal_init(&replica->loop, &replica->on_int);
    replica->on_term.data = replica;
    replica->on_int.data = replica;
    uv_signal_start(&replica->on_term, on_signal, SIGTERM);
    uv_signal_start(&replica->on_int, on_signal, SIGINT);
}
