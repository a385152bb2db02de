/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that happens in a run, line by line: a running hash of all of it, which tells two runs
 * apart, and the last lines in words for whoever reads a failure. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "slu/base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    SIM_TRACE_LINES = 240,
    SIM_TRACE_LINE_MAX = 240,
};

struct sim_trace {
    uint64_t hash;
    uint64_t count;
    bool print; /* Every line at once, to standard output. */
    char (*lines)[SIM_TRACE_LINE_MAX];
};

void sim_trace_init(struct sim_trace *trace, bool print);
void sim_trace_done(struct sim_trace *trace);
void sim_trace_line(struct sim_trace *trace, int64_t now_ms, const char *format, ...)
    SLU_PRINTF(3, 4);

/* Into the hash alone: the bytes of what was written. */
void sim_trace_bytes(struct sim_trace *trace, const void *bytes, size_t size);
void sim_trace_tail(const struct sim_trace *trace, FILE *out);

#endif
