/* SPDX-License-Identifier: Apache-2.0 */
/* The shards port in memory. Offsets, fences and the group are real in small; there are no threads,
 * so every answer is in the queue before the call that caused it returns. */
#include "fake_shards.h"

#include "slu/base/memory.h"
#include "slu/port/clock.h"
#include "slu/port/shards.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMBER_SILENT_MS = 6000,
    EVENT_RECORDS_MAX = 1000,
    EVENT_BYTES_MAX = 1024 * 1024,
    LANE_RECORDS_MAX = 4000,
    LANE_BYTES_MAX = 8 * 1024 * 1024,
};

struct entry {
    bool hole; /* A control record, or one that was aborted. */
    int64_t timestamp_ms;
    struct slu_output content;
};

struct partition {
    struct entry *entries; /* By offset. */
    size_t count, capacity;
    int64_t begin; /* Records before it were deleted. */
};

struct ask {
    int64_t token;
    int count;

    struct {
        int partition;
        int64_t end;
    } of[SLU_ADMITTED_MAX];
    struct ask *next;
};

struct lane {
    struct {
        int partition;
        int64_t position;
    } readings[SLU_ADMITTED_MAX];

    int reading_count;
    bool paused;
    size_t queued_records, queued_bytes;
    struct ask *asks;
};

struct lead {
    int64_t fence; /* 0: not claimed. */
    int64_t epoch, seq;
    struct slu_batch *waiting; /* While no broker answers. */
    struct slu_shards_sink sink;
    bool claim_waits;
};

struct node {
    struct node *next;
    struct slu_shard_event event;
};

struct slu_shards {
    struct fake_log *log;
    struct slu_shards_settings settings;
    bool elects; /* Called slu_shards_elect, … */
    bool member; /* … and is in the group. */
    int64_t ticked_ms;
    bool candidate[FAKE_LOG_SHARDS_MAX];
    struct lead leads[FAKE_LOG_SHARDS_MAX];
    struct lane lanes[FAKE_LOG_SHARDS_MAX];
    struct node *first, **end;
};

struct fake_log {
    char address[32];
    int shard_count, inputs;
    bool down;
    struct partition partitions[SLU_TOPIC_COUNT][FAKE_LOG_PARTITIONS_MAX];
    int64_t fences[FAKE_LOG_SHARDS_MAX]; /* The newest holder of the shard's id. */
    enum fake_fault faults[FAKE_LOG_SHARDS_MAX];
    struct slu_shards *replicas[FAKE_LOG_MEMBERS_MAX];
};

/* What an event's `private` is; records and their bytes lie behind it. */
struct parcel {
    struct slu_shards *shards;
    int shard;
    int partition;
    size_t records, bytes;
};

/* --- the log --------------------------------------------------------------------------------- */

static struct entry *
append(struct fake_log *log, enum slu_topic topic, int partition)
{
    struct partition *in = &log->partitions[topic][partition];
    if (in->count == in->capacity) {
        in->capacity = in->capacity ? in->capacity * 2 : 64;
        in->entries = slu_realloc(in->entries, in->capacity * sizeof(*in->entries));
    }
    struct entry *entry = &in->entries[in->count++];
    *entry = (struct entry){.timestamp_ms = slu_clock_wall_ms()};
    return entry;
}

static void
append_output(struct fake_log *log, const struct slu_output *output, int partition)
{
    struct slu_output *kept = &append(log, output->topic, partition)->content;
    *kept = *output;
    kept->key = output->key ? slu_memdup(output->key, output->key_size) : NULL;
    kept->value = output->value ? slu_memdup(output->value, output->value_size) : NULL;
    for (size_t i = 0; i < output->header_count; i++)
        kept->headers[i].value = slu_strdup(output->headers[i].value);
}

static void
lend_record(const struct partition *in,
            int partition,
            int64_t offset,
            struct slu_record *ret_record)
{
    const struct entry *entry = &in->entries[offset];
    *ret_record = (struct slu_record){
        .partition = partition,
        .offset = offset,
        .timestamp_ms = entry->timestamp_ms,
        .key = entry->content.key,
        .key_size = entry->content.key_size,
        .value = entry->content.value,
        .value_size = entry->content.value_size,
        .header_count = entry->content.header_count,
    };
    for (size_t i = 0; i < entry->content.header_count; i++) {
        ret_record->headers[i] =
            (struct slu_header){entry->content.headers[i].name, entry->content.headers[i].value,
                                strlen(entry->content.headers[i].value)};
    }
}

void
fake_log_each(struct fake_log *log,
              enum slu_topic topic,
              int partition,
              void (*visit)(void *context, const struct slu_record *record),
              void *context)
{
    const struct partition *in = &log->partitions[topic][partition];
    for (int64_t i = in->begin; i < (int64_t) in->count; i++) {
        struct slu_record record;
        if (in->entries[i].hole)
            continue;
        lend_record(in, partition, i, &record);
        visit(context, &record);
    }
}

static void
write_shard_record(struct fake_log *log, int shard, const struct slu_shard_record *record)
{
    char key[16];
    struct slu_buffer value = {0};
    slu_shard_record_write(record, &value);
    snprintf(key, sizeof(key), "%d", shard);
    append_output(log,
                  &(struct slu_output){.topic = SLU_TOPIC_SHARDS,
                                       .partition = shard,
                                       .key = key,
                                       .key_size = strlen(key),
                                       .value = value.data,
                                       .value_size = value.size},
                  shard);
    slu_buffer_done(&value);
}

struct fake_log *
fake_log_new(int shard_count, int inputs)
{
    assert(shard_count <= FAKE_LOG_SHARDS_MAX && inputs >= shard_count);
    assert(inputs <= FAKE_LOG_PARTITIONS_MAX);
    struct fake_log *log = slu_alloc(sizeof(*log));
    snprintf(log->address, sizeof(log->address), "fake:%p", (void *) log);
    log->shard_count = shard_count;
    log->inputs = inputs;
    struct slu_shard_record first = {.cluster = "fa4ec1a5fa4ec1a5fa4ec1a5fa4ec1a5",
                                     .shard_count = shard_count};
    for (int i = 0; i < shard_count; i++)
        write_shard_record(log, i, &first);
    return log;
}

static void
free_output(struct slu_output *output)
{
    free(output->key);
    free(output->value);
    for (size_t i = 0; i < output->header_count; i++)
        free(output->headers[i].value);
}

void
fake_log_free(struct fake_log *log)
{
    if (!log)
        return;
    for (int topic = 0; topic < SLU_TOPIC_COUNT; topic++) {
        for (int each = 0; each < FAKE_LOG_PARTITIONS_MAX; each++) {
            struct partition *partition = &log->partitions[topic][each];
            for (size_t i = 0; i < partition->count; i++)
                free_output(&partition->entries[i].content);
            free(partition->entries);
        }
    }
    free(log);
}

const char *
fake_log_address(const struct fake_log *log)
{
    return log->address;
}

/* --- events ---------------------------------------------------------------------------------- */

static void
put_event(struct slu_shards *shards, const struct slu_shard_event *event)
{
    struct node *node = slu_alloc(sizeof(*node));
    node->event = *event;
    const bool was_empty = !shards->first;
    *shards->end = node;
    shards->end = &node->next;
    if (was_empty && shards->settings.wake)
        shards->settings.wake(shards->settings.wake_context);
}

static void
tell(struct slu_shards *shards, enum slu_shard_event_kind kind, int shard, const char *why)
{
    struct slu_shard_event event = {.kind = kind, .shard = shard};
    if (why)
        (void) slu_fail(&event.error, SLU_RETRY, "%s", why);
    put_event(shards, &event);
}

bool
slu_shards_next(struct slu_shards *shards, struct slu_shard_event *ret_event)
{
    struct node *node = shards->first;
    if (!node)
        return false;
    shards->first = node->next;
    if (!shards->first)
        shards->end = &shards->first;
    *ret_event = node->event;
    free(node);
    return true;
}

/* --- input ----------------------------------------------------------------------------------- */

static size_t
size_of(const struct slu_record *record)
{
    size_t size = record->key_size + record->value_size;
    for (size_t i = 0; i < record->header_count; i++)
        size += strlen(record->headers[i].name) + 1 + record->headers[i].size;
    return size;
}

static const void *
pack(char **room, const void *bytes, size_t size)
{
    const void *packed = bytes ? memcpy(*room, bytes, size) : NULL;
    *room += bytes ? size : 0;
    return packed;
}

static void
pack_record(char **room, struct slu_record *record)
{
    record->key = pack(room, record->key, record->key_size);
    record->value = pack(room, record->value, record->value_size);
    for (size_t i = 0; i < record->header_count; i++) {
        struct slu_header *header = &record->headers[i];
        header->name = pack(room, header->name, strlen(header->name) + 1);
        header->value = pack(room, header->value, header->size);
    }
}

/* The next records of a partition as one event; the position behind them, holes included. */
static int64_t
hand_over(struct slu_shards *shards, int shard, int partition, int64_t position)
{
    const struct partition *in = &shards->log->partitions[SLU_TOPIC_DESIRED][partition];
    int64_t end = position;
    size_t count = 0;
    size_t bytes = 0;
    struct slu_record record;
    for (; end < (int64_t) in->count && count < EVENT_RECORDS_MAX && bytes < EVENT_BYTES_MAX;
         end++) {
        if (in->entries[end].hole)
            continue;
        lend_record(in, partition, end, &record);
        bytes += size_of(&record);
        count++;
    }
    if (count == 0)
        return end;

    struct parcel *parcel = slu_alloc(sizeof(*parcel) + count * sizeof(record) + bytes);
    *parcel = (struct parcel){shards, shard, partition, count, bytes};
    struct slu_record *records = (struct slu_record *) (parcel + 1);
    char *room = (char *) (records + count);
    for (int64_t i = position, next = 0; i < end; i++) {
        if (in->entries[i].hole)
            continue;
        lend_record(in, partition, i, &records[next]);
        pack_record(&room, &records[next++]);
    }
    shards->lanes[shard].queued_records += count;
    shards->lanes[shard].queued_bytes += bytes;
    put_event(shards, &(struct slu_shard_event){.kind = SLU_SHARD_RECORDS,
                                                .shard = shard,
                                                .records = records,
                                                .record_count = count,
                                                .private = parcel});
    return end;
}

static bool
is_reached(const struct lane *lane, const struct ask *ask)
{
    for (int i = 0; i < ask->count; i++) {
        for (int j = 0; j < lane->reading_count; j++) {
            if (lane->readings[j].partition == ask->of[i].partition &&
                lane->readings[j].position < ask->of[i].end)
                return false;
        }
    }
    return true;
}

static void
answer_asks(struct slu_shards *shards, int shard)
{
    struct ask **link = &shards->lanes[shard].asks;
    while (*link) {
        struct ask *ask = *link;
        if (!is_reached(&shards->lanes[shard], ask)) {
            link = &ask->next;
            continue;
        }
        put_event(shards, &(struct slu_shard_event){
                              .kind = SLU_SHARD_READ_THROUGH, .shard = shard, .token = ask->token});
        *link = ask->next;
        free(ask);
    }
}

static void
deliver(struct slu_shards *shards, int shard)
{
    struct lane *lane = &shards->lanes[shard];
    if (shards->log->down || lane->paused)
        return;
    for (int i = 0; i < lane->reading_count; i++) {
        const int partition = lane->readings[i].partition;
        const struct partition *in = &shards->log->partitions[SLU_TOPIC_DESIRED][partition];
        while (lane->readings[i].position < (int64_t) in->count &&
               lane->queued_records < LANE_RECORDS_MAX && lane->queued_bytes < LANE_BYTES_MAX)
            lane->readings[i].position =
                hand_over(shards, shard, partition, lane->readings[i].position);
    }
    answer_asks(shards, shard);
}

static void
deliver_all(struct fake_log *log)
{
    for (int i = 0; i < FAKE_LOG_MEMBERS_MAX; i++) {
        for (int shard = 0; log->replicas[i] && shard < log->shard_count; shard++)
            deliver(log->replicas[i], shard);
    }
}

void
slu_shard_event_done(struct slu_shard_event *event)
{
    if (event->shard_record) {
        slu_shard_record_done(event->shard_record);
        free(event->shard_record);
    }
    struct parcel *parcel = event->private;
    if (parcel) {
        struct lane *lane = &parcel->shards->lanes[parcel->shard];
        lane->queued_records -= parcel->records;
        lane->queued_bytes -= parcel->bytes;
        deliver(parcel->shards, parcel->shard);
        free(parcel);
    }
    *event = (struct slu_shard_event){0};
}

int64_t
fake_log_put(struct fake_log *log,
             enum slu_topic topic,
             int partition,
             const char *key,
             const void *value,
             size_t value_size)
{
    struct entry *entry = append(log, topic, partition);
    entry->content = (struct slu_output){
        .topic = topic,
        .partition = partition,
        .key = key ? slu_strdup(key) : NULL,
        .key_size = key ? strlen(key) : 0,
        .value = value ? slu_memdup(value, value_size) : NULL,
        .value_size = value_size,
    };
    const int64_t offset = (int64_t) log->partitions[topic][partition].count - 1;
    deliver_all(log);
    return offset;
}

void
fake_log_put_hole(struct fake_log *log, enum slu_topic topic, int partition)
{
    append(log, topic, partition)->hole = true;
    deliver_all(log);
}

void
fake_log_delete_before(struct fake_log *log, int partition, int64_t offset)
{
    log->partitions[SLU_TOPIC_DESIRED][partition].begin = offset;
}

static int
find_reading(const struct lane *lane, int partition)
{
    int i = 0;
    while (i < lane->reading_count && lane->readings[i].partition != partition)
        i++;
    return i;
}

static void
keep_ask(struct slu_shards *shards, int shard, int64_t token)
{
    struct lane *lane = &shards->lanes[shard];
    struct ask *ask = slu_alloc(sizeof(*ask));
    ask->token = token;
    ask->count = lane->reading_count;
    for (int i = 0; i < lane->reading_count; i++) {
        ask->of[i].partition = lane->readings[i].partition;
        ask->of[i].end =
            (int64_t) shards->log->partitions[SLU_TOPIC_DESIRED][lane->readings[i].partition].count;
    }
    struct ask **link = &lane->asks;
    while (*link)
        link = &(*link)->next;
    *link = ask;
}

/* Takes back what was queued for an earlier read; partition −1: for all of the shard. */
static void
drop_queued(struct slu_shards *shards, int shard, int partition)
{
    struct node **link = &shards->first;
    while (*link) {
        struct node *node = *link;
        struct parcel *parcel = node->event.private;
        const bool is_input =
            node->event.shard == shard && (parcel ? partition < 0 || parcel->partition == partition
                                                  : node->event.kind == SLU_SHARD_READ_THROUGH ||
                                                        node->event.kind == SLU_SHARD_OUT_OF_RANGE);
        if (!is_input) {
            link = &node->next;
            continue;
        }
        *link = node->next;
        if (node->event.kind == SLU_SHARD_READ_THROUGH && partition >= 0)
            keep_ask(shards, shard, node->event.token); /* The question stands. */
        if (parcel) {
            shards->lanes[shard].queued_records -= parcel->records;
            shards->lanes[shard].queued_bytes -= parcel->bytes;
        }
        free(parcel);
        free(node);
    }
    shards->end = link;
}

void
slu_shards_read(struct slu_shards *shards, int shard, int partition, int64_t offset)
{
    struct lane *lane = &shards->lanes[shard];
    const struct partition *in = &shards->log->partitions[SLU_TOPIC_DESIRED][partition];
    const int i = find_reading(lane, partition);
    if (i == SLU_ADMITTED_MAX) {
        tell(shards, SLU_SHARD_ALARM, shard, "a shard reads at most 8 partitions");
        return;
    }
    if (i < lane->reading_count) {
        lane->readings[i].position = offset; /* Before questions are asked again. */
        drop_queued(shards, shard, partition);
    } else {
        lane->reading_count++;
    }
    lane->readings[i].partition = partition;
    lane->readings[i].position = offset;
    if (offset < in->begin || offset > (int64_t) in->count) {
        char why[160];
        snprintf(
            why, sizeof(why),
            "desired[%d]: position %lld is outside the log; after looking: sluice shards reset "
            "%d",
            partition, (long long) offset, shard);
        lane->readings[i] = lane->readings[--lane->reading_count];
        tell(shards, SLU_SHARD_OUT_OF_RANGE, shard, why);
        return;
    }
    deliver(shards, shard);
}

void
slu_shards_pause(struct slu_shards *shards, int shard, bool paused)
{
    shards->lanes[shard].paused = paused;
    deliver(shards, shard);
}

void
slu_shards_ask_end(struct slu_shards *shards, int shard, int64_t token)
{
    keep_ask(shards, shard, token);
    deliver(shards, shard);
}

/* --- the group ------------------------------------------------------------------------------- */

static void
assign(struct slu_shards *shards, int first, int share)
{
    for (int shard = 0; shard < shards->log->shard_count; shard++) {
        const bool is_ours = shard >= first && shard < first + share;
        if (is_ours != shards->candidate[shard])
            tell(shards, is_ours ? SLU_SHARD_CANDIDATE : SLU_SHARD_NOT_CANDIDATE, shard,
                 is_ours ? NULL : "the group gave the shard to another replica");
        shards->candidate[shard] = is_ours;
    }
}

/* Contiguous ranges in the order of joining, as Kafka's range assignor gives them. */
static void
rebalance(struct fake_log *log)
{
    int members = 0;
    for (int i = 0; i < FAKE_LOG_MEMBERS_MAX; i++)
        members += log->replicas[i] && log->replicas[i]->member;
    int next = 0;
    int place = 0;
    for (int i = 0; i < FAKE_LOG_MEMBERS_MAX; i++) {
        struct slu_shards *shards = log->replicas[i];
        if (!shards)
            continue;
        int share = 0;
        if (shards->member)
            share = log->shard_count / members + (place++ < log->shard_count % members);
        assign(shards, next, share);
        next += share;
    }
}

static void
check_members(struct fake_log *log)
{
    const int64_t now_ms = slu_clock_boottime_ms();
    bool changed = false;
    for (int i = 0; i < FAKE_LOG_MEMBERS_MAX; i++) {
        struct slu_shards *shards = log->replicas[i];
        if (!shards || !shards->elects)
            continue;
        const bool is_alive = now_ms - shards->ticked_ms <= MEMBER_SILENT_MS;
        changed = changed || is_alive != shards->member;
        shards->member = is_alive;
    }
    if (changed)
        rebalance(log);
}

void
slu_shards_tick(struct slu_shards *shards)
{
    shards->ticked_ms = slu_clock_boottime_ms();
    check_members(shards->log);
}

void
slu_shards_elect(struct slu_shards *shards)
{
    shards->elects = true;
    slu_shards_tick(shards);
}

/* --- claim and commit ------------------------------------------------------------------------ */

struct newest {
    struct slu_shard_record record;
    const char *bytes;
    size_t size;
    int64_t append_ms;
};

static void
find_newest(struct fake_log *log, int shard, struct newest *ret_newest)
{
    const struct partition *in = &log->partitions[SLU_TOPIC_SHARDS][shard];
    size_t i = in->count;
    while (in->entries[i - 1].hole)
        i--;
    const struct entry *entry = &in->entries[i - 1];
    *ret_newest = (struct newest){
        .bytes = entry->content.value,
        .size = entry->content.value_size,
        .append_ms = entry->timestamp_ms,
    };
    const enum slu_status status =
        slu_shard_record_read(ret_newest->bytes, ret_newest->size, &ret_newest->record, NULL);
    assert(!status);
}

static void
claim(struct slu_shards *shards, int shard)
{
    struct lead *lead = &shards->leads[shard];
    struct fake_log *log = shards->log;
    lead->claim_waits = false;
    if (!shards->candidate[shard]) {
        tell(shards, SLU_SHARD_NOT_CANDIDATE, shard, "the group did not assign the shard");
        return;
    }
    lead->fence = ++log->fences[shard];
    const struct partition *in = &log->partitions[SLU_TOPIC_STATUS][shard];
    for (int64_t i = in->begin; i < (int64_t) in->count; i++) {
        struct slu_record record;
        struct slu_shard_event failed = {.kind = SLU_SHARD_CLAIM_FAILED, .shard = shard};
        if (in->entries[i].hole)
            continue;
        lend_record(in, shard, i, &record);
        if (lead->sink.status(lead->sink.context, &record, &failed.error)) {
            lead->fence = 0;
            put_event(shards, &failed);
            return;
        }
    }
    struct newest newest;
    find_newest(log, shard, &newest);
    lead->epoch = newest.record.epoch;
    lead->seq = newest.record.seq;
    struct slu_shard_event read = {.kind = SLU_SHARD_CLAIM_READ, .shard = shard};
    read.shard_record = slu_memdup(&newest.record, sizeof(newest.record));
    put_event(shards, &read);
}

void
slu_shards_claim(struct slu_shards *shards, int shard, const struct slu_shards_sink *sink)
{
    shards->leads[shard].sink = *sink;
    shards->leads[shard].claim_waits = true;
    if (!shards->log->down)
        claim(shards, shard);
}

static void
apply(struct fake_log *log, const struct slu_batch *batch)
{
    bool touched[SLU_TOPIC_COUNT][FAKE_LOG_PARTITIONS_MAX] = {0};
    for (size_t i = 0; i < batch->count; i++) {
        const struct slu_output *output = &batch->outputs[i];
        const int partition = output->topic == SLU_TOPIC_DEADLETTER ? 0 : output->partition;
        append_output(log, output, partition);
        touched[output->topic][partition] = true;
    }
    for (int topic = 0; topic < SLU_TOPIC_COUNT; topic++) {
        for (int i = 0; i < FAKE_LOG_PARTITIONS_MAX; i++) {
            if (touched[topic][i])
                append(log, (enum slu_topic) topic, i)->hole = true; /* The control record. */
        }
    }
}

static void
lose(struct slu_shards *shards, int shard, const char *why)
{
    shards->leads[shard].fence = 0;
    tell(shards, SLU_SHARD_LOST, shard, why);
}

enum fate {
    COMMITTED,
    AGAIN,
    LOST
};

/* The roll-forward of design.md §7: confirm, take the id anew, read the newest shard record. */
static enum fate
find_out(struct slu_shards *shards, const struct slu_batch *batch)
{
    struct lead *lead = &shards->leads[batch->shard];
    if (!shards->candidate[batch->shard])
        return LOST;
    lead->fence = ++shards->log->fences[batch->shard];
    struct newest newest;
    find_newest(shards->log, batch->shard, &newest);
    const struct slu_output *ours = &batch->outputs[batch->count - 1];
    enum fate fate = LOST;
    if (newest.size == ours->value_size && memcmp(newest.bytes, ours->value, newest.size) == 0)
        fate = COMMITTED;
    else if (newest.record.epoch == lead->epoch && newest.record.seq == lead->seq)
        fate = AGAIN;
    slu_shard_record_done(&newest.record);
    return fate;
}

static enum fate
try_once(struct slu_shards *shards, const struct slu_batch *batch)
{
    struct fake_log *log = shards->log;
    if (shards->leads[batch->shard].fence != log->fences[batch->shard])
        return find_out(shards, batch);
    const enum fake_fault fault = log->faults[batch->shard];
    log->faults[batch->shard] = FAKE_NO_FAULT;
    if (fault == FAKE_ABORTED)
        return AGAIN;
    if (fault != FAKE_UNCLEAR_LOST)
        apply(log, batch);
    return fault == FAKE_NO_FAULT ? COMMITTED : find_out(shards, batch);
}

static const char *
find_misfit(const struct fake_log *log, const struct slu_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct slu_output *output = &batch->outputs[i];
        const int count = output->topic == SLU_TOPIC_DESIRED ? log->inputs : log->shard_count;
        if (slu_output_size(output) > SLU_OUTPUT_SIZE_MAX ||
            (output->topic != SLU_TOPIC_DEADLETTER && output->partition >= count))
            return slu_topic_names[output->topic];
    }
    return NULL;
}

static void
commit(struct slu_shards *shards, const struct slu_batch *batch)
{
    const int shard = batch->shard;
    struct lead *lead = &shards->leads[shard];
    const int64_t began_ms = slu_clock_boottime_ms();
    const char *misfit = find_misfit(shards->log, batch);
    if (!lead->fence || misfit) {
        lose(shards, shard, misfit ? misfit : "the shard is not claimed");
        return;
    }
    enum fate fate = AGAIN;
    while (fate == AGAIN)
        fate = try_once(shards, batch);
    if (fate == LOST) {
        lose(shards, shard, "somebody else leads");
        return;
    }
    lead->epoch = batch->epoch;
    lead->seq = batch->seq;
    struct newest newest;
    find_newest(shards->log, shard, &newest);
    slu_shard_record_done(&newest.record);
    put_event(shards, &(struct slu_shard_event){.kind = SLU_SHARD_COMMITTED,
                                                .shard = shard,
                                                .seq = batch->seq,
                                                .append_ms = newest.append_ms,
                                                .began_boottime_ms = began_ms,
                                                .done_boottime_ms = slu_clock_boottime_ms()});
}

void
slu_shards_commit(struct slu_shards *shards, int shard, struct slu_batch *batch)
{
    assert(!shards->leads[shard].waiting);
    if (shards->log->down) {
        shards->leads[shard].waiting = batch;
        return;
    }
    commit(shards, batch);
    slu_batch_free(batch);
    deliver_all(shards->log); /* It may have written to desired. */
}

void
slu_shards_release(struct slu_shards *shards, int shard)
{
    struct lane *lane = &shards->lanes[shard];
    shards->leads[shard].fence = 0;
    lane->reading_count = 0;
    lane->paused = false;
    drop_queued(shards, shard, -1);
    while (lane->asks) {
        struct ask *ask = lane->asks;
        lane->asks = ask->next;
        free(ask);
    }
}

/* --- accidents ------------------------------------------------------------------------------- */

void
fake_log_fault(struct fake_log *log, int shard, enum fake_fault fault)
{
    if (fault != FAKE_FENCED_IDLE && fault != FAKE_FENCED_LED) {
        log->faults[shard] = fault;
        return;
    }
    log->fences[shard]++;
    if (fault == FAKE_FENCED_IDLE)
        return;
    struct newest newest;
    find_newest(log, shard, &newest);
    newest.record.epoch++;
    newest.record.seq++;
    snprintf(newest.record.owner, sizeof(newest.record.owner), "http://stranger");
    write_shard_record(log, shard, &newest.record);
    slu_shard_record_done(&newest.record);
}

static void
catch_up(struct slu_shards *shards, int shard)
{
    if (shards->leads[shard].claim_waits)
        claim(shards, shard);
    struct slu_batch *batch = slu_steal(shards->leads[shard].waiting);
    if (batch)
        slu_shards_commit(shards, shard, batch);
}

void
fake_log_down(struct fake_log *log, bool down)
{
    if (log->down == down)
        return;
    log->down = down;
    for (int i = 0; i < FAKE_LOG_MEMBERS_MAX; i++) {
        if (!log->replicas[i])
            continue;
        tell(log->replicas[i], down ? SLU_SHARD_DOWN : SLU_SHARD_UP, -1,
             down ? "no Kafka broker answers" : NULL);
        for (int shard = 0; !down && shard < log->shard_count; shard++)
            catch_up(log->replicas[i], shard);
    }
    deliver_all(log);
}

/* --- life ------------------------------------------------------------------------------------ */

enum slu_status
slu_shards_open(const struct slu_shards_settings *settings,
                struct slu_shards **ret_shards,
                struct slu_error *reterr)
{
    void *address;
    if (sscanf(settings->brokers, "fake:%p", &address) != 1)
        return slu_fail(reterr, SLU_INVALID, "\"%s\" is no address of a fake log",
                        settings->brokers);
    struct fake_log *log = address;
    int place = 0;
    while (log->replicas[place])
        place++;
    assert(place < FAKE_LOG_MEMBERS_MAX);
    struct slu_shards *shards = slu_alloc(sizeof(*shards));
    shards->log = log;
    shards->settings = *settings;
    shards->end = &shards->first;
    log->replicas[place] = shards;
    *ret_shards = shards;
    return SLU_OK;
}

void
slu_shards_close(struct slu_shards *shards, int64_t patience_ms)
{
    (void) patience_ms;
    if (!shards)
        return;
    struct fake_log *log = shards->log;
    for (int i = 0; i < log->shard_count; i++) {
        slu_shards_release(shards, i);
        slu_batch_free(shards->leads[i].waiting);
    }
    struct slu_shard_event event;
    while (slu_shards_next(shards, &event))
        slu_shard_event_done(&event);
    for (int i = 0; i < FAKE_LOG_MEMBERS_MAX; i++)
        log->replicas[i] = log->replicas[i] == shards ? NULL : log->replicas[i];
    free(shards);
    rebalance(log);
}

int
slu_shards_count(const struct slu_shards *shards)
{
    return shards->log->shard_count;
}

int
slu_shards_inputs(const struct slu_shards *shards)
{
    return shards->log->inputs;
}
