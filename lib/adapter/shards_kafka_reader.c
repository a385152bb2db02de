/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a partition to an end that was asked for before.
 *
 * "At the end" is a position, never "last offset + 1": control records, aborted records and holes
 * left by compaction take offsets that are never seen. librdkafka tells the position only in its
 * end-of-partition events, so those are waited for; fetch.wait.max.ms is short for their sake. */
#include "shards_kafka_reader.h"

#include "slu/base/memory.h"
#include "slu/port/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum {
    ASK_TIMEOUT_MS = 5 * 1000,
    SILENCE_MAX_MS = 10 * 1000,
    POLL_MS = 100,
    PROGRESS_EVERY = 1024,
    TAIL_FIRST = 64, /* Offsets read back for the newest shard record, at first. */
    TAIL_FACTOR = 16,
};

struct slu_reader {
    rd_kafka_t *client;
    rd_kafka_t *whole; /* Sees uncommitted records, and is only asked for ends. */
    rd_kafka_topic_t *topics[SLU_TOPIC_COUNT];
};

static rd_kafka_t *
make_client(const struct slu_kafka *kafka, bool whole, struct slu_error *reterr)
{
    rd_kafka_conf_t *conf = slu_kafka_reading_conf(kafka, "5", reterr);
    if (!conf)
        return NULL;
    if (whole)
        rd_kafka_conf_set(conf, "isolation.level", "read_uncommitted", NULL, 0);
    return slu_kafka_new(RD_KAFKA_CONSUMER, conf, reterr);
}

enum slu_status
slu_reader_open(const struct slu_kafka *kafka,
                struct slu_reader **ret_reader,
                struct slu_error *reterr)
{
    rd_kafka_t *client = make_client(kafka, false, reterr);
    if (!client)
        return SLU_INVALID;
    rd_kafka_t *whole = make_client(kafka, true, reterr);
    if (!whole) {
        rd_kafka_destroy(client);
        return SLU_INVALID;
    }
    struct slu_reader *reader = slu_alloc(sizeof(*reader));
    reader->client = client;
    reader->whole = whole;
    slu_kafka_topics_open(kafka, client, reader->topics);
    *ret_reader = reader;
    return SLU_OK;
}

void
slu_reader_close(struct slu_reader *reader, struct slu_reaper *reaper)
{
    if (!reader)
        return;
    slu_kafka_topics_close(reader->topics);
    slu_reaper_take(reaper, reader->client);
    slu_reaper_take(reaper, reader->whole);
    free(reader);
}

rd_kafka_t *
slu_reader_client(const struct slu_reader *reader)
{
    return reader->client;
}

static const char *
name_of(const struct slu_reader *reader, enum slu_topic topic)
{
    return rd_kafka_topic_name(reader->topics[topic]);
}

enum slu_status
slu_reader_partitions(struct slu_reader *reader,
                      enum slu_topic topic,
                      int *ret_count,
                      struct slu_error *reterr)
{
    const struct rd_kafka_metadata *metadata;
    const rd_kafka_resp_err_t code =
        rd_kafka_metadata(reader->client, 0, reader->topics[topic], &metadata, ASK_TIMEOUT_MS);
    if (code)
        return slu_kafka_fail_code(reterr, SLU_RETRY, "asking Kafka for its topics", code);

    enum slu_status status = SLU_OK;
    if (metadata->topic_cnt != 1 ||
        metadata->topics[0].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        status = slu_fail(reterr, SLU_NOT_FOUND, "topic %s does not exist", name_of(reader, topic));
    else if (metadata->topics[0].err) {
        status =
            slu_kafka_fail_code(reterr, SLU_RETRY, name_of(reader, topic), metadata->topics[0].err);
    } else {
        *ret_count = metadata->topics[0].partition_cnt;
    }
    rd_kafka_metadata_destroy(metadata);
    return status;
}

enum slu_status
slu_reader_bounds(struct slu_reader *reader,
                  const struct slu_reader_place *place,
                  int64_t *ret_begin,
                  int64_t *ret_end,
                  struct slu_error *reterr)
{
    const char *name = name_of(reader, place->topic);
    rd_kafka_t *client = place->end == SLU_READER_WHOLE ? reader->whole : reader->client;
    const rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(
        client, name, place->partition, ret_begin, ret_end, ASK_TIMEOUT_MS);
    if (!code)
        return SLU_OK;
    (void) slu_kafka_fail_code(reterr, SLU_RETRY, "asking for the end", code);
    if (reterr)
        slu_error_prefix(reterr, "%s[%d]", name, place->partition);
    return SLU_RETRY;
}

/* Hands one message on. Moves the position of the read. */
static enum slu_status
take_message(const rd_kafka_message_t *message,
             const struct slu_reading *reading,
             int64_t *position,
             struct slu_error *reterr)
{
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        *position = message->offset;
        return SLU_OK;
    }
    if (message->err == RD_KAFKA_RESP_ERR__TRANSPORT ||
        message->err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
        return SLU_OK; /* The library goes on by itself; silence has its own limit. */
    if (message->err)
        return slu_fail(reterr, SLU_RETRY, "reading: %s", rd_kafka_message_errstr(message));
    if (message->offset < *position || message->offset >= reading->end)
        return SLU_OK; /* A repeat (2.0.2 may deliver one), or newer than what was asked for. */

    struct slu_record record;
    slu_kafka_record(message, &record);
    *position = message->offset + 1;
    return reading->visit(reading->context, &record, reterr);
}

/* Asking the clock for every one of a million records costs: only now and then. */
static void
note_progress(const struct slu_reading *reading,
              int64_t before,
              int64_t position,
              int64_t *heard_at_ms)
{
    if (position / PROGRESS_EVERY == before / PROGRESS_EVERY && position < reading->end)
        return;
    *heard_at_ms = slu_clock_boottime_ms();
    if (reading->progress_ms)
        atomic_store(reading->progress_ms, *heard_at_ms);
}

static enum slu_status
read_queue(rd_kafka_queue_t *queue, const struct slu_reading *reading, struct slu_error *reterr)
{
    enum slu_status status = SLU_OK;
    int64_t position = reading->from;
    int64_t heard_at_ms = slu_clock_boottime_ms();
    while (!status && position < reading->end) {
        SLU_AUTO_KAFKA_MESSAGE rd_kafka_message_t *message = rd_kafka_consume_queue(queue, POLL_MS);
        const int64_t before = position;
        if (reading->stop && atomic_load(reading->stop)) {
            return slu_fail(reterr, SLU_RETRY, "reading was stopped");
        }
        if (message) {
            status = take_message(message, reading, &position, reterr);
            note_progress(reading, before, position, &heard_at_ms);
        } else if (slu_clock_boottime_ms() - heard_at_ms > SILENCE_MAX_MS) {
            return slu_fail(reterr, SLU_RETRY, "nothing came for %d s, at offset %lld of %lld",
                            SILENCE_MAX_MS / 1000, (long long) position, (long long) reading->end);
        }
    }
    return status;
}

enum slu_status
slu_reader_read(struct slu_reader *reader,
                const struct slu_reading *reading,
                struct slu_error *reterr)
{
    if (reading->from >= reading->end)
        return SLU_OK;
    rd_kafka_topic_t *topic = reader->topics[reading->topic];
    SLU_AUTO_KAFKA_QUEUE rd_kafka_queue_t *queue = rd_kafka_queue_new(reader->client);
    if (rd_kafka_consume_start_queue(topic, reading->partition, reading->from, queue))
        return slu_kafka_fail_code(reterr, SLU_RETRY, "starting to read", rd_kafka_last_error());

    const enum slu_status status = read_queue(queue, reading, reterr);
    rd_kafka_consume_stop(topic, reading->partition);
    if (status && reterr)
        slu_error_prefix(reterr, "%s[%d]", name_of(reader, reading->topic), reading->partition);
    return status;
}

static enum slu_status
keep_newest(void *context, const struct slu_record *record, struct slu_error *reterr)
{
    (void) reterr;
    struct slu_shard_found *found = context;
    if (!record->value)
        return SLU_OK;
    slu_buffer_reset(&found->bytes);
    slu_buffer_append(&found->bytes, record->value, record->value_size);
    found->append_ms = record->timestamp_ms;
    found->is_there = true;
    return SLU_OK;
}

/* From the tail backwards: the last offsets may all be control records and aborted ones. */
static enum slu_status
read_tail(struct slu_reader *reader,
          const struct slu_reader_place *place,
          const atomic_bool *stop,
          struct slu_shard_found *found,
          struct slu_error *reterr)
{
    int64_t begin;
    int64_t end;
    enum slu_status status = slu_reader_bounds(reader, place, &begin, &end, reterr);
    int64_t from = end;
    for (int64_t tail = TAIL_FIRST; !status && !found->is_there && from > begin;
         tail *= TAIL_FACTOR) {
        from = end - tail > begin ? end - tail : begin;
        const struct slu_reading reading = {
            .topic = place->topic,
            .partition = place->partition,
            .from = from,
            .end = end,
            .visit = keep_newest,
            .context = found,
            .stop = stop,
        };
        status = slu_reader_read(reader, &reading, reterr);
    }
    return status;
}

enum slu_status
slu_reader_newest(struct slu_reader *reader,
                  int shard,
                  enum slu_reader_end end,
                  const atomic_bool *stop,
                  struct slu_shard_found *ret_found,
                  struct slu_error *reterr)
{
    *ret_found = (struct slu_shard_found){0};
    const struct slu_reader_place place = {SLU_TOPIC_SHARDS, shard, end};
    enum slu_status status = read_tail(reader, &place, stop, ret_found, reterr);
    if (status)
        return status;
    if (!ret_found->is_there) {
        return slu_fail(reterr, SLU_NOT_FOUND,
                        "%s[%d] has no shard record; run: sluice topics create",
                        name_of(reader, SLU_TOPIC_SHARDS), shard);
    }
    status = slu_shard_record_read(ret_found->bytes.data, ret_found->bytes.size, &ret_found->record,
                                   reterr);
    if (status && reterr)
        slu_error_prefix(reterr, "newest record of %s[%d]", name_of(reader, SLU_TOPIC_SHARDS),
                         shard);
    return status;
}

void
slu_shard_found_done(struct slu_shard_found *found)
{
    slu_shard_record_done(&found->record);
    slu_buffer_done(&found->bytes);
    *found = (struct slu_shard_found){0};
}
