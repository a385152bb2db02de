/* SPDX-License-Identifier: Apache-2.0 */
/* A replica as the tests drive it. */
#include "replica.h"

#include "slu/base/memory.h"
#include "slu/port/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum {
    REPLICAS_MAX = 4,
    PENDING_MAX = 256,
    PATIENCE_MS = 60 * 1000,
    TICK_MS = 50,
    SETTLE_MS = 400,
};

struct replica_private {
    struct slu_shard_event pending[PENDING_MAX]; /* Came, and was not awaited yet. */
    size_t pending_count;
    struct slu_shard_event held[PENDING_MAX];
    size_t held_count;
    bool hanging;
    int wakes; /* Guarded by `bell_lock`. */
    int64_t token;
};

static struct replica *replicas[REPLICAS_MAX];
static pthread_mutex_t bell_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;

static void
ring(void *context)
{
    struct replica *replica = context;
    pthread_mutex_lock(&bell_lock);
    replica->private->wakes++;
    pthread_cond_broadcast(&bell);
    pthread_mutex_unlock(&bell_lock);
}

static void
wait_for_bell(int64_t at_most_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += at_most_ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&bell_lock);
    pthread_cond_timedwait(&bell, &bell_lock, &until);
    pthread_mutex_unlock(&bell_lock);
}

/* --- events ---------------------------------------------------------------------------------- */

static void
copy_text(char *room, size_t room_size, const void *bytes, size_t size)
{
    const size_t kept = size < room_size - 1 ? size : room_size - 1;
    if (kept > 0)
        memcpy(room, bytes, kept);
    room[kept] = '\0';
}

static void
note_record(struct lead *lead, const struct slu_record *record)
{
    if (lead->input_count++ == 0) {
        lead->first_offset = record->offset;
        lead->input_in_order = true;
        copy_text(lead->first_value, sizeof(lead->first_value), record->value, record->value_size);
    } else if (record->offset <= lead->last_offset) {
        lead->input_in_order = false;
    }
    lead->last_offset = record->offset;
    copy_text(lead->last_key, sizeof(lead->last_key), record->key, record->key_size);
    lead->last_is_tombstone = !record->value;
    lead->last_timestamp_ms = record->timestamp_ms;
}

static void
note_event(struct replica *replica, const struct slu_shard_event *event)
{
    if (event->kind == SLU_SHARD_CANDIDATE)
        replica->candidate[event->shard] = true;
    if (event->kind == SLU_SHARD_NOT_CANDIDATE)
        replica->candidate[event->shard] = false;
    for (size_t i = 0; i < event->record_count; i++)
        note_record(&replica->leads[event->shard], &event->records[i]);
}

static void
take_events(struct replica *replica)
{
    struct replica_private *private = replica->private;
    struct slu_shard_event event;
    while (slu_shards_next(replica->shards, &event)) {
        note_event(replica, &event);
        if (event.kind == SLU_SHARD_RECORDS) {
            slu_shard_event_done(&event);
            continue;
        }
        assert_true(private->pending_count < PENDING_MAX);
        private->pending[private->pending_count++] = event;
    }
}

static void
pump(void)
{
    for (int i = 0; i < REPLICAS_MAX; i++) {
        if (replicas[i] && !replicas[i]->private->hanging) {
            slu_shards_tick(replicas[i]->shards);
            take_events(replicas[i]);
        }
    }
}

static bool
take_pending(struct replica *replica,
             enum slu_shard_event_kind kind,
             int shard,
             struct slu_shard_event *ret_event)
{
    struct replica_private *private = replica->private;
    for (size_t i = 0; i < private->pending_count; i++) {
        struct slu_shard_event *event = &private->pending[i];
        if (event->kind != kind || (shard >= 0 && event->shard != shard))
            continue;
        *ret_event = *event;
        private->pending_count--;
        memmove(event, event + 1, (private->pending_count - i) * sizeof(*event));
        return true;
    }
    return false;
}

struct slu_shard_event
replica_await_for(struct replica *replica,
                  enum slu_shard_event_kind kind,
                  int shard,
                  int64_t patience_ms)
{
    struct slu_shard_event event;
    const int64_t until_ms = slu_clock_boottime_ms() + patience_ms;
    while (!take_pending(replica, kind, shard, &event)) {
        if (slu_clock_boottime_ms() > until_ms) {
            for (size_t i = 0; i < replica->private->pending_count; i++) {
                print_message("had: kind %d shard %d %s\n", replica->private->pending[i].kind,
                              replica->private->pending[i].shard,
                              replica->private->pending[i].error.message);
            }
            fail_msg("%s: event %d of shard %d did not come", replica->name, kind, shard);
        }
        pump();
        if (take_pending(replica, kind, shard, &event))
            break;
        wait_for_bell(TICK_MS);
    }
    /* What the event owns ends here; what is looked at afterwards are its numbers and words. */
    struct slu_shard_event told = event;
    if (event.kind == SLU_SHARD_CLAIM_READ) {
        struct lead *lead = &replica->leads[event.shard];
        slu_shard_record_done(&lead->newest);
        lead->newest = *event.shard_record;
        *event.shard_record = (struct slu_shard_record){0};
        lead->epoch = lead->newest.epoch;
        lead->seq = lead->newest.seq;
    }
    slu_shard_event_done(&event);
    return told;
}

struct slu_shard_event
replica_await(struct replica *replica, enum slu_shard_event_kind kind, int shard)
{
    return replica_await_for(replica, kind, shard, PATIENCE_MS);
}

bool
replica_has(struct replica *replica, enum slu_shard_event_kind kind)
{
    bool has = false;
    pump();
    for (size_t i = 0; i < replica->private->pending_count; i++)
        has = has || replica->private->pending[i].kind == kind;
    return has;
}

static bool
is_pending(const struct replica *replica, enum slu_shard_event_kind kind, int shard)
{
    const struct replica_private *private = replica->private;
    for (size_t i = 0; i < private->pending_count; i++) {
        if (private->pending[i].kind == kind && (shard < 0 || private->pending[i].shard == shard))
            return true;
    }
    return false;
}

bool
replica_await_unless(struct replica *replica,
                     enum slu_shard_event_kind kind,
                     int shard,
                     enum slu_shard_event_kind unless)
{
    const int64_t until_ms = slu_clock_boottime_ms() + PATIENCE_MS;
    while (!is_pending(replica, kind, shard) && !is_pending(replica, unless, -1) &&
           slu_clock_boottime_ms() < until_ms) {
        pump();
        wait_for_bell(TICK_MS);
    }
    if (!is_pending(replica, kind, shard) && is_pending(replica, unless, -1))
        return false;
    replica_await(replica, kind, shard);
    return true;
}

static int
count_candidacies(const struct replica *replica)
{
    int count = 0;
    for (int i = 0; i < REPLICA_SHARDS_MAX; i++)
        count += replica->candidate[i];
    return count;
}

void
replica_await_candidacies(struct replica *const *those, int count, const int *each)
{
    const int64_t until_ms = slu_clock_boottime_ms() + PATIENCE_MS;
    for (;;) {
        bool all = true;
        for (int i = 0; i < count; i++)
            all = all && count_candidacies(those[i]) == each[i];
        if (all)
            return;
        if (slu_clock_boottime_ms() > until_ms)
            fail_msg("the shards did not spread as they should");
        pump();
        wait_for_bell(TICK_MS);
    }
}

/* --- life ------------------------------------------------------------------------------------ */

struct replica *
replica_open_idle(struct subject *log, const char *name)
{
    return replica_open_idle_for(log, name, 0);
}

struct replica *
replica_open_idle_for(struct subject *log, const char *name, int64_t claim_patience_ms)
{
    struct replica *replica = slu_alloc(sizeof(*replica));
    replica->private = slu_alloc(sizeof(*replica->private));
    replica->log = log;
    copy_text(replica->name, sizeof(replica->name), name, strlen(name));

    struct slu_shards_settings settings = {
        .group = "sluice-test",
        .client_id = name,
        .properties = "",
        .session_timeout_ms = 6000,
        .claim_patience_ms = claim_patience_ms,
        .wake = ring,
        .wake_context = replica,
    };
    struct slu_error error = {0};
    subject_settings(log, &settings);
    if (slu_shards_open(&settings, &replica->shards, &error))
        fail_msg("%s", error.message);
    int place = 0;
    while (replicas[place])
        place++;
    assert_in_range(place, 0, REPLICAS_MAX - 1);
    replicas[place] = replica;
    return replica;
}

struct replica *
replica_open(struct subject *log, const char *name)
{
    struct replica *replica = replica_open_idle(log, name);
    slu_shards_elect(replica->shards);
    return replica;
}

static void
forget_restored(struct lead *lead)
{
    for (size_t i = 0; i < lead->restored_count && i < RESTORED_MAX; i++)
        free(lead->restored[i].value);
    lead->restored_count = 0;
}

void
replica_close(struct replica *replica)
{
    for (size_t i = 0; i < replica->private->pending_count; i++)
        slu_shard_event_done(&replica->private->pending[i]);
    replica_end_held(replica);
    slu_shards_close(replica->shards, 5000);
    for (int i = 0; i < REPLICA_SHARDS_MAX; i++) {
        forget_restored(&replica->leads[i]);
        slu_shard_record_done(&replica->leads[i].newest);
    }
    for (int i = 0; i < REPLICAS_MAX; i++)
        replicas[i] = replicas[i] == replica ? NULL : replicas[i];
    free(replica->private);
    free(replica);
}

void
replica_close_all(void)
{
    for (int i = 0; i < REPLICAS_MAX; i++) {
        if (replicas[i])
            replica_close(replicas[i]);
    }
}

void
replica_hang(struct replica *replica, bool hanging)
{
    replica->private->hanging = hanging;
}

/* --- claims ---------------------------------------------------------------------------------- */

struct sink {
    struct replica *replica;
    struct lead *lead;
};

static enum slu_status
take_status(void *context, const struct slu_record *record, struct slu_error *reterr)
{
    const struct sink *sink = context;
    if (sink->replica->refuse_status)
        return slu_fail(reterr, SLU_FATAL, "refused by the test");
    const size_t i = sink->lead->restored_count++;
    if (i >= RESTORED_MAX)
        return SLU_OK;
    copy_text(sink->lead->restored[i].key, sizeof(sink->lead->restored[i].key), record->key,
              record->key_size);
    sink->lead->restored[i].value =
        record->value ? slu_memdup(record->value, record->value_size) : NULL;
    return SLU_OK;
}

void
replica_ask_claim(struct replica *replica, int shard)
{
    static struct sink sinks[REPLICAS_MAX][REPLICA_SHARDS_MAX];
    int place = 0;
    while (replicas[place] != replica)
        place++;
    struct sink *sink = &sinks[place][shard];
    *sink = (struct sink){replica, &replica->leads[shard]};
    forget_restored(sink->lead);
    slu_shards_claim(replica->shards, shard,
                     &(struct slu_shards_sink){.status = take_status, .context = sink});
}

void
replica_claim(struct replica *replica, int shard)
{
    replica_ask_claim(replica, shard);
    replica_await(replica, SLU_SHARD_CLAIM_READ, shard);
}

void
replica_lead(struct replica *replica, int shard)
{
    replica_await(replica, SLU_SHARD_CANDIDATE, shard);
    replica_claim(replica, shard);
    replica_commit_claim(replica, shard);
}

/* --- batches --------------------------------------------------------------------------------- */

struct slu_output *
batch_output(struct slu_batch *batch,
             enum slu_topic topic,
             int partition,
             const char *key,
             const char *value)
{
    struct slu_output *output = slu_batch_add(batch, topic, partition);
    output->key = slu_strdup(key);
    output->key_size = strlen(key);
    output->value = value ? slu_strdup(value) : NULL;
    output->value_size = value ? strlen(value) : 0;
    return output;
}

struct slu_output *
batch_status(struct slu_batch *batch, int partition, const char *key, const char *value)
{
    return batch_output(batch, SLU_TOPIC_STATUS, partition, key, value);
}

struct slu_batch *
replica_batch(struct replica *replica, int shard)
{
    struct slu_batch *batch = slu_batch_new(shard);
    batch->epoch = replica->leads[shard].epoch;
    batch->seq = ++replica->leads[shard].seq;
    return batch;
}

void
replica_seal(struct replica *replica, int shard, struct slu_batch *batch)
{
    struct slu_shard_record record = replica->leads[shard].newest;
    char key[16];
    struct slu_buffer value = {0};
    record.unknown = NULL;
    record.epoch = batch->epoch;
    record.seq = batch->seq;
    snprintf(record.owner, sizeof(record.owner), "http://%s", replica->name);
    slu_shard_record_write(&record, &value);
    snprintf(key, sizeof(key), "%d", shard);
    batch_output(batch, SLU_TOPIC_SHARDS, shard, key, value.data);
    slu_buffer_done(&value);
}

struct slu_batch *
replica_batch_sealed(struct replica *replica, int shard)
{
    struct slu_batch *batch = replica_batch(replica, shard);
    replica_seal(replica, shard, batch);
    return batch;
}

struct slu_batch *
replica_claim_batch(struct replica *replica, int shard)
{
    replica->leads[shard].epoch++;
    struct slu_batch *batch = replica_batch(replica, shard);
    batch->claim = true;
    replica_seal(replica, shard, batch);
    return batch;
}

void
replica_commit_claim(struct replica *replica, int shard)
{
    slu_shards_commit(replica->shards, shard, replica_claim_batch(replica, shard));
    replica_await(replica, SLU_SHARD_COMMITTED, shard);
}

struct slu_shard_event
replica_commit(struct replica *replica, int shard, struct slu_batch *batch)
{
    replica_seal(replica, shard, batch);
    slu_shards_commit(replica->shards, shard, batch);
    return replica_await(replica, SLU_SHARD_COMMITTED, shard);
}

/* --- input ----------------------------------------------------------------------------------- */

void
replica_read_through(struct replica *replica, int shard)
{
    const int64_t token = ++replica->private->token;
    slu_shards_ask_end(replica->shards, shard, token);
    const struct slu_shard_event event = replica_await(replica, SLU_SHARD_READ_THROUGH, shard);
    assert_int_equal(event.token, token);
}

int
replica_wakes(struct replica *replica)
{
    pthread_mutex_lock(&bell_lock);
    const int wakes = replica->private->wakes;
    pthread_mutex_unlock(&bell_lock);
    return wakes;
}

void
replica_let_events_queue(struct replica *replica)
{
    const int64_t until_ms = slu_clock_boottime_ms() + PATIENCE_MS;
    while (replica_wakes(replica) == 0 && slu_clock_boottime_ms() < until_ms) {
        slu_shards_tick(replica->shards);
        wait_for_bell(TICK_MS);
    }
    /* The fake queues before the call returns. */
    const int64_t settled_ms = slu_clock_boottime_ms() + (subject_is_real() ? SETTLE_MS : 0);
    while (slu_clock_boottime_ms() < settled_ms) {
        slu_shards_tick(replica->shards);
        wait_for_bell(TICK_MS);
    }
}

size_t
replica_hold_queued(struct replica *replica)
{
    struct replica_private *private = replica->private;
    size_t bytes = 0;
    struct slu_shard_event event;
    while (slu_shards_next(replica->shards, &event)) {
        note_event(replica, &event);
        for (size_t i = 0; i < event.record_count; i++)
            bytes += event.records[i].value_size;
        assert_true(private->held_count < PENDING_MAX);
        private->held[private->held_count++] = event;
    }
    return bytes;
}

void
replica_end_held(struct replica *replica)
{
    struct replica_private *private = replica->private;
    while (private->held_count > 0)
        slu_shard_event_done(&private->held[--private->held_count]);
}

/* --- the log --------------------------------------------------------------------------------- */

static void
see_record(void *context, const struct slu_record *record)
{
    struct seen *seen = context;
    seen->count++;
    copy_text(seen->last.key, sizeof(seen->last.key), record->key, record->key_size);
    copy_text(seen->last.value, sizeof(seen->last.value), record->value, record->value_size);
    seen->last.value_size = record->value_size;
    seen->last.timestamp_ms = record->timestamp_ms;
    struct slu_buffer headers = {0};
    for (size_t i = 0; i < record->header_count; i++)
        slu_buffer_printf(&headers, "%s=%.*s;", record->headers[i].name,
                          (int) record->headers[i].size, (const char *) record->headers[i].value);
    copy_text(seen->last.headers, sizeof(seen->last.headers), headers.data, headers.size);
    slu_buffer_done(&headers);
}

void
see(struct subject *log, enum slu_topic topic, int partition, struct seen *ret_seen)
{
    *ret_seen = (struct seen){0};
    subject_each(log, topic, partition, see_record, ret_seen);
}
