/* SPDX-License-Identifier: Apache-2.0 */
/* Counters for GET /metrics. Gauges are counted when asked. */
#ifndef SLU_HOST_METRICS_H
#define SLU_HOST_METRICS_H

#include "slu/base/buffer.h"

#include <stdint.h>

struct slu_host;

struct slu_host_metrics {
    int64_t requests_by_class[6]; /* [2] is 2xx. */
    int64_t created;
    int64_t create_failures;
    int64_t create_ms_total;
    int64_t paused;
    int64_t resumed;
    int64_t deleted;
    int64_t lost; /* Ended without having been asked to. */
    int64_t commands;
    int64_t stale_epochs;
    int64_t restored;
};

void slu_host_metrics_write(const struct slu_host *host, struct slu_buffer *out);

#endif
