/* SPDX-License-Identifier: Apache-2.0 */
/* Resident bytes per resource at rest: a shard is restored from status records of running sandboxes
 * with specs of 500 bytes, claimed, and counted. The engine alone. Usage: bench_memory [resources]
 */
#include "measure.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main(int argc, char **argv)
{
    const int64_t count = argc > 1 ? atoll(argv[1]) : 1000000;
    struct slu_batch *model = bench_running();
    struct slu_output *status = &model->outputs[0];
    (void) malloc_trim(0);
    const int64_t before = bench_resident_bytes();

    const struct slu_engine_config config = bench_config(0, 1);
    struct slu_engine *engine = slu_engine_new(&config);
    const int64_t begin_us = bench_cpu_us();
    struct slu_error error;
    for (int64_t i = 0; i < count; i++) {
        char key[64];
        const size_t key_size = bench_key(i, key);
        bench_rename(status, i);
        const struct slu_record record = {.offset = i,
                                          .key = key,
                                          .key_size = key_size,
                                          .value = status->value,
                                          .value_size = status->value_size};
        if (slu_engine_restore(engine, &record, &error)) {
            (void) fprintf(stderr, "bench_memory: %s\n", error.message);
            return 2;
        }
    }
    const double took_s = (double) (bench_cpu_us() - begin_us) / 1e6;
    const struct slu_shard_record last = {
        .cluster = "bench", .shard_count = 1, .epoch = 1, .seq = 1};
    if (slu_engine_claim(engine, &last, &error)) {
        (void) fprintf(stderr, "bench_memory: %s\n", error.message);
        return 2;
    }
    slu_batch_free(slu_engine_take_batch(engine, true));
    slu_engine_committed(engine, INT64_C(1796000001000));

    const double bytes = (double) (bench_resident_bytes() - before) / (double) count;
    bench_line("c: status document", (double) status->value_size, "bytes", BENCH_REPORT, 0);
    bench_line("c: resident per resource", bytes, "bytes", BENCH_AT_MOST, 1024);
    bench_line("c: resident in all", (double) (bench_resident_bytes() - before) / 1e6, "MB",
               BENCH_AT_MOST, 1200.0 * (double) count / 1e6);
    bench_line("c: restored from memory", (double) count / took_s, "records/s per core",
               BENCH_REPORT, 0);
    slu_engine_free(engine);
    slu_batch_free(model);
    return bench_all_ok() ? 0 : 1;
}
