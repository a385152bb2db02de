/* SPDX-License-Identifier: Apache-2.0 */
/* What every bench shares: time, the memory of this process, documents of a known size, and one
 * line per figure with its bar. */
#ifndef SLU_BENCH_MEASURE_H
#define SLU_BENCH_MEASURE_H

#include "slu/base/buffer.h"
#include "slu/engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

int64_t bench_now_us(void); /* Monotonic. */
int64_t bench_cpu_us(void); /* Spent by this process: figures "per core". */
int64_t bench_resident_bytes(void);

enum bench_bar {
    BENCH_AT_LEAST,
    BENCH_AT_MOST,
    BENCH_REPORT, /* A figure without a bar. */
};

/* "admit changed: 61234 records/s (bar >= 40000) ok". */
void bench_line(const char *what, double value, const char *unit, enum bench_bar kind, double bar);

/* True until a bench_line was short of its bar. */
bool bench_all_ok(void);

/* A desired document of sandbox `number` whose canonical spec has about 500 bytes. */
void bench_document(int64_t number, int64_t generation, struct slu_buffer *out);
size_t bench_key(int64_t number, char ret_key[64]);

/* A batch whose only output is the status of a running sandbox, number 0; the caller frees it. */
struct slu_batch *bench_running(void);

/* The same status for another sandbox: the ids are of one length. */
void bench_rename(struct slu_output *status, int64_t number);

/* One instance "local", whose resources are looked at once a day: no look disturbs a measurement.
 */
const struct slu_provider_instance *bench_instance(void);
struct slu_engine_config bench_config(int shard, int shard_count);

#endif
