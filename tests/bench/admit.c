/* SPDX-License-Identifier: Apache-2.0 */
/* How many desired records one core decodes, admits and plans in a second: new ones, changed ones,
 * and ones that came before, told apart by their hash. The engine alone: batches and calls are
 * taken and dropped. Usage: bench_admit [records] [unchanged records] */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct slu_engine *engine;
    int64_t now_ms;
    int64_t offset;
    int64_t events;
};

static void
take_batch(struct run *run)
{
    struct slu_batch *batch = slu_engine_take_batch(run->engine, true);
    for (size_t i = 0; i < batch->count; i++)
        run->events += batch->outputs[i].topic == SLU_TOPIC_EVENTS;
    slu_batch_free(batch);
    slu_engine_committed(run->engine, run->now_ms);
}

static void
drop_calls(struct run *run)
{
    struct slu_call *call;
    while ((call = slu_engine_next_call(run->engine)))
        slu_call_free(call);
    struct slu_note note;
    while (slu_engine_next_note(run->engine, &note))
        continue;
}

static void
hand_over(struct run *run, const char *key, size_t key_size, const struct slu_buffer *document)
{
    const struct slu_record record = {.offset = run->offset,
                                      .timestamp_ms = run->now_ms,
                                      .key = key,
                                      .key_size = key_size,
                                      .value = document->data,
                                      .value_size = document->size};
    while (!slu_engine_record(run->engine, &record, run->now_ms)) {
        (void) slu_engine_turn(run->engine, run->now_ms, 0);
        take_batch(run);
        drop_calls(run);
    }
    run->offset++;
}

/* Records of `count` sandboxes in `generation`, `times` over; returns records per second. The texts
 * are written before the clock starts. */
static double
measure(struct run *run, int64_t count, int64_t generation, int64_t times)
{
    struct slu_buffer *documents = calloc((size_t) count, sizeof(*documents));
    for (int64_t i = 0; i < count; i++)
        bench_document(i, generation, &documents[i]);

    const int64_t begin_us = bench_cpu_us();
    for (int64_t i = 0; i < count * times; i++) {
        char key[64];
        const size_t key_size = bench_key(i % count, key);
        hand_over(run, key, key_size, &documents[i % count]);
    }
    (void) slu_engine_turn(run->engine, run->now_ms, 0);
    take_batch(run);
    drop_calls(run);
    const int64_t took_us = bench_cpu_us() - begin_us;

    for (int64_t i = 0; i < count; i++)
        slu_buffer_done(&documents[i]);
    free(documents);
    return (double) (count * times) * 1e6 / (double) took_us;
}

int
main(int argc, char **argv)
{
    const int64_t count = argc > 1 ? atoll(argv[1]) : 200000;
    const int64_t unchanged = argc > 2 ? atoll(argv[2]) : 2000000;
    const struct slu_engine_config config = bench_config(0, 1);
    struct run run = {.engine = slu_engine_new(&config), .now_ms = INT64_C(1796000000000)};
    const struct slu_shard_record first = {.cluster = "bench", .shard_count = 1};
    struct slu_error error;
    if (slu_engine_claim(run.engine, &first, &error)) {
        (void) fprintf(stderr, "bench_admit: %s\n", error.message);
        return 2;
    }
    take_batch(&run);

    bench_line("a: new records admitted and planned", measure(&run, count, 1, 1),
               "records/s per core", BENCH_AT_LEAST, 40000);
    bench_line("a: changed records admitted and planned", measure(&run, count, 2, 1),
               "records/s per core", BENCH_AT_LEAST, 40000);
    bench_line("a: unchanged records, by hash", measure(&run, count, 2, unchanged / count),
               "records/s per core", BENCH_AT_LEAST, 1000000);
    bench_line("a: events written beside them", (double) run.events, "events", BENCH_REPORT, 0);
    slu_engine_free(run.engine);
    return bench_all_ok() ? 0 : 1;
}
