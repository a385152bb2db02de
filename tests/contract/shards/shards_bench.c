/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the log on a real broker, all in one run: commits back to back with 1, 4 and 16
 * shards, a claim on an empty and on a full status topic, and a bare librdkafka consumer on the
 * same topic. `shards_bench <status records>`; without a number, a million. */
#include "broker.h"
#include "replica.h"
#include "slu/base/memory.h"
#include "slu/port/clock.h"
#include "subject_kafka.h"

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
    COMMITS = 300,
    STATUS_SIZE = 700
};

static int status_records = 1000 * 1000;

static int64_t
now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static int
compare_times(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *) a;
    const int64_t right = *(const int64_t *) b;
    return (left > right) - (left < right);
}

static struct slu_batch *
make_batch(struct replica *replica, int shard)
{
    struct slu_batch *batch = replica_batch(replica, shard);
    batch_status(batch, shard, "sandbox/a", "{\"kind\":\"Sandbox\"}");
    batch_output(batch, SLU_TOPIC_EVENTS, shard, "sandbox/a", "{\"type\":\"running\"}");
    replica_seal(replica, shard, batch);
    return batch;
}

/* Every shard has always one commit under way. */
static void
bench_commits(int shard_count)
{
    struct subject *log = subject_new(shard_count, shard_count);
    struct replica *one = replica_open(log, "one");
    for (int i = 0; i < shard_count; i++)
        replica_lead(one, i);
    int64_t *times = slu_alloc(sizeof(*times) * COMMITS * (size_t) shard_count);
    int64_t began[REPLICA_SHARDS_MAX];
    const int64_t start_us = now_us();
    for (int i = 0; i < shard_count; i++) {
        began[i] = now_us();
        slu_shards_commit(one->shards, i, make_batch(one, i));
    }
    int done = 0;
    while (done < COMMITS * shard_count) {
        const int shard = replica_await(one, SLU_SHARD_COMMITTED, -1).shard;
        times[done++] = now_us() - began[shard];
        began[shard] = now_us();
        if (done + shard_count <= COMMITS * shard_count)
            slu_shards_commit(one->shards, shard, make_batch(one, shard));
    }
    const int64_t took_us = now_us() - start_us;
    qsort(times, (size_t) done, sizeof(*times), compare_times);
    printf("commit shards=%d n=%d p50_us=%lld p99_us=%lld per_s=%lld\n", shard_count, done,
           (long long) times[done / 2], (long long) times[done * 99 / 100],
           (long long) (done * INT64_C(1000000) / took_us));
    fflush(stdout);
    free(times);
    replica_close_all();
    subject_free(log);
}

static void
fill_status(struct subject *log)
{
    rd_kafka_t *client = subject_client(RD_KAFKA_PRODUCER, NULL);
    rd_kafka_topic_t *topic =
        rd_kafka_topic_new(client, subject_topic_name(log, SLU_TOPIC_STATUS), NULL);
    char value[STATUS_SIZE];
    memset(value, 's', sizeof(value));
    for (int i = 0; i < status_records; i++) {
        char key[32];
        const int size = snprintf(key, sizeof(key), "sandbox/sbx-%d", i);
        rd_kafka_headers_t *headers = rd_kafka_headers_new(3);
        rd_kafka_header_add(headers, "slu-generation", -1, "4", 1);
        rd_kafka_header_add(headers, "slu-phase", -1, "running", 7);
        rd_kafka_header_add(headers, "slu-uid", -1, "3-8841", 6);
        rd_kafka_resp_err_t code;
        while ((code = rd_kafka_producev(
                    client, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(0),
                    RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, (size_t) size),
                    RD_KAFKA_V_VALUE(value, sizeof(value)), RD_KAFKA_V_HEADERS(headers),
                    RD_KAFKA_V_END)) == RD_KAFKA_RESP_ERR__QUEUE_FULL)
            rd_kafka_poll(client, 10);
        assert_int_equal(code, 0);
        if (i % 1000 == 0)
            rd_kafka_poll(client, 0);
    }
    assert_int_equal(rd_kafka_flush(client, 120 * 1000), 0);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(client);
}

static int64_t
bench_bare(struct subject *log)
{
    rd_kafka_t *client = subject_client(RD_KAFKA_CONSUMER, NULL);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, subject_topic_name(log, SLU_TOPIC_STATUS), 0)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
    const int64_t start_us = now_us();
    rd_kafka_assign(client, list);
    rd_kafka_topic_partition_list_destroy(list);
    int count = 0;
    bool at_end = false;
    while (!at_end) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(client, 30 * 1000);
        assert_non_null(message);
        at_end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
        count += !message->err;
        rd_kafka_message_destroy(message);
    }
    const int64_t took_us = now_us() - start_us;
    assert_true(count >= status_records);
    rd_kafka_destroy(client);
    return took_us;
}

/* Claim to CLAIM_READ, and on to the first commit. */
static int64_t
bench_claim(struct subject *log, const char *what)
{
    struct replica *one = replica_open(log, "one");
    replica_await(one, SLU_SHARD_CANDIDATE, 0);
    const int64_t start_us = now_us();
    replica_claim(one, 0);
    const int64_t read_us = now_us() - start_us;
    replica_commit_claim(one, 0);
    printf("claim %s records=%zu read_us=%lld committed_us=%lld\n", what,
           one->leads[0].restored_count, (long long) read_us, (long long) (now_us() - start_us));
    fflush(stdout);
    replica_close_all();
    return read_us;
}

struct leaving {
    struct replica *replica;
    int64_t began_us;
};

static void *
leave(void *context)
{
    struct leaving *leaving = context;
    leaving->began_us = now_us();
    slu_shards_close(slu_steal(leaving->replica->shards), 1000);
    return NULL;
}

enum {
    HANDOVERS = 10,
    HANDOVER_SHARDS = 6
};

static void
lead_all(struct replica *const replicas[2])
{
    for (int i = 0; i < HANDOVER_SHARDS; i++) {
        struct replica *owner = replicas[replicas[0]->candidate[i] ? 0 : 1];
        replica_claim(owner, i);
        replica_commit_claim(owner, i);
    }
}

/* From the leave of the first to the last of the second's first commits. */
static int64_t
hand_over(struct replica *const replicas[2])
{
    struct replica *stays = replicas[1];
    struct leaving leaving = {.replica = replicas[0]};
    bool moves[HANDOVER_SHARDS];
    for (int i = 0; i < HANDOVER_SHARDS; i++)
        moves[i] = !stays->candidate[i];
    pthread_t thread;
    replica_hang(replicas[0], true);
    pthread_create(&thread, NULL, leave, &leaving);
    replica_await_candidacies(&stays, 1, (int[]){HANDOVER_SHARDS});
    for (int i = 0; i < HANDOVER_SHARDS; i++) {
        if (moves[i])
            replica_ask_claim(stays, i);
    }
    for (int i = 0; i < HANDOVER_SHARDS; i++) {
        if (!moves[i])
            continue;
        replica_await(stays, SLU_SHARD_CLAIM_READ, i);
        replica_commit_claim(stays, i);
    }
    const int64_t done_us = now_us();
    pthread_join(thread, NULL);
    return done_us - leaving.began_us;
}

static void
bench_handover(void)
{
    int64_t times[HANDOVERS];
    struct subject *log = subject_new(HANDOVER_SHARDS, HANDOVER_SHARDS);
    for (int round = 0; round < HANDOVERS; round++) {
        struct replica *replicas[2] = {replica_open(log, "one"), replica_open(log, "two")};
        replica_await_candidacies(replicas, 2, (int[]){HANDOVER_SHARDS / 2, HANDOVER_SHARDS / 2});
        lead_all(replicas);
        times[round] = hand_over(replicas);
        replica_close_all();
    }
    qsort(times, HANDOVERS, sizeof(*times), compare_times);
    printf("handover of %d shards: n=%d p50_us=%lld max_us=%lld\n", HANDOVER_SHARDS / 2, HANDOVERS,
           (long long) times[HANDOVERS / 2], (long long) times[HANDOVERS - 1]);
    fflush(stdout);
    subject_free(log);
}

int
main(int argc, char **argv)
{
    if (argc > 1)
        status_records = (int) strtol(argv[1], NULL, 10);
    broker_start_direct();
    static const int counts[] = {1, 4, 16};
    for (size_t i = 0; i < SLU_COUNT(counts); i++)
        bench_commits(counts[i]);
    bench_handover();

    struct subject *log = subject_new(1, 1);
    for (int i = 0; i < 3; i++)
        bench_claim(log, "empty");
    fill_status(log);
    for (int i = 0; i < 3; i++) {
        const int64_t bare_us = bench_bare(log);
        const int64_t claim_us = bench_claim(log, "full");
        printf("bare consumer: records=%d us=%lld; claim is %lld %% as fast\n", status_records,
               (long long) bare_us, (long long) (bare_us * 100 / claim_us));
        fflush(stdout);
    }
    subject_free(log);
    broker_stop();
    return 0;
}
