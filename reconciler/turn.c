/* SPDX-License-Identifier: Apache-2.0 */
#include "turn.h"

#include "alarm.h"
#include "calls.h"
#include "shard_input.h"
#include "slu/base/log.h"
#include "slu/port/clock.h"
#include "views.h"

#include <string.h>

enum {
    RECORDS_A_TURN = 2000,
    PLANS_A_TURN = 2000,
    SLEEP_MAX_MS = SLU_IDLE_COMMIT_MS,
};

int64_t
slu_turn_now(const struct slu_shard *shard)
{
    return slu_shard_clock_now(&shard->clock, slu_clock_boottime_ms());
}

static void
run_dirty(uv_idle_t *busy)
{
    struct slu_replica *replica = busy->data;
    for (int i = 0; i < replica->shard_count; i++) {
        struct slu_shard *shard = &replica->shards[i];
        if (shard->dirty) {
            shard->dirty = false;
            slu_turn_run(shard);
        }
    }
    for (int i = 0; i < replica->shard_count; i++) {
        if (replica->shards[i].dirty)
            return;
    }
    uv_idle_stop(busy);
}

void
slu_turn_soon(struct slu_shard *shard)
{
    if (shard->dirty)
        return;
    shard->dirty = true;
    uv_idle_start(&shard->replica->busy, run_dirty);
}

void
slu_turn_want_proof(struct slu_shard *shard)
{
    shard->wants_proof = true;
    slu_turn_soon(shard);
}

/* --- notes: one line each ----------------------------------------------------------------------
 */

static enum slu_log_level
level_of(const struct slu_note *note)
{
    if (note->warning)
        return SLU_LOG_WARN;
    return strcmp(note->event, "plan") == 0 && note->action[0] == '\0' ? SLU_LOG_DEBUG
                                                                       : SLU_LOG_INFO;
}

static size_t
add_text(struct slu_log_field *fields, size_t count, const char *key, const char *text)
{
    if (text && text[0] != '\0')
        fields[count++] = SLU_TEXT(key, text);
    return count;
}

static size_t
add_number(struct slu_log_field *fields, size_t count, const char *key, int64_t number, bool known)
{
    if (known)
        fields[count++] = SLU_INT(key, number);
    return count;
}

/* Only notes about a record have a place in the log. */
static bool
is_about_a_record(const struct slu_note *note)
{
    static const char *const events[] = {"accepted", "refused", "repeated", "forwarded",
                                         "deadletter"};
    for (size_t i = 0; i < SLU_COUNT(events); i++) {
        if (strcmp(events[i], note->event) == 0)
            return true;
    }
    return false;
}

static void
log_note(const struct slu_shard *shard, const struct slu_note *note)
{
    struct slu_log_field fields[16];
    size_t n = 0;
    n = add_text(fields, n, "key", note->key);
    n = add_text(fields, n, "goal", note->goal);
    n = add_text(fields, n, "life", note->life);
    n = add_text(fields, n, "action", note->action);
    n = add_text(fields, n, "outcome", note->outcome);
    n = add_text(fields, n, "reason", note->reason);
    n = add_text(fields, n, "message", note->message);
    n = add_number(fields, n, "generation", note->generation, note->generation > 0);
    n = add_number(fields, n, "incarnation", note->incarnation, note->incarnation > 0);
    n = add_number(fields, n, "partition", note->partition, is_about_a_record(note));
    n = add_number(fields, n, "offset", note->offset, is_about_a_record(note));
    n = add_number(fields, n, "converged_after_ms", note->converged_after_ms,
                   note->converged_after_ms >= 0);
    n = add_number(fields, n, "shard", shard->number, true);
    slu_log_write(level_of(note), note->event, fields, n);
}

void
slu_turn_log_notes(struct slu_shard *shard)
{
    struct slu_note note;
    while (slu_engine_next_note(shard->engine, &note)) {
        if (note.converged_after_ms >= 0)
            slu_histogram_add(&shard->replica->metrics.converge, note.converged_after_ms);
        if (strcmp(note.event, "loss_burst") == 0)
            slu_alarm(shard->replica, "loss_burst", shard->number, note.message);
        log_note(shard, &note);
    }
}

/* --- effects -------------------------------------------------------------------------------------
 */

void
slu_turn_commit(struct slu_shard *shard, bool even_if_idle)
{
    if (slu_engine_batch_in_flight(shard->engine))
        return;
    struct slu_batch *batch = slu_engine_take_batch(shard->engine, even_if_idle);
    if (!batch)
        return;
    slu_views_keep(shard, batch);
    shard->commit_began_ms = slu_clock_boottime_ms();
    slu_shards_commit(shard->replica->log, shard->number, batch);
}

static bool
idle_commit_is_due(const struct slu_shard *shard)
{
    return shard->wants_proof ||
           slu_clock_boottime_ms() - shard->proof_boottime_ms >= SLU_IDLE_COMMIT_MS;
}

static void
start_calls(struct slu_shard *shard)
{
    struct slu_call *call;
    while ((call = slu_engine_next_call(shard->engine)))
        slu_calls_start(shard, call);
}

/* A deadline waits for the log to be read to an end seen after it. While the broker's clock is in
 * doubt nothing is asked, so nothing expires. */
static void
ask_end(struct slu_shard *shard, int64_t now_ms)
{
    if (shard->asked_end || !slu_engine_wants_read_through(shard->engine) ||
        slu_shard_clock_in_doubt(&shard->clock, slu_clock_boottime_ms()))
        return;
    shard->asked_end = true;
    slu_shards_ask_end(shard->replica->log, shard->number, now_ms);
}

static void
on_timer(uv_timer_t *timer)
{
    slu_turn_soon(timer->data);
}

/* Sleeps until the engine's next due time or the next idle commit. */
static void
sleep_until_due(struct slu_shard *shard, int64_t now_ms)
{
    const int64_t boottime_ms = slu_clock_boottime_ms();
    int64_t sleep_ms = shard->proof_boottime_ms + SLU_IDLE_COMMIT_MS - boottime_ms;
    const int64_t due_ms = slu_engine_due_ms(shard->engine);
    if (due_ms < INT64_MAX && due_ms - now_ms < sleep_ms)
        sleep_ms = due_ms - now_ms;
    if (sleep_ms < 1)
        sleep_ms = slu_engine_batch_in_flight(shard->engine) ? 10 : 1;
    if (sleep_ms > SLEEP_MAX_MS)
        sleep_ms = SLEEP_MAX_MS;
    uv_timer_start(&shard->timer, on_timer, (uint64_t) sleep_ms, 0);
}

/* While draining nothing new is decided; what was decided is still committed. */
static void
run_last_turn(struct slu_shard *shard)
{
    slu_turn_commit(shard, slu_engine_batch_waiting(shard->engine));
    slu_turn_log_notes(shard);
    slu_views_write_observations(shard);
}

void
slu_turn_run(struct slu_shard *shard)
{
    if (shard->state != SLU_SHARD_IS_ACTIVE)
        return;
    if (shard->replica->stage != SLU_STAGE_RUNNING) {
        run_last_turn(shard);
        return;
    }
    const int64_t now_ms = slu_turn_now(shard);
    const enum slu_input_left left = slu_shard_input_feed(shard, now_ms, RECORDS_A_TURN);
    const int planned = slu_engine_turn(shard->engine, now_ms, PLANS_A_TURN);

    slu_turn_commit(shard, idle_commit_is_due(shard));
    start_calls(shard);
    slu_turn_log_notes(shard);
    slu_views_write_observations(shard);
    ask_end(shard, now_ms);

    const bool can_feed = left == SLU_INPUT_MORE ||
                          (left == SLU_INPUT_FULL && !slu_engine_batch_in_flight(shard->engine));
    if (can_feed || planned == PLANS_A_TURN)
        slu_turn_soon(shard);
    else
        sleep_until_due(shard, now_ms);
}
