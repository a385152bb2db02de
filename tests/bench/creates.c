/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, open loop: desired documents arrive by a Poisson process whatever becomes of them, and
 * the time from a document's arrival to its status `running` is taken from what stands on Kafka.
 *
 * Usage: bench_creates <brokers> <per second> <seconds> <first number> <raw file> <label> [bars]
 * The raw file gets one line per create: number, arrival in µs since the start, latency in µs. */
#include "measure.h"
#include "slu/base/memory.h"
#include "slu/base/random.h"

#include <librdkafka/rdkafka.h>

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DRAIN_US =
        60 * 1000000, /* Creates that take longer than this after the last arrival are lost. */
};

struct create {
    int64_t arrived_us;
    int64_t running_us; /* 0: not yet. */
};

struct bench {
    rd_kafka_t *producer, *consumer;
    struct create *creates;
    int64_t count, published, running;
    int64_t first;
    int64_t start_us;
};

static rd_kafka_t *
client(rd_kafka_type_t type, const char *brokers)
{
    static const char *const producing[][2] = {{"partitioner", "murmur2_random"},
                                               {"linger.ms", "1"},
                                               {"socket.nagle.disable", "true"},
                                               {"queue.buffering.max.messages", "2000000"}};
    static const char *const consuming[][2] = {{"group.id", "bench-creates"},
                                               {"enable.auto.commit", "false"},
                                               {"isolation.level", "read_committed"},
                                               {"fetch.wait.max.ms", "5"}};
    static_assert(SLU_COUNT(producing) == SLU_COUNT(consuming), "walked together below");
    const char *const(*settings)[2] = type == RD_KAFKA_PRODUCER ? producing : consuming;
    char error[256] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    (void) rd_kafka_conf_set(conf, "bootstrap.servers", brokers, error, sizeof(error));
    for (size_t i = 0; i < SLU_COUNT(producing); i++)
        (void) rd_kafka_conf_set(conf, settings[i][0], settings[i][1], error, sizeof(error));
    rd_kafka_t *made = rd_kafka_new(type, conf, error, sizeof(error));
    if (!made)
        (void) fprintf(stderr, "bench_creates: %s\n", error);
    return made;
}

/* Follows every partition of sluice.status from its present end. */
static bool
follow_status(struct bench *bench)
{
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(bench->consumer, "sluice.status", NULL);
    if (rd_kafka_metadata(bench->consumer, 0, topic, &metadata, 10000))
        return false;
    const int partitions = metadata->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(topic);

    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(partitions);
    for (int i = 0; i < partitions; i++) {
        int64_t low, high;
        if (rd_kafka_query_watermark_offsets(bench->consumer, "sluice.status", i, &low, &high,
                                             10000))
            return false;
        rd_kafka_topic_partition_list_add(all, "sluice.status", i)->offset = high;
    }
    const bool assigned = !rd_kafka_assign(bench->consumer, all);
    rd_kafka_topic_partition_list_destroy(all);
    return assigned;
}

static bool
says_running(const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *headers;
    const void *phase;
    size_t size;
    return !rd_kafka_message_headers(message, &headers) &&
           !rd_kafka_header_get_last(headers, "slu-phase", &phase, &size) &&
           size == strlen("running") && memcmp(phase, "running", size) == 0;
}

static void
take_status(struct bench *bench, const rd_kafka_message_t *message)
{
    char key[64] = "";
    if (message->err || message->key_len >= sizeof(key) || !says_running(message))
        return;
    memcpy(key, message->key, message->key_len);
    const int64_t number = atoll(key + strlen("sandbox/b")) - bench->first;
    if (number < 0 || number >= bench->count || bench->creates[number].running_us)
        return;
    bench->creates[number].running_us = bench_now_us() - bench->start_us;
    bench->running++;
}

static void
poll_status(struct bench *bench, int wait_ms)
{
    rd_kafka_message_t *message;
    while ((message = rd_kafka_consumer_poll(bench->consumer, wait_ms))) {
        take_status(bench, message);
        rd_kafka_message_destroy(message);
        wait_ms = 0;
    }
}

static void
publish(struct bench *bench, struct slu_buffer *document)
{
    char key[64];
    const int64_t number = bench->first + bench->published;
    const size_t key_size = bench_key(number, key);
    bench_document(number, 1, document);
    (void) rd_kafka_producev(bench->producer, RD_KAFKA_V_TOPIC("sluice.desired"),
                             RD_KAFKA_V_KEY(key, key_size),
                             RD_KAFKA_V_VALUE(document->data, document->size),
                             RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    bench->published++;
}

/* Arrivals are drawn beforehand: a slow answer never slows them down. */
static void
draw_arrivals(struct bench *bench, double per_second)
{
    struct slu_random random = {.state = 20261130};
    double at_us = 0;
    for (int64_t i = 0; i < bench->count; i++) {
        const double uniform =
            ((double) (slu_random_next(&random) >> 11) + 0.5) / 9007199254740992.0;
        at_us += -log(uniform) * 1e6 / per_second;
        bench->creates[i].arrived_us = (int64_t) at_us;
    }
}

static void
run(struct bench *bench)
{
    SLU_AUTO_BUFFER struct slu_buffer document = {0};
    bench->start_us = bench_now_us();
    while (bench->published < bench->count) {
        const int64_t now_us = bench_now_us() - bench->start_us;
        while (bench->published < bench->count &&
               bench->creates[bench->published].arrived_us <= now_us)
            publish(bench, &document);
        (void) rd_kafka_poll(bench->producer, 0);
        poll_status(bench, 1);
    }
    const int64_t until_us = bench_now_us() + DRAIN_US;
    while (bench->running < bench->count && bench_now_us() < until_us) {
        (void) rd_kafka_poll(bench->producer, 0);
        poll_status(bench, 20);
    }
}

static int
compare(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *) a;
    const int64_t right = *(const int64_t *) b;
    return (left > right) - (left < right);
}

static void
report(const struct bench *bench, const char *label, bool bars, FILE *raw)
{
    int64_t *latencies = slu_alloc((size_t) bench->count * sizeof(*latencies));
    int64_t count = 0;
    for (int64_t i = 0; i < bench->count; i++) {
        const struct create *create = &bench->creates[i];
        const int64_t took_us = create->running_us ? create->running_us - create->arrived_us : -1;
        (void) fprintf(raw, "%lld %lld %lld\n", (long long) i, (long long) create->arrived_us,
                       (long long) took_us);
        if (create->running_us)
            latencies[count++] = took_us;
    }
    qsort(latencies, (size_t) count, sizeof(*latencies), compare);
    char what[64];
    const int64_t middle = count / 2;
    const int64_t late = count * 99 / 100;
    const enum bench_bar kind = bars ? BENCH_AT_MOST : BENCH_REPORT;
    (void) snprintf(what, sizeof(what), "d: create to running, %s, p50", label);
    bench_line(what, count ? (double) latencies[middle] / 1e3 : -1, "ms", kind, 100);
    (void) snprintf(what, sizeof(what), "d: create to running, %s, p99", label);
    bench_line(what, count ? (double) latencies[late] / 1e3 : -1, "ms", kind, 400);
    (void) snprintf(what, sizeof(what), "d: create to running, %s, max", label);
    bench_line(what, count ? (double) latencies[count - 1] / 1e3 : -1, "ms", BENCH_REPORT, 0);
    (void) snprintf(what, sizeof(what), "d: creates lost, %s", label);
    bench_line(what, (double) (bench->count - count), "of all", BENCH_AT_MOST, 0);
    free(latencies);
}

int
main(int argc, char **argv)
{
    if (argc < 7) {
        (void) fputs(
            "bench_creates <brokers> <per second> <seconds> <first> <raw file> <label> [bars]\n",
            stderr);
        return 2;
    }
    const double per_second = atof(argv[2]);
    struct bench bench = {.count = (int64_t) (per_second * atof(argv[3])), .first = atoll(argv[4])};
    FILE *raw = fopen(argv[5], "we");
    bench.creates = slu_alloc((size_t) bench.count * sizeof(*bench.creates));
    bench.producer = client(RD_KAFKA_PRODUCER, argv[1]);
    bench.consumer = client(RD_KAFKA_CONSUMER, argv[1]);
    if (!raw || !bench.producer || !bench.consumer || !follow_status(&bench)) {
        (void) fputs("bench_creates: Kafka or the raw file cannot be used\n", stderr);
        return 2;
    }
    draw_arrivals(&bench, per_second);
    run(&bench);
    report(&bench, argv[6], argc > 7, raw);
    (void) fclose(raw);
    rd_kafka_destroy(bench.producer);
    (void) rd_kafka_consumer_close(bench.consumer);
    rd_kafka_destroy(bench.consumer);
    free(bench.creates);
    return bench_all_ok() ? 0 : 1;
}
