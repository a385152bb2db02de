/* SPDX-License-Identifier: Apache-2.0 */
/* Resident bytes per resource at rest: a shard is restored from status records of running sandboxes
 * with specs of 500 bytes, claimed, and counted. The engine alone. Usage: bench_memory [resources] */
#include "measure.h"

#include "slu/base/memory.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A status document as the engine itself writes it for a running sandbox. */
static char *
running_status(size_t *ret_spec_size)
{
    const struct slu_engine_config config = bench_config(0, 1);
    struct slu_engine *engine = slu_engine_new(&config);
    const struct slu_shard_record first = {.cluster = "bench", .shard_count = 1};
    const int64_t now_ms = INT64_C(1796000000000);
    struct slu_error error;
    SLU_AUTO_BUFFER struct slu_buffer document = {0};
    char key[64];
    char *status = NULL;

    if (slu_engine_claim(engine, &first, &error))
        return NULL;
    slu_batch_free(slu_engine_take_batch(engine, true));
    slu_engine_committed(engine, now_ms);
    bench_document(0, 1, &document);
    const struct slu_record record = {.timestamp_ms = now_ms,
                                      .key = key,
                                      .key_size = bench_key(0, key),
                                      .value = document.data,
                                      .value_size = document.size};
    (void) slu_engine_record(engine, &record, now_ms);
    for (int turn = 0; turn < 3; turn++) {
        (void) slu_engine_turn(engine, now_ms, 0);
        struct slu_batch *batch = slu_engine_take_batch(engine, true);
        for (size_t i = 0; i < batch->count; i++) {
            if (batch->outputs[i].topic != SLU_TOPIC_STATUS)
                continue;
            free(status);
            status = slu_memdup(batch->outputs[i].value, batch->outputs[i].value_size);
        }
        slu_batch_free(batch);
        slu_engine_committed(engine, now_ms);
        struct slu_call *call = slu_engine_next_call(engine);
        if (!call)
            continue;
        struct slu_facts facts = {.outcome = SLU_OUTCOME_DONE, .seen_count = 1};
        facts.seen[0].life = SLU_LIFE_RUNNING;
        facts.seen[0].incarnation = call->incarnation;
        (void) snprintf(facts.seen[0].external_id, sizeof(facts.seen[0].external_id),
                        "i0a1b2c3d4e5f6a7b8c9d");
        (void) snprintf(facts.seen[0].uid, sizeof(facts.seen[0].uid), "%s", call->uid);
        slu_engine_answer(engine, call->id, &facts, now_ms);
        if (call->spec)
            *ret_spec_size = strlen(call->spec);
        slu_call_free(call);
    }
    slu_engine_free(engine);
    return status;
}

/* The same document for another id: both are of one length. */
static void
rename_status(char *status, const char *id)
{
    for (char *at = status; (at = strstr(at, "\"b0000")); at += 10)
        memcpy(at + 1, id, 9);
}

int
main(int argc, char **argv)
{
    const int64_t count = argc > 1 ? atoll(argv[1]) : 1000000;
    size_t spec_size = 0;
    SLU_AUTO_FREE char *status = running_status(&spec_size);
    if (!status || !strstr(status, "\"phase\":\"running\"")) {
        (void) fputs("bench_memory: the model sandbox does not run\n", stderr);
        return 2;
    }
    (void) malloc_trim(0);
    const int64_t before = bench_resident_bytes();

    const struct slu_engine_config config = bench_config(0, 1);
    struct slu_engine *engine = slu_engine_new(&config);
    const size_t status_size = strlen(status);
    const int64_t begin_us = bench_now_us();
    struct slu_error error;
    for (int64_t i = 0; i < count; i++) {
        char key[64];
        const size_t key_size = bench_key(i, key);
        rename_status(status, key + strlen("sandbox/"));
        const struct slu_record record = {.offset = i,
                                          .key = key,
                                          .key_size = key_size,
                                          .value = status,
                                          .value_size = status_size};
        if (slu_engine_restore(engine, &record, &error)) {
            (void) fprintf(stderr, "bench_memory: %s\n", error.message);
            return 2;
        }
    }
    const double took_s = (double) (bench_now_us() - begin_us) / 1e6;
    const struct slu_shard_record last = {.cluster = "bench", .shard_count = 1, .epoch = 1, .seq = 1};
    if (slu_engine_claim(engine, &last, &error)) {
        (void) fprintf(stderr, "bench_memory: %s\n", error.message);
        return 2;
    }
    slu_batch_free(slu_engine_take_batch(engine, true));
    slu_engine_committed(engine, INT64_C(1796000001000));

    const double bytes = (double) (bench_resident_bytes() - before) / (double) count;
    bench_line("c: canonical spec", (double) spec_size, "bytes", BENCH_REPORT, 0);
    bench_line("c: status document", (double) status_size, "bytes", BENCH_REPORT, 0);
    bench_line("c: resident per resource", bytes, "bytes", BENCH_AT_MOST, 1024);
    bench_line("c: resident in all", (double) (bench_resident_bytes() - before) / 1e6, "MB",
               BENCH_AT_MOST, 1200.0 * (double) count / 1e6);
    bench_line("c: restored from memory", (double) count / took_s, "records/s", BENCH_REPORT, 0);
    slu_engine_free(engine);
    return bench_all_ok() ? 0 : 1;
}
