/* SPDX-License-Identifier: Apache-2.0 */
/* A take-over of one shard with many resources, through the real adapter: its status topic is read
 * by a bare consumer and then by a claim, one after the other; then every desired document is
 * published once more, unchanged, and each must have its `repeated` event.
 *
 * Usage: bench_restore <brokers> <resources>     (fresh topics with one shard) */
#include "measure.h"
#include "slu/base/memory.h"
#include "slu/port/shards.h"

#include <librdkafka/rdkafka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAITING_MAX = 256,
    WAITING_PAUSE = 16, /* So many pieces of input stop the reading. */
};

struct doorbell {
    pthread_mutex_t lock;
    pthread_cond_t rung;
    bool ringing;
};

struct bench {
    const char *brokers;
    int64_t count;
    struct doorbell bell;
    struct slu_shards *shards;
    struct slu_engine *engine;
    int64_t clock_append_ms, clock_done_ms;
    int64_t restored_us; /* How long the claim read; 0: not yet. */
    int64_t repeated;    /* Events committed. */
    int64_t in_batch;    /* Events in the batch under way. */
    struct slu_shard_event
        waiting[WAITING_MAX]; /* Input, oldest first; `handed` records of it done. */
    size_t waiting_count;
    size_t handed;
    bool claimed; /* The claim's first transaction has committed. */
};

/* --- filling the topics --------------------------------------------------------------------------
 */

static rd_kafka_t *
client(rd_kafka_type_t type, const char *brokers)
{
    char error[256] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    (void) rd_kafka_conf_set(conf, "bootstrap.servers", brokers, error, sizeof(error));
    if (type == RD_KAFKA_PRODUCER) {
        (void) rd_kafka_conf_set(conf, "linger.ms", "5", error, sizeof(error));
        (void) rd_kafka_conf_set(conf, "queue.buffering.max.messages", "100000", error,
                                 sizeof(error));
    } else {
        (void) rd_kafka_conf_set(conf, "group.id", "bench-restore", error, sizeof(error));
        (void) rd_kafka_conf_set(conf, "enable.partition.eof", "true", error, sizeof(error));
        (void) rd_kafka_conf_set(conf, "enable.auto.commit", "false", error, sizeof(error));
    }
    return rd_kafka_new(type, conf, error, sizeof(error));
}

static void
produce(rd_kafka_t *producer, const char *topic, const struct slu_output *output)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(output->header_count);
    for (size_t i = 0; i < output->header_count; i++)
        (void) rd_kafka_header_add(headers, output->headers[i].name, -1, output->headers[i].value,
                                   -1);
    while (rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
                             RD_KAFKA_V_KEY(output->key, output->key_size),
                             RD_KAFKA_V_VALUE(output->value, output->value_size),
                             RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_HEADERS(headers),
                             RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR__QUEUE_FULL)
        (void) rd_kafka_poll(producer, 10);
    (void) rd_kafka_poll(producer, 0);
}

static void
fill_status(const struct bench *bench)
{
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, bench->brokers);
    struct slu_batch *model = bench_running();
    struct slu_output *status = &model->outputs[0];
    for (int64_t i = 0; i < bench->count; i++) {
        char key[64];
        bench_rename(status, i);
        struct slu_output record = *status;
        record.key_size = bench_key(i, key);
        record.key = key;
        produce(producer, "sluice.status", &record);
    }
    (void) rd_kafka_flush(producer, 120000);
    rd_kafka_destroy(producer);
    slu_batch_free(model);
}

static void
fill_desired(const struct bench *bench)
{
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, bench->brokers);
    SLU_AUTO_BUFFER struct slu_buffer document = {0};
    for (int64_t i = 0; i < bench->count; i++) {
        char key[64];
        bench_document(i, 1, &document);
        const struct slu_output record = {.key = key,
                                          .key_size = bench_key(i, key),
                                          .value = document.data,
                                          .value_size = document.size};
        produce(producer, "sluice.desired", &record);
    }
    (void) rd_kafka_flush(producer, 120000);
    rd_kafka_destroy(producer);
}

/* --- the bare consumer ---------------------------------------------------------------------------
 */

static int64_t
read_bare(const struct bench *bench)
{
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, bench->brokers);
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(all, "sluice.status", 0)->offset = 0;
    int64_t seen = 0;
    const int64_t begin_us = bench_now_us();
    (void) rd_kafka_assign(consumer, all);
    for (bool at_end = false; !at_end;) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, 1000);
        if (!message)
            continue;
        at_end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
        seen += !message->err;
        rd_kafka_message_destroy(message);
    }
    const int64_t took_us = bench_now_us() - begin_us;
    rd_kafka_topic_partition_list_destroy(all);
    (void) rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
    return seen == bench->count ? took_us : 0;
}

/* --- the leader ----------------------------------------------------------------------------------
 */

static void
ring(void *context)
{
    struct doorbell *bell = context;
    pthread_mutex_lock(&bell->lock);
    bell->ringing = true;
    pthread_cond_signal(&bell->rung);
    pthread_mutex_unlock(&bell->lock);
}

static void
await_ring(struct doorbell *bell)
{
    struct timespec until;
    (void) clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&bell->lock);
    if (!bell->ringing)
        (void) pthread_cond_timedwait(&bell->rung, &bell->lock, &until);
    bell->ringing = false;
    pthread_mutex_unlock(&bell->lock);
}

static enum slu_status
restore_one(void *context, const struct slu_record *record, struct slu_error *reterr)
{
    struct bench *bench = context;
    return slu_engine_restore(bench->engine, record, reterr);
}

static int64_t
now_ms(const struct bench *bench)
{
    return bench->clock_append_ms
               ? bench->clock_append_ms + bench_now_us() / 1000 - bench->clock_done_ms
               : 0;
}

static void
commit(struct bench *bench)
{
    if (slu_engine_batch_in_flight(bench->engine) || !slu_engine_batch_waiting(bench->engine))
        return;
    struct slu_batch *batch = slu_engine_take_batch(bench->engine, false);
    if (!batch)
        return;
    bench->in_batch = 0;
    for (size_t i = 0; i < batch->count; i++)
        bench->in_batch += batch->outputs[i].topic == SLU_TOPIC_EVENTS;
    slu_shards_commit(bench->shards, 0, batch);
}

/* Hands over what waits, until the batch is full. */
static void
take_input(struct bench *bench)
{
    while (bench->waiting_count > 0) {
        struct slu_shard_event *event = &bench->waiting[0];
        while (bench->handed < event->record_count &&
               slu_engine_record(bench->engine, &event->records[bench->handed], now_ms(bench)))
            bench->handed++;
        commit(bench);
        if (bench->handed < event->record_count)
            return; /* The batch is full, and the one before is still on its way. */
        slu_shard_event_done(event);
        bench->handed = 0;
        memmove(&bench->waiting[0], &bench->waiting[1],
                --bench->waiting_count * sizeof(bench->waiting[0]));
    }
}

static bool
complain(const struct slu_shard_event *event)
{
    (void) fprintf(stderr, "bench_restore: event %d: %s\n", (int) event->kind,
                   event->error.message);
    return false;
}

static void
committed(struct bench *bench, const struct slu_shard_event *event)
{
    bench->clock_append_ms = event->append_ms;
    bench->clock_done_ms = bench_now_us() / 1000;
    bench->repeated += bench->in_batch;
    bench->in_batch = 0;
    bench->claimed = true;
    slu_engine_committed(bench->engine, now_ms(bench));
}

static bool
hear(struct bench *bench, struct slu_shard_event *event, int64_t begin_us)
{
    struct slu_error error;
    if (event->kind == SLU_SHARD_CLAIM_READ) {
        bench->restored_us = bench_now_us() - begin_us;
        if (slu_engine_claim(bench->engine, event->shard_record, &error))
            return complain(event);
        commit(bench);
    } else if (event->kind == SLU_SHARD_COMMITTED) {
        committed(bench, event);
    } else if (event->kind == SLU_SHARD_LOST || event->kind == SLU_SHARD_CLAIM_FAILED ||
               event->kind == SLU_SHARD_OUT_OF_RANGE) {
        return complain(event);
    }
    return true;
}

/* Plans, too; what it would ask of a provider is dropped. */
static void
plan(struct bench *bench)
{
    (void) slu_engine_turn(bench->engine, now_ms(bench), 0);
    struct slu_call *call;
    while ((call = slu_engine_next_call(bench->engine)))
        slu_call_free(call);
    struct slu_note note;
    while (slu_engine_next_note(bench->engine, &note))
        continue;
}

/* One round of the loop. False: it cannot go on. */
static bool
turn(struct bench *bench, int64_t begin_us)
{
    struct slu_shard_event event;
    bool goes_on = true;
    slu_shards_tick(bench->shards);
    while (goes_on && bench->waiting_count < WAITING_MAX &&
           slu_shards_next(bench->shards, &event)) {
        if (event.kind == SLU_SHARD_RECORDS) {
            bench->waiting[bench->waiting_count++] = event;
            continue;
        }
        goes_on = hear(bench, &event, begin_us);
        slu_shard_event_done(&event);
    }
    if (!bench->claimed)
        return goes_on;
    slu_shards_pause(bench->shards, 0, bench->waiting_count > WAITING_PAUSE);
    take_input(bench);
    plan(bench);
    commit(bench);
    return goes_on;
}

static bool
become_candidate(struct bench *bench)
{
    struct slu_shard_event event;
    slu_shards_elect(bench->shards);
    for (int tries = 0; tries < 3000; tries++) {
        slu_shards_tick(bench->shards);
        while (slu_shards_next(bench->shards, &event)) {
            const bool candidate = event.kind == SLU_SHARD_CANDIDATE;
            slu_shard_event_done(&event);
            if (candidate)
                return true;
        }
        await_ring(&bench->bell);
    }
    return false;
}

/* From the request to claim until everything was restored and the first transaction is in. */
static bool
claim(struct bench *bench)
{
    const struct slu_shards_sink sink = {.status = restore_one, .context = bench};
    const int64_t begin_us = bench_now_us();
    slu_shards_claim(bench->shards, 0, &sink);
    while (!bench->claimed) {
        if (!turn(bench, begin_us))
            return false;
        await_ring(&bench->bell);
    }
    return (int64_t) slu_engine_resource_count(bench->engine) == bench->count;
}

/* Every document once more: how long until the last `repeated` event is in. */
static int64_t
judge_again(struct bench *bench)
{
    const int64_t begin_us = bench_now_us();
    slu_shards_read(bench->shards, 0, 0, slu_engine_next_offset(bench->engine, 0));
    while (bench->repeated < bench->count) {
        if (!turn(bench, begin_us))
            return 0;
        if (bench->waiting_count == 0 || slu_engine_batch_in_flight(bench->engine))
            await_ring(&bench->bell);
    }
    return bench_now_us() - begin_us;
}

static bool
open_shards(struct bench *bench)
{
    const struct slu_shards_settings settings = {.brokers = bench->brokers,
                                                 .topic_prefix = "sluice.",
                                                 .group = "bench-restore-elector",
                                                 .client_id = "bench",
                                                 .properties = "",
                                                 .session_timeout_ms = 6000,
                                                 .wake = ring,
                                                 .wake_context = &bench->bell};
    struct slu_error error;
    if (!slu_shards_open(&settings, &bench->shards, &error))
        return true;
    (void) fprintf(stderr, "bench_restore: %s\n", error.message);
    return false;
}

static int
measure(struct bench *bench)
{
    fill_status(bench);
    const int64_t bare_us = read_bare(bench);
    if (!bare_us || !open_shards(bench) || !become_candidate(bench) || !claim(bench)) {
        (void) fputs("bench_restore: the topic could not be read or claimed\n", stderr);
        return 2;
    }
    const double count = (double) bench->count;
    bench_line("b: bare consumer", count * 1e6 / (double) bare_us, "records/s", BENCH_REPORT, 0);
    bench_line("b: restored by a claim", count * 1e6 / (double) bench->restored_us, "records/s",
               BENCH_REPORT, 0);
    bench_line("b: restore as share of the bare consumer",
               100.0 * (double) bare_us / (double) bench->restored_us, "%", BENCH_AT_LEAST, 50);

    fill_desired(bench);
    bench->repeated = 0;
    const int64_t again_us = judge_again(bench);
    if (!again_us)
        return 2;
    struct slu_engine_counters counters;
    slu_engine_counters(bench->engine, &counters);
    bench_line("b: unchanged records, each with its event", count * 1e6 / (double) again_us,
               "records/s", BENCH_AT_LEAST, 50000);
    bench_line("b: of them judged otherwise than repeated", count - (double) counters.repeated,
               "records", BENCH_AT_MOST, 0);
    slu_shards_close(bench->shards, 2000);
    return bench_all_ok() ? 0 : 1;
}

int
main(int argc, char **argv)
{
    if (argc < 3) {
        (void) fputs("bench_restore <brokers> <resources>\n", stderr);
        return 2;
    }
    static struct bench bench = {
        .bell = {.lock = PTHREAD_MUTEX_INITIALIZER, .rung = PTHREAD_COND_INITIALIZER}};
    const struct slu_engine_config config = bench_config(0, 1);
    bench.brokers = argv[1];
    bench.count = atoll(argv[2]);
    bench.engine = slu_engine_new(&config);
    const int status = measure(&bench);
    slu_engine_free(bench.engine);
    return status;
}
