/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of one shard.
 *
 * Forward, never back: a batch's bytes are kept until its fate is known. Aborted: the same bytes
 * again. Unclear or fenced: confirm that the shard is still ours (else two replicas would fence
 * each other for ever), take the producer id anew, which settles whatever was left open, and read
 * the newest shard record: it is the batch's own, or the one it was to follow, or somebody else's.
 */
#include "shards_kafka_writer.h"

#include "slu/base/memory.h"
#include "slu/port/clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BACKOFF_MIN_MS = 20,
    BACKOFF_MAX_MS = 2000,
    CLAIM_PATIENCE_MS = 15 * 1000,
    INIT_TRIES = 30, /* About a second each: longer than a transaction may stay open. */
    ALARM_AFTER_MS = 30 * 1000,
};

enum job_kind {
    JOB_CLAIM,
    JOB_COMMIT,
    JOB_RELEASE
};

struct job {
    struct job *next;
    enum job_kind kind;
    struct slu_shards_sink sink;
    struct slu_batch *batch;
};

struct slu_writer {
    const struct slu_writer_home *home;
    int shard;
    pthread_t thread;

    pthread_mutex_t lock; /* Guards the jobs and `busy`. */
    pthread_cond_t changed;
    struct job *first, **end;
    int commits_waiting; /* Batches taken and not settled. */
    atomic_int releases; /* Waiting: a claim that goes on is of no use any more. */
    atomic_bool stopping;
    atomic_bool give_up; /* Stopping, or releases > 0: ends a claim's reading. */
    atomic_llong claiming_since_ms;

    /* The writer's thread alone. */
    struct slu_producer *producer; /* NULL: the shard is not claimed. */
    int64_t epoch, seq;            /* Of the newest shard record known. */
};

/* --- jobs ------------------------------------------------------------------------------------ */

static void
add_job(struct slu_writer *writer, const struct job *what)
{
    struct job *job = slu_alloc(sizeof(*job));
    *job = *what;
    pthread_mutex_lock(&writer->lock);
    *writer->end = job;
    writer->end = &job->next;
    if (job->kind == JOB_COMMIT)
        writer->commits_waiting++;
    if (job->kind == JOB_RELEASE) {
        atomic_fetch_add(&writer->releases, 1);
        atomic_store(&writer->give_up, true);
    }
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
}

void
slu_writer_claim(struct slu_writer *writer, const struct slu_shards_sink *sink)
{
    add_job(writer, &(struct job){.kind = JOB_CLAIM, .sink = *sink});
}

void
slu_writer_commit(struct slu_writer *writer, struct slu_batch *batch)
{
    add_job(writer, &(struct job){.kind = JOB_COMMIT, .batch = batch});
}

void
slu_writer_release(struct slu_writer *writer)
{
    add_job(writer, &(struct job){.kind = JOB_RELEASE});
}

int64_t
slu_writer_claiming_since_ms(const struct slu_writer *writer)
{
    return atomic_load(&writer->claiming_since_ms);
}

/* NULL when the writer is to stop. */
static struct job *
next_job(struct slu_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    while (!writer->first && !atomic_load(&writer->stopping))
        pthread_cond_wait(&writer->changed, &writer->lock);
    struct job *job = atomic_load(&writer->stopping) ? NULL : writer->first;
    if (job) {
        writer->first = job->next;
        if (!writer->first)
            writer->end = &writer->first;
    }
    pthread_mutex_unlock(&writer->lock);
    return job;
}

/* Sleeps unless the writer is to stop. Returns the next, longer nap. */
static int64_t
back_off(struct slu_writer *writer, int64_t nap_ms)
{
    const struct timespec until = slu_wait_until(nap_ms);
    pthread_mutex_lock(&writer->lock);
    while (!atomic_load(&writer->stopping) &&
           !pthread_cond_timedwait(&writer->changed, &writer->lock, &until))
        continue;
    pthread_mutex_unlock(&writer->lock);
    return nap_ms * 2 < BACKOFF_MAX_MS ? nap_ms * 2 : BACKOFF_MAX_MS;
}

static void
tell(struct slu_writer *writer, enum slu_shard_event_kind kind, const struct slu_error *error)
{
    struct slu_shard_event event = {.kind = kind, .shard = writer->shard};
    if (error)
        event.error = *error;
    slu_events_put(writer->home->events, &event);
}

/* --- the producer ---------------------------------------------------------------------------- */

static void
drop_producer(struct slu_writer *writer)
{
    slu_producer_close(slu_steal(writer->producer), writer->home->reaper);
}

static enum slu_status
init_producer(struct slu_writer *writer, struct slu_error *reterr)
{
    enum slu_status status = SLU_RETRY;
    for (int i = 0; i < INIT_TRIES && status == SLU_RETRY; i++) {
        if (atomic_load(&writer->stopping))
            return slu_fail(reterr, SLU_FATAL, "the program is stopping");
        status = slu_producer_init(writer->producer, reterr);
    }
    return status;
}

/* A new producer under the shard's id. From here on every other one is fenced. Only after confirm.
 */
static enum slu_status
take_producer(struct slu_writer *writer, struct slu_error *reterr)
{
    char id[SLU_CLUSTER_SIZE + 32];
    snprintf(id, sizeof(id), "%s-shard-%d", writer->home->cluster, writer->shard);
    drop_producer(writer);
    enum slu_status status =
        slu_producer_open(writer->home->kafka, id, &writer->stopping, &writer->producer, reterr);
    if (!status)
        status = init_producer(writer, reterr);
    if (status)
        drop_producer(writer);
    return status;
}

/* The newest shard record, after the ends of both topics are fixed by our taking the id. To the
 * whole end: a commit is answered before its marks are written, and a broker that dies in between
 * writes them after it is back. */
static enum slu_status
read_newest(struct slu_writer *writer, struct slu_shard_found *ret_found, struct slu_error *reterr)
{
    const enum slu_status status =
        slu_reader_newest(writer->home->reader, writer->shard, SLU_READER_WHOLE, &writer->stopping,
                          ret_found, reterr);
    if (status)
        return status;
    if (strcmp(ret_found->record.cluster, writer->home->cluster) != 0 ||
        ret_found->record.shard_count != writer->home->shard_count) {
        return slu_fail(
            reterr, SLU_FATAL,
            "shard %d: its record names cluster %s with %d shards; this replica started "
            "with cluster %s and %d: restart it, and see: sluice topics check",
            writer->shard, ret_found->record.cluster, ret_found->record.shard_count,
            writer->home->cluster, writer->home->shard_count);
    }
    return SLU_OK;
}

/* --- claim ----------------------------------------------------------------------------------- */

static enum slu_confirmed
confirm_for_claim(struct slu_writer *writer, struct slu_error *reterr)
{
    const int64_t until_ms = slu_clock_boottime_ms() + CLAIM_PATIENCE_MS;
    int64_t nap_ms = BACKOFF_MIN_MS;
    for (;;) {
        const enum slu_confirmed confirmed =
            slu_elector_confirm(writer->home->elector, writer->shard, true, reterr);
        if (confirmed != SLU_CONFIRMED_NOT_YET || atomic_load(&writer->give_up) ||
            slu_clock_boottime_ms() > until_ms)
            return confirmed;
        nap_ms = back_off(writer, nap_ms);
    }
}

static enum slu_status
read_status(struct slu_writer *writer, const struct slu_shards_sink *sink, struct slu_error *reterr)
{
    const struct slu_reader_place place = {SLU_TOPIC_STATUS, writer->shard, SLU_READER_WHOLE};
    struct slu_reading reading = {
        .topic = SLU_TOPIC_STATUS,
        .partition = writer->shard,
        .visit = sink->status,
        .context = sink->context,
        .stop = &writer->give_up,
        .progress_ms = &writer->claiming_since_ms,
    };
    enum slu_status status =
        slu_reader_bounds(writer->home->reader, &place, &reading.from, &reading.end, reterr);
    if (!status)
        status = slu_reader_read(writer->home->reader, &reading, reterr);
    return status;
}

static enum slu_status
claim_confirmed(struct slu_writer *writer,
                const struct slu_shards_sink *sink,
                struct slu_error *reterr)
{
    struct slu_shard_found found = {0};
    enum slu_status status = take_producer(writer, reterr);
    if (!status)
        status = read_newest(writer, &found, reterr);
    if (!status)
        status = read_status(writer, sink, reterr);
    if (!status) {
        writer->epoch = found.record.epoch;
        writer->seq = found.record.seq;
        struct slu_shard_event event = {.kind = SLU_SHARD_CLAIM_READ, .shard = writer->shard};
        event.shard_record = slu_alloc(sizeof(*event.shard_record));
        *event.shard_record = found.record;
        found.record = (struct slu_shard_record){0}; /* The event has it now. */
        slu_events_put(writer->home->events, &event);
    }
    slu_shard_found_done(&found);
    return status;
}

static void
claim(struct slu_writer *writer, const struct slu_shards_sink *sink)
{
    long long nobody = 0;
    atomic_compare_exchange_strong(&writer->claiming_since_ms, &nobody, slu_clock_boottime_ms());

    struct slu_error error = {0};
    const enum slu_confirmed confirmed = confirm_for_claim(writer, &error);
    if (confirmed == SLU_CONFIRMED_NO) { /* The elector told it. */
        atomic_store(&writer->claiming_since_ms, 0);
        return;
    }
    if (confirmed == SLU_CONFIRMED_YES && !claim_confirmed(writer, sink, &error))
        return;
    drop_producer(writer);
    writer->home->suspect(writer->home->context, error.message);
    tell(writer, SLU_SHARD_CLAIM_FAILED, &error);
}

/* --- commit ---------------------------------------------------------------------------------- */

enum fate {
    FATE_COMMITTED,
    FATE_AGAIN,
    FATE_LOST,
    FATE_STOPPED
};

/* Epoch and seq could be another claimer's who followed the same record; the bytes (owner and all)
 * are the batch's own or not. */
static enum fate
compare(const struct slu_writer *writer,
        const struct slu_batch *batch,
        const struct slu_shard_found *found,
        struct slu_error *reterr)
{
    const struct slu_output *ours = &batch->outputs[batch->count - 1];
    const struct slu_shard_record *newest = &found->record;
    if (newest->epoch == batch->epoch && newest->seq == batch->seq &&
        found->bytes.size == ours->value_size &&
        memcmp(found->bytes.data, ours->value, ours->value_size) == 0)
        return FATE_COMMITTED;
    if (newest->epoch == writer->epoch && newest->seq == writer->seq)
        return FATE_AGAIN;
    (void) slu_fail(reterr, SLU_CONFLICT,
                    "shard %d is at epoch %lld seq %lld of \"%s\"; ours was epoch %lld seq %lld",
                    writer->shard, (long long) newest->epoch, (long long) newest->seq,
                    newest->owner, (long long) batch->epoch, (long long) batch->seq);
    return FATE_LOST;
}

/* One try to learn what became of the batch. False: not yet known. */
static bool
look_once(struct slu_writer *writer,
          const struct slu_batch *batch,
          struct slu_attempt *attempt,
          enum fate *ret_fate)
{
    const enum slu_confirmed confirmed =
        slu_elector_confirm(writer->home->elector, writer->shard, false, &attempt->error);
    if (confirmed == SLU_CONFIRMED_NO) {
        *ret_fate = FATE_LOST;
        return true;
    }
    if (confirmed != SLU_CONFIRMED_YES || take_producer(writer, &attempt->error))
        return false;

    struct slu_shard_found found = {0};
    const enum slu_status status = read_newest(writer, &found, &attempt->error);
    if (!status) {
        *ret_fate = compare(writer, batch, &found, &attempt->error);
        if (*ret_fate == FATE_COMMITTED && !attempt->reported) {
            /* Paired with now, the record's time is at worst old: deadlines come late, not early.
             */
            attempt->append_ms = found.append_ms;
            attempt->done_boottime_ms = slu_clock_boottime_ms();
        }
    } else if (status != SLU_RETRY) {
        *ret_fate = FATE_LOST; /* The shard record is gone or unreadable: nothing is guessed. */
    }
    slu_shard_found_done(&found);
    return !status || status != SLU_RETRY;
}

/* Never gives a batch up silently: as long as nothing is known, it asks again. */
static enum fate
find_out(struct slu_writer *writer, const struct slu_batch *batch, struct slu_attempt *attempt)
{
    int64_t alarm_at_ms = slu_clock_boottime_ms() + ALARM_AFTER_MS;
    int64_t nap_ms = BACKOFF_MIN_MS;
    drop_producer(writer);
    while (!atomic_load(&writer->stopping)) {
        enum fate fate;
        if (look_once(writer, batch, attempt, &fate))
            return fate;
        writer->home->suspect(writer->home->context, attempt->error.message);
        if (slu_clock_boottime_ms() > alarm_at_ms) {
            alarm_at_ms = INT64_MAX; /* Once a batch. */
            tell(writer, SLU_SHARD_ALARM, &attempt->error);
        }
        nap_ms = back_off(writer, nap_ms);
    }
    return FATE_STOPPED;
}

static enum fate
try_once(struct slu_writer *writer, const struct slu_batch *batch, struct slu_attempt *attempt)
{
    switch (slu_producer_commit(writer->producer, batch, attempt)) {
    case SLU_ATTEMPT_COMMITTED:
        return FATE_COMMITTED;
    case SLU_ATTEMPT_ABORTED:
        return FATE_AGAIN;
    case SLU_ATTEMPT_REFUSED:
        return FATE_LOST;
    case SLU_ATTEMPT_UNCLEAR:
        break;
    }
    writer->home->suspect(writer->home->context, attempt->error.message);
    return find_out(writer, batch, attempt);
}

static enum fate
settle(struct slu_writer *writer, const struct slu_batch *batch, struct slu_attempt *attempt)
{
    int64_t alarm_at_ms = slu_clock_boottime_ms() + ALARM_AFTER_MS;
    int64_t nap_ms = BACKOFF_MIN_MS;
    enum fate fate;
    while ((fate = try_once(writer, batch, attempt)) == FATE_AGAIN) {
        if (slu_clock_boottime_ms() > alarm_at_ms) {
            alarm_at_ms = INT64_MAX; /* Once a batch. */
            tell(writer, SLU_SHARD_ALARM, &attempt->error);
        }
        nap_ms = back_off(writer, nap_ms);
        if (atomic_load(&writer->stopping))
            return FATE_STOPPED;
    }
    return fate;
}

static void
lose(struct slu_writer *writer, const struct slu_error *error)
{
    drop_producer(writer);
    atomic_store(&writer->claiming_since_ms, 0);
    tell(writer, SLU_SHARD_LOST, error);
}

static void
commit(struct slu_writer *writer, const struct slu_batch *batch)
{
    struct slu_attempt attempt = {0};
    if (!writer->producer) {
        (void) slu_fail(&attempt.error, SLU_CONFLICT, "shard %d is not claimed", writer->shard);
        tell(writer, SLU_SHARD_LOST, &attempt.error);
        return;
    }
    const enum fate fate = settle(writer, batch, &attempt);
    if (fate == FATE_LOST)
        lose(writer, &attempt.error);
    if (fate != FATE_COMMITTED)
        return;

    writer->epoch = batch->epoch;
    writer->seq = batch->seq;
    atomic_store(&writer->claiming_since_ms, 0);
    const struct slu_shard_event event = {
        .kind = SLU_SHARD_COMMITTED,
        .shard = writer->shard,
        .seq = batch->seq,
        .append_ms = attempt.append_ms,
        .began_boottime_ms = attempt.began_boottime_ms,
        .done_boottime_ms = attempt.done_boottime_ms,
    };
    slu_events_put(writer->home->events, &event);
}

/* --- the thread ------------------------------------------------------------------------------ */

static void
release(struct slu_writer *writer)
{
    drop_producer(writer);
    atomic_store(&writer->claiming_since_ms, 0);
    pthread_mutex_lock(&writer->lock);
    if (atomic_fetch_sub(&writer->releases, 1) == 1 && !atomic_load(&writer->stopping))
        atomic_store(&writer->give_up, false);
    pthread_mutex_unlock(&writer->lock);
}

static void
do_job(struct slu_writer *writer, const struct job *job)
{
    switch (job->kind) {
    case JOB_CLAIM:
        claim(writer, &job->sink);
        break;
    case JOB_COMMIT:
        commit(writer, job->batch);
        slu_batch_free(job->batch);
        pthread_mutex_lock(&writer->lock);
        writer->commits_waiting--;
        pthread_cond_broadcast(&writer->changed);
        pthread_mutex_unlock(&writer->lock);
        break;
    case JOB_RELEASE:
        release(writer);
        break;
    }
}

static void *
run_writer(void *context)
{
    struct slu_writer *writer = context;
    struct job *job;
    while ((job = next_job(writer))) {
        do_job(writer, job);
        free(job);
    }
    drop_producer(writer);
    return NULL;
}

struct slu_writer *
slu_writer_new(const struct slu_writer_home *home, int shard)
{
    struct slu_writer *writer = slu_alloc(sizeof(*writer));
    writer->home = home;
    writer->shard = shard;
    writer->end = &writer->first;
    slu_lock_init(&writer->lock, &writer->changed);
    if (slu_thread_start(&writer->thread, "slu-writer", run_writer, writer))
        return writer;
    slu_lock_done(&writer->lock, &writer->changed);
    free(writer);
    return NULL;
}

bool
slu_writer_wait_idle(struct slu_writer *writer, int64_t patience_ms)
{
    const struct timespec until = slu_wait_until(patience_ms);
    pthread_mutex_lock(&writer->lock);
    while (writer->commits_waiting > 0 &&
           !pthread_cond_timedwait(&writer->changed, &writer->lock, &until))
        continue;
    const bool idle = writer->commits_waiting == 0;
    pthread_mutex_unlock(&writer->lock);
    return idle;
}

void
slu_writer_stop(struct slu_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    atomic_store(&writer->stopping, true);
    atomic_store(&writer->give_up, true);
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
}

bool
slu_writer_close(struct slu_writer *writer, int64_t patience_ms)
{
    slu_writer_stop(writer);
    if (!slu_thread_join(writer->thread, patience_ms))
        return false;
    struct job *job;
    while ((job = writer->first)) {
        writer->first = job->next;
        slu_batch_free(job->batch);
        free(job);
    }
    slu_lock_done(&writer->lock, &writer->changed);
    free(writer);
    return true;
}
