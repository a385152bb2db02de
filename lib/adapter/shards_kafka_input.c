/* SPDX-License-Identifier: Apache-2.0 */
/* The input's thread: a queue ("lane") per shard, served in turn.
 *
 * A lane whose reader is slow is simply not served: librdkafka stops fetching for it at its own
 * limit, nothing is paused and fetched again. Every read has a number (its "life"); what was queued
 * for an earlier life of the same partition is dropped before the loop sees it. */
#include "shards_kafka_input.h"

#include "shards_kafka_asker.h"
#include "slu/base/memory.h"
#include "slu/port/clock.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    EVENT_RECORDS_MAX = 1000,
    EVENT_BYTES_MAX = 1024 * 1024,
    LANE_RECORDS_MAX = 4000, /* Handed over and not yet done with, a shard. */
    LANE_BYTES_MAX = 8 * 1024 * 1024,
    NAP_MS = 500,
    WATCH_EVERY_MS = 1000,
    STANDSTILL_MS = 10 * 1000,
};

enum command_kind {
    COMMAND_READ,
    COMMAND_PAUSE,
    COMMAND_RELEASE,
    COMMAND_ENDS
};

struct command {
    struct command *next;
    enum command_kind kind;
    int shard;
    int partition;
    int64_t offset;
    int64_t life;
    bool paused;
    struct slu_ask ask;
};

struct ask_node {
    struct ask_node *next;
    struct slu_ask ask;
};

struct reading {
    int partition;
    int64_t position; /* Everything before it was handed over, or is no record for us. */
    int64_t life;
    int64_t watched_position; /* As of the last look, … */
    int64_t moved_ms;         /* … and BOOTTIME when it was last seen to move. */
    bool told;                /* That it stands still. */
};

struct lane {
    /* Input's thread. */
    rd_kafka_queue_t *queue; /* NULL: never read. */
    struct reading readings[SLU_ADMITTED_MAX];
    int reading_count;
    bool paused;
    struct ask_node *asks;

    /* Both sides. */
    atomic_size_t queued_records, queued_bytes;
    atomic_bool held; /* Not served because of those two. */

    /* The loop's thread: what it asked for last. */
    struct {
        int partition;
        int64_t life;
    } wanted[SLU_ADMITTED_MAX];

    int wanted_count;
    int64_t ask_life;
};

struct slu_input {
    struct slu_input_settings settings;
    rd_kafka_t *client;
    rd_kafka_topic_t *topic;
    struct slu_asker *asker;
    struct lane *lanes; /* By shard. */
    int bell;
    pthread_t thread;
    int64_t last_life; /* The loop's thread. */
    atomic_bool stopping;

    pthread_mutex_t lock; /* Guards the commands. */
    pthread_cond_t changed;
    struct command *first, **end;

    int64_t watched_ms; /* Input's thread: BOOTTIME of the last look for standstills. */

    /* Input's thread: messages of one partition on their way into one event. */
    rd_kafka_message_t *messages[EVENT_RECORDS_MAX];
    size_t message_count, message_bytes;
};

/* What an event's `private` is. Records and their bytes lie behind it, in the same block. */
struct parcel {
    struct slu_input *input;
    int shard;
    int partition;
    int64_t life;
    size_t records, bytes;
};

/* --- the loop's side ------------------------------------------------------------------------- */

static void
send_command(struct slu_input *input, const struct command *what)
{
    struct command *command = slu_alloc(sizeof(*command));
    *command = *what;
    pthread_mutex_lock(&input->lock);
    *input->end = command;
    input->end = &command->next;
    pthread_mutex_unlock(&input->lock);
    slu_bell_ring(input->bell);
}

void
slu_input_read(struct slu_input *input, int shard, int partition, int64_t offset)
{
    struct lane *lane = &input->lanes[shard];
    int i = 0;
    while (i < lane->wanted_count && lane->wanted[i].partition != partition)
        i++;
    if (i == SLU_ADMITTED_MAX) {
        struct slu_shard_event event = {.kind = SLU_SHARD_ALARM, .shard = shard};
        (void) slu_fail(
            &event.error, SLU_INVALID,
            "shard %d reads %d partitions already; %d is not read: the desired topic has "
            "more than %d partitions a shard",
            shard, SLU_ADMITTED_MAX, partition, SLU_ADMITTED_MAX);
        slu_events_put(input->settings.events, &event);
        return;
    }
    const int64_t life = ++input->last_life;
    if (i == lane->wanted_count)
        lane->wanted_count++;
    else
        lane->ask_life = life; /* What was answered for the earlier read no longer holds. */
    lane->wanted[i].partition = partition;
    lane->wanted[i].life = life;
    send_command(input, &(struct command){.kind = COMMAND_READ,
                                          .shard = shard,
                                          .partition = partition,
                                          .offset = offset,
                                          .life = life});
}

void
slu_input_pause(struct slu_input *input, int shard, bool paused)
{
    send_command(input, &(struct command){.kind = COMMAND_PAUSE, .shard = shard, .paused = paused});
}

void
slu_input_release(struct slu_input *input, int shard)
{
    struct lane *lane = &input->lanes[shard];
    lane->wanted_count = 0;
    lane->ask_life = ++input->last_life;
    send_command(input, &(struct command){.kind = COMMAND_RELEASE, .shard = shard});
}

void
slu_input_ask_end(struct slu_input *input, int shard, int64_t token)
{
    const struct lane *lane = &input->lanes[shard];
    struct slu_ask ask = {
        .shard = shard, .token = token, .life = lane->ask_life, .count = lane->wanted_count};
    for (int i = 0; i < lane->wanted_count; i++)
        ask.of[i].partition = lane->wanted[i].partition;
    slu_asker_ask(input->asker, &ask);
}

static bool
is_wanted(const struct lane *lane, const struct parcel *parcel)
{
    for (int i = 0; i < lane->wanted_count; i++) {
        if (lane->wanted[i].partition == parcel->partition)
            return lane->wanted[i].life == parcel->life;
    }
    return false;
}

bool
slu_input_is_current(struct slu_input *input, const struct slu_shard_event *event)
{
    const struct parcel *parcel = event->private;
    if (!parcel)
        return true;
    const struct lane *lane = &input->lanes[parcel->shard];
    if (event->kind != SLU_SHARD_READ_THROUGH)
        return is_wanted(lane, parcel);
    if (parcel->life == lane->ask_life)
        return true;
    /* Read anew since it was asked: the question stands, the answer does not. */
    if (lane->wanted_count > 0)
        slu_input_ask_end(input, parcel->shard, event->token);
    return false;
}

int
slu_input_partitions(struct slu_input *input)
{
    return slu_asker_partitions(input->asker);
}

void
slu_input_suspect(struct slu_input *input, const char *why)
{
    slu_asker_suspect(input->asker, why);
}

int64_t
slu_input_up_since_ms(struct slu_input *input)
{
    return slu_asker_up_since_ms(input->asker);
}

void
slu_input_event_done(void *private_block)
{
    struct parcel *parcel = private_block;
    if (!parcel)
        return;
    struct lane *lane = &parcel->input->lanes[parcel->shard];
    const size_t records = atomic_fetch_sub(&lane->queued_records, parcel->records);
    const size_t bytes = atomic_fetch_sub(&lane->queued_bytes, parcel->bytes);
    if (atomic_load(&lane->held) && records - parcel->records <= LANE_RECORDS_MAX / 2 &&
        bytes - parcel->bytes <= LANE_BYTES_MAX / 2)
        slu_bell_ring(parcel->input->bell);
    free(parcel);
}

/* --- events ---------------------------------------------------------------------------------- */

static struct parcel *
make_parcel(struct slu_input *input, int shard, const struct reading *reading, size_t extra)
{
    struct parcel *parcel = slu_alloc(sizeof(*parcel) + extra);
    parcel->input = input;
    parcel->shard = shard;
    parcel->partition = reading ? reading->partition : -1;
    parcel->life = reading ? reading->life : 0;
    return parcel;
}

static const void *
pack(char **room, const void *bytes, size_t size)
{
    if (!bytes)
        return NULL;
    memcpy(*room, bytes, size);
    const void *packed = *room;
    *room += size;
    return packed;
}

static size_t
size_of(const struct slu_record *record)
{
    size_t size = record->key_size + record->value_size;
    for (size_t i = 0; i < record->header_count; i++)
        size += strlen(record->headers[i].name) + 1 + record->headers[i].size;
    return size;
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

/* The gathered messages become one event: copied into one block, so that what is held is what is
 * counted, not the fetch answers they came in. */
static void
flush(struct slu_input *input, int shard, const struct reading *reading)
{
    const size_t count = input->message_count;
    if (count == 0)
        return;
    size_t size = count * sizeof(struct slu_record);
    for (size_t i = 0; i < count; i++) {
        struct slu_record record;
        slu_kafka_record(input->messages[i], &record);
        size += size_of(&record);
    }

    struct parcel *parcel = make_parcel(input, shard, reading, size);
    struct slu_record *records = (struct slu_record *) (parcel + 1);
    char *room = (char *) (records + count);
    for (size_t i = 0; i < count; i++) {
        slu_kafka_record(input->messages[i], &records[i]);
        pack_record(&room, &records[i]);
        rd_kafka_message_destroy(input->messages[i]);
    }
    input->message_count = 0;
    input->message_bytes = 0;

    parcel->records = count;
    parcel->bytes = size;
    struct lane *lane = &input->lanes[shard];
    atomic_fetch_add(&lane->queued_records, count);
    atomic_fetch_add(&lane->queued_bytes, size);
    slu_events_put(input->settings.events, &(struct slu_shard_event){.kind = SLU_SHARD_RECORDS,
                                                                     .shard = shard,
                                                                     .records = records,
                                                                     .record_count = count,
                                                                     .private = parcel});
}

/* --- the thread: reading --------------------------------------------------------------------- */

static struct reading *
find_reading(struct lane *lane, int partition)
{
    for (int i = 0; i < lane->reading_count; i++) {
        if (lane->readings[i].partition == partition)
            return &lane->readings[i];
    }
    return NULL;
}

static void
stop_reading(struct slu_input *input, struct lane *lane, struct reading *reading)
{
    rd_kafka_consume_stop(input->topic, reading->partition);
    *reading = lane->readings[--lane->reading_count];
}

static void
fall_out_of_range(struct slu_input *input, int shard, struct reading *reading, const char *why)
{
    struct slu_shard_event event = {.kind = SLU_SHARD_OUT_OF_RANGE, .shard = shard};
    (void) slu_fail(
        &event.error, SLU_INVALID,
        "%s[%d]: position %lld is outside the log (%s): its records were deleted, or the "
        "topic was made anew; after looking: sluice shards reset %d",
        rd_kafka_topic_name(input->topic), reading->partition, (long long) reading->position, why,
        shard);
    event.private = make_parcel(input, shard, reading, 0);
    stop_reading(input, &input->lanes[shard], reading);
    slu_events_put(input->settings.events, &event);
}

static void
take_error(struct slu_input *input,
           int shard,
           struct reading *reading,
           const rd_kafka_message_t *message)
{
    switch ((int) message->err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
        if (message->offset > reading->position)
            reading->position = message->offset;
        break;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
        flush(input, shard, reading);
        fall_out_of_range(input, shard, reading, rd_kafka_err2str(message->err));
        break;
    default: /* The library tries again by itself. */
        break;
    }
}

/* Takes the message. */
static void
take_message(struct slu_input *input, int shard, rd_kafka_message_t *message)
{
    struct lane *lane = &input->lanes[shard];
    struct reading *reading = find_reading(lane, message->partition);
    if (reading && input->message_count > 0 && input->messages[0]->partition != message->partition)
        flush(input, shard, find_reading(lane, input->messages[0]->partition));

    if (reading && message->err)
        take_error(input, shard, reading, message);
    if (!reading || message->err || message->offset < reading->position) {
        rd_kafka_message_destroy(message); /* Of no read, or a repeat: 2.0.2 may deliver one. */
        return;
    }
    reading->position = message->offset + 1;
    input->messages[input->message_count++] = message;
    input->message_bytes += message->len + message->key_len;
    if (input->message_count == EVENT_RECORDS_MAX || input->message_bytes >= EVENT_BYTES_MAX)
        flush(input, shard, reading);
}

static bool
is_reached(struct lane *lane, const struct slu_ask *ask)
{
    for (int i = 0; i < ask->count; i++) {
        const struct reading *reading = find_reading(lane, ask->of[i].partition);
        if (!reading || reading->position < ask->of[i].end)
            return false;
    }
    return true;
}

static void
answer_asks(struct slu_input *input, int shard)
{
    struct lane *lane = &input->lanes[shard];
    struct ask_node **link = &lane->asks;
    while (*link) {
        struct ask_node *node = *link;
        if (!is_reached(lane, &node->ask)) {
            link = &node->next;
            continue;
        }
        struct parcel *parcel = make_parcel(input, shard, NULL, 0);
        parcel->life = node->ask.life;
        slu_events_put(input->settings.events,
                       &(struct slu_shard_event){.kind = SLU_SHARD_READ_THROUGH,
                                                 .shard = shard,
                                                 .token = node->ask.token,
                                                 .private = parcel});
        *link = node->next;
        free(node);
    }
}

static bool
is_full(struct lane *lane)
{
    const bool full = atomic_load(&lane->queued_records) >= LANE_RECORDS_MAX ||
                      atomic_load(&lane->queued_bytes) >= LANE_BYTES_MAX;
    atomic_store(&lane->held, full);
    /* Looked at again: the loop may have taken everything right before `held` was set. */
    return full && (atomic_load(&lane->queued_records) >= LANE_RECORDS_MAX ||
                    atomic_load(&lane->queued_bytes) >= LANE_BYTES_MAX);
}

/* One turn of a shard. True: there may be more. */
static bool
serve_lane(struct slu_input *input, int shard)
{
    struct lane *lane = &input->lanes[shard];
    if (!lane->queue || lane->paused)
        return false;
    int taken = 0;
    bool more = true;
    /* Full may come in the middle of a turn: a record may have a mebibyte. */
    while (more && taken < EVENT_RECORDS_MAX && !is_full(lane)) {
        rd_kafka_message_t *message = rd_kafka_consume_queue(lane->queue, 0);
        if (message)
            take_message(input, shard, message);
        more = message != NULL;
        taken++;
    }
    if (input->message_count > 0)
        flush(input, shard, find_reading(lane, input->messages[0]->partition));
    answer_asks(input, shard);
    return more && taken == EVENT_RECORDS_MAX;
}

/* An upstream transaction that was left open hides everything behind it. */
static void
watch_reading(struct slu_input *input, int shard, struct reading *reading, int64_t now_ms)
{
    int64_t begin;
    int64_t end = 0; /* Of the log, as the last fetch told: open transactions included. */
    if (reading->position != reading->watched_position) {
        reading->watched_position = reading->position;
        reading->moved_ms = now_ms;
        reading->told = false;
    }
    if (reading->told || now_ms - reading->moved_ms < STANDSTILL_MS ||
        rd_kafka_get_watermark_offsets(input->client, rd_kafka_topic_name(input->topic),
                                       reading->partition, &begin, &end) ||
        end <= reading->position)
        return;
    struct slu_shard_event event = {.kind = SLU_SHARD_ALARM, .shard = shard};
    (void) slu_fail(&event.error, SLU_RETRY,
                    "%s[%d] cannot be read beyond offset %lld of %lld for %d s: an upstream "
                    "transaction was left open there",
                    rd_kafka_topic_name(input->topic), reading->partition,
                    (long long) reading->position, (long long) end, STANDSTILL_MS / 1000);
    reading->told = true;
    slu_events_put(input->settings.events, &event);
}

static void
watch_lanes(struct slu_input *input)
{
    const int64_t now_ms = slu_clock_boottime_ms();
    if (now_ms - input->watched_ms < WATCH_EVERY_MS)
        return;
    input->watched_ms = now_ms;
    const bool is_away = slu_asker_up_since_ms(input->asker) > now_ms;
    for (int shard = 0; shard < input->settings.shard_count; shard++) {
        struct lane *lane = &input->lanes[shard];
        for (int i = 0; i < lane->reading_count; i++) {
            if (is_away || lane->paused || is_full(lane)) /* Standing still has another reason. */
                lane->readings[i].watched_position = -1;
            watch_reading(input, shard, &lane->readings[i], now_ms);
        }
    }
}

/* --- the thread: commands -------------------------------------------------------------------- */

static void
open_lane(struct slu_input *input, struct lane *lane)
{
    const uint64_t one = 1;
    lane->queue = rd_kafka_queue_new(input->client);
    rd_kafka_queue_io_event_enable(lane->queue, input->bell, &one, sizeof(one));
}

static void
start_reading(struct slu_input *input, const struct command *command)
{
    struct lane *lane = &input->lanes[command->shard];
    if (!lane->queue)
        open_lane(input, lane);
    struct reading *before = find_reading(lane, command->partition);
    if (before)
        stop_reading(input, lane, before);

    struct reading *reading = &lane->readings[lane->reading_count++];
    *reading = (struct reading){.partition = command->partition,
                                .position = command->offset,
                                .life = command->life,
                                .watched_position = -1};
    if (rd_kafka_consume_start_queue(input->topic, command->partition, command->offset,
                                     lane->queue))
        fall_out_of_range(input, command->shard, reading, rd_kafka_err2str(rd_kafka_last_error()));
}

static void
drop_asks(struct lane *lane)
{
    while (lane->asks) {
        struct ask_node *node = lane->asks;
        lane->asks = node->next;
        free(node);
    }
}

static void
release_lane(struct slu_input *input, struct lane *lane)
{
    while (lane->reading_count > 0)
        stop_reading(input, lane, &lane->readings[lane->reading_count - 1]);
    drop_asks(lane);
    lane->paused = false;
}

static void
keep_ask(struct lane *lane, const struct slu_ask *ask)
{
    struct ask_node *node = slu_alloc(sizeof(*node));
    node->ask = *ask;
    struct ask_node **link = &lane->asks;
    while (*link)
        link = &(*link)->next;
    *link = node;
}

static void
obey(struct slu_input *input, const struct command *command)
{
    struct lane *lane = &input->lanes[command->shard];
    switch (command->kind) {
    case COMMAND_READ:
        start_reading(input, command);
        break;
    case COMMAND_PAUSE:
        lane->paused = command->paused;
        break;
    case COMMAND_RELEASE:
        release_lane(input, lane);
        break;
    case COMMAND_ENDS:
        keep_ask(lane, &command->ask);
        answer_asks(input, command->shard);
        break;
    }
}

static void
serve_commands(struct slu_input *input)
{
    pthread_mutex_lock(&input->lock);
    struct command *command = slu_steal(input->first);
    input->end = &input->first;
    pthread_mutex_unlock(&input->lock);
    while (command) {
        struct command *next = command->next;
        obey(input, command);
        free(command);
        command = next;
    }
}

/* Asker's thread: through the same door as the loop's commands. */
static void
take_ends(void *context, const struct slu_ask *ask)
{
    send_command(context,
                 &(struct command){.kind = COMMAND_ENDS, .shard = ask->shard, .ask = *ask});
}

static void *
run_input(void *context)
{
    struct slu_input *input = context;
    while (!atomic_load(&input->stopping)) {
        serve_commands(input);
        bool more = false;
        for (int i = 0; i < input->settings.shard_count; i++)
            more = serve_lane(input, i) || more;
        watch_lanes(input);
        rd_kafka_poll(input->client, 0); /* Error callbacks. */
        if (!more)
            slu_bell_sleep(input->bell, NAP_MS);
    }
    for (int i = 0; i < input->settings.shard_count; i++)
        release_lane(input, &input->lanes[i]);
    return NULL;
}

/* --- life ------------------------------------------------------------------------------------ */

static void
on_error(rd_kafka_t *client, int code, const char *why, void *context)
{
    (void) client;
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
        slu_input_suspect(context, why);
}

static enum slu_status
open_client(struct slu_input *input, struct slu_error *reterr)
{
    rd_kafka_conf_t *conf = slu_kafka_reading_conf(input->settings.kafka, "50", reterr);
    if (!conf)
        return SLU_INVALID;
    rd_kafka_conf_set_opaque(conf, input);
    rd_kafka_conf_set_error_cb(conf, on_error);
    input->client = slu_kafka_new(RD_KAFKA_CONSUMER, conf, reterr);
    if (!input->client)
        return SLU_INVALID;
    SLU_AUTO_FREE char *name = slu_kafka_topic_name(input->settings.kafka, SLU_TOPIC_DESIRED);
    input->topic = rd_kafka_topic_new(input->client, name, NULL);
    return SLU_OK;
}

static enum slu_status
start_threads(struct slu_input *input, struct slu_error *reterr)
{
    input->asker =
        slu_asker_new(&(struct slu_asker_settings){.client = input->client,
                                                   .topic = input->topic,
                                                   .partitions = input->settings.partitions,
                                                   .events = input->settings.events,
                                                   .answer = take_ends,
                                                   .context = input});
    if (input->asker && slu_thread_start(&input->thread, "slu-input", run_input, input))
        return SLU_OK;
    if (input->asker)
        (void) slu_asker_close(input->asker, INT32_MAX);
    return slu_fail(reterr, SLU_FATAL, "no threads for Kafka: too many are running");
}

rd_kafka_t *
slu_input_free(struct slu_input *input)
{
    if (!input)
        return NULL;
    struct command *command;
    while ((command = input->first)) {
        input->first = command->next;
        free(command);
    }
    for (int i = 0; i < input->settings.shard_count; i++) {
        drop_asks(&input->lanes[i]);
        slu_kafka_drop_queue(&input->lanes[i].queue);
    }
    if (input->topic)
        rd_kafka_topic_destroy(input->topic);
    rd_kafka_t *client = input->client;
    slu_lock_done(&input->lock, &input->changed);
    slu_bell_close(input->bell);
    free(input->lanes);
    free(input);
    return client;
}

enum slu_status
slu_input_open(const struct slu_input_settings *settings,
               struct slu_input **ret_input,
               struct slu_error *reterr)
{
    struct slu_input *input = slu_alloc(sizeof(*input));
    input->settings = *settings;
    input->lanes = slu_alloc((size_t) settings->shard_count * sizeof(*input->lanes));
    input->bell = slu_bell_open();
    input->end = &input->first;
    slu_lock_init(&input->lock, &input->changed);

    enum slu_status status = open_client(input, reterr);
    if (!status)
        status = start_threads(input, reterr);
    if (!status) {
        *ret_input = input;
        return SLU_OK;
    }
    rd_kafka_t *client = slu_input_free(input);
    if (client)
        rd_kafka_destroy(client);
    return status;
}

bool
slu_input_stop(struct slu_input *input, int64_t patience_ms)
{
    /* The asker last: the input's thread tells it its suspicions. */
    atomic_store(&input->stopping, true);
    slu_bell_ring(input->bell);
    return slu_thread_join(input->thread, patience_ms) &&
           slu_asker_close(input->asker, patience_ms);
}
