/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for Prometheus. Names are controller-runtime's where the thing is the same. Only the
 * loop's thread touches them. */
#ifndef SLU_RECONCILER_METRICS_H
#define SLU_RECONCILER_METRICS_H

#include "slu/base/buffer.h"
#include "slu/engine/engine.h"
#include "slu/model/call.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SLU_HISTOGRAM_BUCKETS = 16,
    SLU_METRICS_PROVIDERS = 32,
    SLU_ALARMS_MAX = 16,
};

struct slu_histogram {
    int64_t counts[SLU_HISTOGRAM_BUCKETS + 1]; /* The last: above all bounds. */
    int64_t sum_ms;
};

void slu_histogram_add(struct slu_histogram *histogram, int64_t ms);

struct slu_alarm_count {
    const char *reason; /* A literal. */
    int64_t count;
};

struct slu_metrics {
    struct slu_histogram queued; /* Call decided → first byte. */
    struct slu_histogram commits;
    struct slu_histogram converge; /* Desired record → as wished. */
    struct slu_histogram calls[SLU_METRICS_PROVIDERS];
    int64_t outcomes[SLU_METRICS_PROVIDERS][SLU_ACTION_COUNT][SLU_OUTCOME_COUNT];
    int64_t claims, claims_failed, losses;
    int64_t views_applied, views_rewritten, views_stale, views_down;
    struct slu_engine_counters past; /* Of engines that are no more. */
    struct slu_alarm_count alarms[SLU_ALARMS_MAX];
};

struct slu_replica;

void slu_metrics_alarm(struct slu_metrics *metrics, const char *reason);
void slu_metrics_engine_ends(struct slu_metrics *metrics, const struct slu_engine *engine);
void slu_metrics_write(const struct slu_replica *replica, struct slu_buffer *out);

#endif
