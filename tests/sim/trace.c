/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of lines and a chained hash. */
#include "trace.h"

#include "slu/base/hash.h"
#include "slu/base/memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void
sim_trace_init(struct sim_trace *trace, bool print)
{
    *trace = (struct sim_trace){.print = print};
    trace->lines = slu_alloc(sizeof(*trace->lines) * SIM_TRACE_LINES);
}

void
sim_trace_done(struct sim_trace *trace)
{
    free(trace->lines);
    trace->lines = NULL;
}

void
sim_trace_bytes(struct sim_trace *trace, const void *bytes, size_t size)
{
    const uint64_t links[2] = {trace->hash, slu_hash64(bytes, size)};
    trace->hash = slu_hash64(links, sizeof(links));
}

void
sim_trace_line(struct sim_trace *trace, int64_t now_ms, const char *format, ...)
{
    char *line = trace->lines[trace->count++ % SIM_TRACE_LINES];
    const int used = snprintf(line, SIM_TRACE_LINE_MAX, "%7lld.%03lld  ",
                              (long long) (now_ms / 1000), (long long) (now_ms % 1000));
    va_list arguments;
    va_start(arguments, format);
    (void) vsnprintf(line + used, SIM_TRACE_LINE_MAX - (size_t) used, format, arguments);
    va_end(arguments);
    sim_trace_bytes(trace, line, strlen(line));
    if (trace->print)
        (void) puts(line);
}

void
sim_trace_tail(const struct sim_trace *trace, FILE *out)
{
    const uint64_t kept = trace->count < SIM_TRACE_LINES ? trace->count : SIM_TRACE_LINES;
    for (uint64_t i = trace->count - kept; i < trace->count; i++)
        (void) fprintf(out, "%s\n", trace->lines[i % SIM_TRACE_LINES]);
}
