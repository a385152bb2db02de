/* SPDX-License-Identifier: Apache-2.0 */
#include "shard.h"

#include "alarm.h"
#include "calls.h"
#include "shard_input.h"
#include "slu/base/log.h"
#include "slu/port/clock.h"
#include "turn.h"
#include "views.h"

#include <sodium.h>

#include <assert.h>
#include <string.h>

enum {
    CLAIM_AGAIN_MIN_MS = 250,
    CLAIM_AGAIN_MAX_MS = 10 * 1000,
    WALL_CLOCK_OFF_MS = 5000,
};

void
slu_shard_init(struct slu_shard *shard, struct slu_replica *replica, int number)
{
    shard->replica = replica;
    shard->number = number;
    uv_timer_init(&replica->loop, &shard->timer);
    shard->timer.data = shard;
}

/* --- forgetting ----------------------------------------------------------------------------------
 */

static void
forget(struct slu_shard *shard)
{
    if (shard->engine) {
        slu_turn_log_notes(shard);
        slu_metrics_engine_ends(&shard->replica->metrics, shard->engine);
    }
    slu_calls_drop(shard);
    slu_shard_input_drop(shard);
    slu_views_drop(shard);
    slu_engine_free(shard->engine);
    shard->engine = NULL;
    shard->life++;
    shard->clock = (struct slu_shard_clock){0};
    shard->proof_boottime_ms = 0;
    shard->wants_proof = false;
    memset(shard->fences, 0, sizeof(shard->fences));
    shard->state = SLU_SHARD_IS_IDLE;
    uv_timer_stop(&shard->timer);
}

void
slu_shard_leave(struct slu_shard *shard)
{
    if (shard->state == SLU_SHARD_IS_IDLE)
        return;
    forget(shard);
    slu_shards_release(shard->replica->log, shard->number);
}

/* --- claiming
 * -------------------------------------------------------------------------------------- */

/* On the log's thread; nobody else touches the engine until CLAIM_READ. */
static enum slu_status
take_status(void *context, const struct slu_record *record, struct slu_error *reterr)
{
    struct slu_shard *shard = context;
    atomic_fetch_add(&shard->restored, 1);
    return slu_engine_restore(shard->engine, record, reterr);
}

static struct slu_engine *
make_engine(const struct slu_shard *shard)
{
    const struct slu_replica *replica = shard->replica;
    const struct slu_settings *settings = &replica->settings;
    struct slu_engine_config config = {
        .shard = shard->number,
        .shard_count = replica->shard_count,
        .cluster = "",
        .owner_url = replica->url,
        .instances = settings->instances,
        .instance_count = settings->instance_count,
        .default_provider = settings->default_provider,
        .deleted_retention_ms = settings->deleted_retention_seconds * 1000,
    };
    randombytes_buf(&config.seed, sizeof(config.seed));
    slu_engine_config_defaults(&config);
    return slu_engine_new(&config);
}

static void
claim(struct slu_shard *shard)
{
    assert(!shard->engine);
    atomic_store(&shard->restored, 0);
    shard->engine = make_engine(shard);
    shard->state = SLU_SHARD_IS_CLAIMING;
    shard->claim_began_ms = slu_clock_boottime_ms();
    const struct slu_shards_sink sink = {.status = take_status, .context = shard};
    slu_shards_claim(shard->replica->log, shard->number, &sink);
}

static void
on_claim_timer(uv_timer_t *timer)
{
    struct slu_shard *shard = timer->data;
    if (shard->state == SLU_SHARD_IS_WAITING && shard->candidate &&
        shard->replica->stage == SLU_STAGE_RUNNING)
        claim(shard);
}

/* Longer after each failure in a row, so that two replicas never fence each other in a loop. */
static void
claim_later(struct slu_shard *shard)
{
    int64_t wait_ms = CLAIM_AGAIN_MIN_MS;
    for (int i = 0; i < shard->claim_failures && wait_ms < CLAIM_AGAIN_MAX_MS; i++)
        wait_ms *= 2;
    shard->claim_failures++;
    shard->state = SLU_SHARD_IS_WAITING;
    uv_timer_start(&shard->timer, on_claim_timer, (uint64_t) wait_ms, 0);
}

static void
hear_candidate(struct slu_shard *shard)
{
    shard->candidate = true;
    if (shard->state == SLU_SHARD_IS_IDLE && shard->replica->stage == SLU_STAGE_RUNNING)
        claim(shard);
}

static void
hear_not_candidate(struct slu_shard *shard)
{
    shard->candidate = false;
    if (shard->state == SLU_SHARD_IS_IDLE)
        return;
    SLU_LOG(INFO, "shard_left", SLU_INT("shard", shard->number));
    slu_shard_leave(shard);
}

static void
hear_claim_read(struct slu_shard *shard, const struct slu_shard_event *event)
{
    if (shard->state != SLU_SHARD_IS_CLAIMING)
        return;
    struct slu_error error = {0};
    if (slu_engine_claim(shard->engine, event->shard_record, &error)) {
        slu_alarm(shard->replica, "claim_refused", shard->number, error.message);
        slu_shard_leave(shard);
        claim_later(shard);
        return;
    }
    shard->state = SLU_SHARD_IS_TAKING;
    slu_turn_commit(shard, true);
}

static void
hear_claim_failed(struct slu_shard *shard, const struct slu_shard_event *event)
{
    if (shard->state != SLU_SHARD_IS_CLAIMING)
        return;
    SLU_LOG(WARN, "claim_failed", SLU_INT("shard", shard->number),
            SLU_TEXT("message", event->error.message));
    shard->replica->metrics.claims_failed++;
    forget(shard);
    claim_later(shard);
}

/* --- leading
 * ----------------------------------------------------------------------------------------- */

static void
start_reading(struct slu_shard *shard)
{
    struct slu_shards *log = shard->replica->log;
    const int partitions = slu_shards_inputs(log);
    /* Beyond its own partition a shard reads the strays: those made after the shards were counted.
     */
    for (int p = shard->number; p < partitions; p += shard->replica->shard_count)
        slu_shards_read(log, shard->number, p, slu_engine_next_offset(shard->engine, p));
}

static void
become_active(struct slu_shard *shard)
{
    const int64_t now_ms = slu_turn_now(shard);
    shard->state = SLU_SHARD_IS_ACTIVE;
    shard->claim_failures = 0;
    shard->replica->metrics.claims++;
    SLU_LOG(INFO, "shard_taken", SLU_INT("shard", shard->number),
            SLU_INT("epoch", slu_engine_epoch(shard->engine)),
            SLU_INT("resources", slu_engine_resource_count(shard->engine)),
            SLU_INT("restored", atomic_load(&shard->restored)),
            SLU_INT("took_ms", slu_clock_boottime_ms() - shard->claim_began_ms));
    const int64_t off_ms = slu_clock_wall_ms() - now_ms;
    if (off_ms > WALL_CLOCK_OFF_MS || off_ms < -WALL_CLOCK_OFF_MS) {
        SLU_LOG(WARN, "wall_clock_differs", SLU_INT("shard", shard->number),
                SLU_INT("off_ms", off_ms),
                SLU_TEXT("message",
                         "this machine's clock and the broker's differ; the broker's counts"));
    }
    start_reading(shard);
    slu_views_read_observations(shard);
}

static void
hear_committed(struct slu_shard *shard, const struct slu_shard_event *event)
{
    if (shard->state != SLU_SHARD_IS_TAKING && shard->state != SLU_SHARD_IS_ACTIVE)
        return;
    if (!slu_shard_clock_take(&shard->clock, event->append_ms, event->done_boottime_ms))
        slu_alarm(shard->replica, "clock_jumped", shard->number,
                  "the broker's clock jumped ahead by more than 5 minutes: nothing expires for 10");
    shard->proof_boottime_ms = event->began_boottime_ms;
    shard->wants_proof = false;
    slu_histogram_add(&shard->replica->metrics.commits,
                      slu_clock_boottime_ms() - shard->commit_began_ms);
    slu_engine_committed(shard->engine, slu_turn_now(shard));
    slu_views_committed(shard);
    if (shard->state == SLU_SHARD_IS_TAKING)
        become_active(shard);
    slu_calls_retry(shard);
    slu_turn_soon(shard);
}

static void
hear_lost(struct slu_shard *shard, const struct slu_shard_event *event)
{
    if (shard->state == SLU_SHARD_IS_IDLE)
        return;
    SLU_LOG(WARN, "shard_lost", SLU_INT("shard", shard->number),
            SLU_TEXT("message", event->error.message));
    shard->replica->metrics.losses++;
    slu_shard_leave(shard);
    if (shard->candidate && shard->replica->stage == SLU_STAGE_RUNNING)
        claim_later(shard);
}

static void
hear_out_of_range(struct slu_shard *shard, const struct slu_shard_event *event)
{
    if (shard->state != SLU_SHARD_IS_ACTIVE)
        return;
    slu_alarm(shard->replica, "position_outside_log", shard->number, event->error.message);
    slu_shard_leave(shard);
    shard->state = SLU_SHARD_IS_STOPPED;
}

static void
hear_input(struct slu_shard *shard, struct slu_shard_event *event)
{
    if (shard->state != SLU_SHARD_IS_ACTIVE)
        return;
    slu_shard_input_put(shard, event);
    slu_turn_soon(shard);
}

void
slu_shard_hear(struct slu_shard *shard, struct slu_shard_event *event)
{
    switch (event->kind) {
    case SLU_SHARD_CANDIDATE:
        shard->replica->was_candidate = true;
        hear_candidate(shard);
        break;
    case SLU_SHARD_NOT_CANDIDATE:
        hear_not_candidate(shard);
        break;
    case SLU_SHARD_CLAIM_READ:
        hear_claim_read(shard, event);
        break;
    case SLU_SHARD_CLAIM_FAILED:
        hear_claim_failed(shard, event);
        break;
    case SLU_SHARD_COMMITTED:
        hear_committed(shard, event);
        break;
    case SLU_SHARD_LOST:
        hear_lost(shard, event);
        break;
    case SLU_SHARD_RECORDS:
    case SLU_SHARD_READ_THROUGH:
        hear_input(shard, event);
        break;
    case SLU_SHARD_OUT_OF_RANGE:
        hear_out_of_range(shard, event);
        break;
    case SLU_SHARD_ALARM:
        slu_alarm(shard->replica, "log", shard->number, event->error.message);
        break;
    case SLU_SHARD_DOWN:
    case SLU_SHARD_UP:
        break; /* Of the whole log: kafka_log.c. */
    }
    slu_shard_event_done(event);
}
