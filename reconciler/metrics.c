/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics.h"

#include "replica.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

static const int64_t bounds_ms[SLU_HISTOGRAM_BUCKETS] = {
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000, 600000};

void
slu_histogram_add(struct slu_histogram *histogram, int64_t ms)
{
    int bucket = 0;
    while (bucket < SLU_HISTOGRAM_BUCKETS && ms > bounds_ms[bucket])
        bucket++;
    histogram->counts[bucket]++;
    histogram->sum_ms += ms > 0 ? ms : 0;
}

void
slu_metrics_alarm(struct slu_metrics *metrics, const char *reason)
{
    for (int i = 0; i < SLU_ALARMS_MAX; i++) {
        struct slu_alarm_count *alarm = &metrics->alarms[i];
        if (!alarm->reason)
            alarm->reason = reason;
        if (strcmp(alarm->reason, reason) == 0) {
            alarm->count++;
            return;
        }
    }
}

static void
add_counters(struct slu_engine_counters *sum, const struct slu_engine *engine)
{
    struct slu_engine_counters one;
    slu_engine_counters(engine, &one);
    sum->admitted += one.admitted;
    sum->refused += one.refused;
    sum->repeated += one.repeated;
    sum->forwarded += one.forwarded;
    sum->deadlettered += one.deadlettered;
    sum->plans += one.plans;
    sum->facts += one.facts;
    sum->parked += one.parked;
    for (int i = 0; i < SLU_ACTION_COUNT; i++)
        sum->calls[i] += one.calls[i];
}

void
slu_metrics_engine_ends(struct slu_metrics *metrics, const struct slu_engine *engine)
{
    add_counters(&metrics->past, engine);
    metrics->past.parked = 0; /* That was a gauge. */
}

static void
head(struct slu_buffer *out, const char *name, const char *type, const char *help)
{
    slu_buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
number(struct slu_buffer *out, const char *name, const char *type, const char *help, int64_t value)
{
    head(out, name, type, help);
    slu_buffer_printf(out, "%s %" PRId64 "\n", name, value);
}

/* `labels` without braces; "" for none. */
static void
write_histogram(struct slu_buffer *out,
                const char *name,
                const char *labels,
                const struct slu_histogram *histogram)
{
    const char *comma = labels[0] ? "," : "";
    int64_t count = 0;
    for (int i = 0; i < SLU_HISTOGRAM_BUCKETS; i++) {
        count += histogram->counts[i];
        slu_buffer_printf(out, "%s_bucket{%s%sle=\"%g\"} %" PRId64 "\n", name, labels, comma,
                          (double) bounds_ms[i] / 1000, count);
    }
    count += histogram->counts[SLU_HISTOGRAM_BUCKETS];
    slu_buffer_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRId64 "\n", name, labels, comma, count);
    const char *open = labels[0] ? "{" : "", *close = labels[0] ? "}" : "";
    slu_buffer_printf(out, "%s_sum%s%s%s %g\n%s_count%s%s%s %" PRId64 "\n", name, open, labels,
                      close, (double) histogram->sum_ms / 1000, name, open, labels, close, count);
}

static void
write_calls(const struct slu_replica *replica, struct slu_buffer *out)
{
    head(out, "sluice_provider_calls_total", "counter", "Provider calls by how they ended.");
    for (int p = 0; p < replica->provider_count; p++) {
        for (int a = 0; a < SLU_ACTION_COUNT; a++) {
            for (int o = 0; o < SLU_OUTCOME_COUNT; o++) {
                const int64_t count = replica->metrics.outcomes[p][a][o];
                if (count == 0)
                    continue;
                slu_buffer_printf(out,
                                  "sluice_provider_calls_total{provider=\"%s\",operation=\"%s\","
                                  "result=\"%s\"} %" PRId64 "\n",
                                  replica->providers[p].instance->name, slu_action_names[a],
                                  slu_outcome_names[o], count);
            }
        }
    }
    head(out, "sluice_provider_call_seconds", "histogram", "First byte sent to the call's end.");
    for (int p = 0; p < replica->provider_count; p++) {
        SLU_AUTO_BUFFER struct slu_buffer labels = {0};
        slu_buffer_printf(&labels, "provider=\"%s\"", replica->providers[p].instance->name);
        write_histogram(out, "sluice_provider_call_seconds", labels.data,
                        &replica->metrics.calls[p]);
    }
}

/* A call that ended as wished counts as success, as controller-runtime counts a reconcile. */
static void
write_reconciles(const struct slu_replica *replica, struct slu_buffer *out)
{
    int64_t success = 0, error = 0, later = 0;
    for (int p = 0; p < replica->provider_count; p++) {
        for (int a = 0; a < SLU_ACTION_COUNT; a++) {
            const int64_t *outcomes = replica->metrics.outcomes[p][a];
            success += outcomes[SLU_OUTCOME_DONE] + outcomes[SLU_OUTCOME_GONE];
            later += outcomes[SLU_OUTCOME_BUSY] + outcomes[SLU_OUTCOME_CAPACITY] +
                     outcomes[SLU_OUTCOME_NEVER_SENT];
            error += outcomes[SLU_OUTCOME_AMBIGUOUS] + outcomes[SLU_OUTCOME_PERMANENT] +
                     outcomes[SLU_OUTCOME_REJECTED];
        }
    }
    head(out, "controller_runtime_reconcile_total", "counter", "Calls that ended, by result.");
    static const char row[] =
        "controller_runtime_reconcile_total{controller=\"sandbox\",result=\"%s\"} %" PRId64 "\n";
    slu_buffer_printf(out, row, "success", success);
    slu_buffer_printf(out, row, "error", error);
    slu_buffer_printf(out, row, "requeue_after", later);
}

static void
write_queues(const struct slu_replica *replica, struct slu_buffer *out)
{
    int64_t waiting = 0, in_flight = 0, workers = 0;
    for (int p = 0; p < replica->provider_count; p++) {
        struct slu_http_queue_counts counts;
        slu_http_queue_counts(replica->providers[p].queue, &counts);
        waiting += counts.waiting + counts.waiting_low;
        in_flight += counts.in_flight;
        workers += replica->providers[p].instance->concurrent;
    }
    head(out, "workqueue_depth", "gauge", "Calls that wait for their provider.");
    slu_buffer_printf(out, "workqueue_depth{name=\"sandbox\"} %" PRId64 "\n", waiting);
    head(out, "workqueue_queue_duration_seconds", "histogram", "How long calls waited.");
    write_histogram(out, "workqueue_queue_duration_seconds", "name=\"sandbox\"",
                    &replica->metrics.queued);
    head(out, "controller_runtime_active_workers", "gauge", "Calls open now.");
    slu_buffer_printf(
        out, "controller_runtime_active_workers{controller=\"sandbox\"} %" PRId64 "\n", in_flight);
    head(out, "controller_runtime_max_concurrent_reconciles", "gauge", "Calls open at most.");
    slu_buffer_printf(
        out, "controller_runtime_max_concurrent_reconciles{controller=\"sandbox\"} %" PRId64 "\n",
        workers);
}

static void
write_shards(const struct slu_replica *replica, struct slu_buffer *out)
{
    head(out, "sluice_shard_leader", "gauge", "1 where this replica leads the shard.");
    for (int i = 0; i < replica->shard_count; i++)
        slu_buffer_printf(out, "sluice_shard_leader{shard=\"%d\"} %d\n", i,
                          replica->shards[i].state == SLU_SHARD_IS_ACTIVE);
    head(out, "sluice_resources", "gauge", "Resources held, by shard.");
    for (int i = 0; i < replica->shard_count; i++) {
        if (replica->shards[i].state == SLU_SHARD_IS_ACTIVE)
            slu_buffer_printf(out, "sluice_resources{shard=\"%d\"} %zu\n", i,
                              slu_engine_resource_count(replica->shards[i].engine));
    }
}

static void
write_engines(const struct slu_replica *replica, struct slu_buffer *out)
{
    struct slu_engine_counters sum = replica->metrics.past;
    for (int i = 0; i < replica->shard_count; i++) {
        if (replica->shards[i].state == SLU_SHARD_IS_ACTIVE)
            add_counters(&sum, replica->shards[i].engine);
    }
    head(out, "sluice_records_total", "counter", "Desired records by what became of them.");
    static const char row[] = "sluice_records_total{judgement=\"%s\"} %" PRId64 "\n";
    slu_buffer_printf(out, row, "accepted", sum.admitted);
    slu_buffer_printf(out, row, "refused", sum.refused);
    slu_buffer_printf(out, row, "repeated", sum.repeated);
    slu_buffer_printf(out, row, "forwarded", sum.forwarded);
    slu_buffer_printf(out, row, "deadlettered", sum.deadlettered);
    number(out, "sluice_plans_total", "counter", "Plans made.", sum.plans);
    number(out, "sluice_facts_total", "counter", "Facts taken in.", sum.facts);
    number(out, "sluice_parked", "gauge", "Resources that wait for help.", sum.parked);
}

static void
write_process(struct slu_buffer *out)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    head(out, "process_cpu_seconds_total", "counter", "User and system time.");
    slu_buffer_printf(out, "process_cpu_seconds_total %.3f\n",
                      (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                          (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    size_t resident = 0;
    if (uv_resident_set_memory(&resident) == 0)
        number(out, "process_resident_memory_bytes", "gauge", "Memory in use.", (int64_t) resident);
}

static void
write_counts(const struct slu_metrics *metrics, struct slu_buffer *out)
{
    number(out, "sluice_claims_total", "counter", "Shards taken over.", metrics->claims);
    number(out, "sluice_claims_failed_total", "counter", "Claims that failed.",
           metrics->claims_failed);
    number(out, "sluice_shards_lost_total", "counter", "Shards lost.", metrics->losses);
    head(out, "sluice_views_total", "counter", "Writes to the store's views by result.");
    static const char row[] = "sluice_views_total{result=\"%s\"} %" PRId64 "\n";
    slu_buffer_printf(out, row, "applied", metrics->views_applied);
    slu_buffer_printf(out, row, "rewritten", metrics->views_rewritten);
    slu_buffer_printf(out, row, "stale", metrics->views_stale);
    slu_buffer_printf(out, row, "down", metrics->views_down);
    head(out, "sluice_alarm", "gauge", "How often each alarm rang: a person should look.");
    for (int i = 0; i < SLU_ALARMS_MAX && metrics->alarms[i].reason; i++)
        slu_buffer_printf(out, "sluice_alarm{reason=\"%s\"} %" PRId64 "\n",
                          metrics->alarms[i].reason, metrics->alarms[i].count);
}

void
slu_metrics_write(const struct slu_replica *replica, struct slu_buffer *out)
{
    write_reconciles(replica, out);
    write_queues(replica, out);
    write_calls(replica, out);
    head(out, "sluice_converge_seconds", "histogram", "Desired record appended to wish met.");
    write_histogram(out, "sluice_converge_seconds", "", &replica->metrics.converge);
    head(out, "sluice_commit_seconds", "histogram", "Transaction begun to committed.");
    write_histogram(out, "sluice_commit_seconds", "", &replica->metrics.commits);
    write_shards(replica, out);
    write_engines(replica, out);
    write_counts(&replica->metrics, out);
    write_process(out);
}
