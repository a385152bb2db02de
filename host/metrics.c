/* SPDX-License-Identifier: Apache-2.0 */
/* The Prometheus page. */
#include "metrics.h"

#include "host.h"
#include "server.h"

static void
put(struct slu_buffer *out, const char *name, const char *type, const char *help, int64_t value)
{
    slu_buffer_printf(out,
                      "# HELP sluice_host_%s %s\n# TYPE sluice_host_%s %s\nsluice_host_%s %lld\n",
                      name, help, name, type, name, (long long) value);
}

void
slu_host_metrics_write(const struct slu_host *host, struct slu_buffer *out)
{
    const struct slu_host_metrics *metrics = &host->metrics;
    int64_t running = 0, paused = 0;
    for (const struct slu_host_sandbox *sandbox = host->sandboxes.first; sandbox;
         sandbox = sandbox->next) {
        running += sandbox->life == SLU_HOST_RUNNING;
        paused += sandbox->life == SLU_HOST_PAUSED;
    }

    slu_buffer_puts(out, "# HELP sluice_host_sandboxes Sandboxes by state.\n"
                         "# TYPE sluice_host_sandboxes gauge\n");
    slu_buffer_printf(out, "sluice_host_sandboxes{state=\"running\"} %lld\n", (long long) running);
    slu_buffer_printf(out, "sluice_host_sandboxes{state=\"paused\"} %lld\n", (long long) paused);
    slu_buffer_puts(out, "# HELP sluice_host_requests_total Answers by class of status.\n"
                         "# TYPE sluice_host_requests_total counter\n");
    for (int class = 1; class < 6; class ++)
        slu_buffer_printf(out, "sluice_host_requests_total{class=\"%dxx\"} %lld\n", class,
                          (long long) metrics->requests_by_class[class]);
    put(out, "connections", "gauge", "Open client connections.", slu_host_server_connections(host));
    put(out, "created_total", "counter", "Sandboxes created.", metrics->created);
    put(out, "create_failures_total", "counter", "Creates that failed.", metrics->create_failures);
    put(out, "create_milliseconds_total", "counter", "Time spent in creates that succeeded.",
        metrics->create_ms_total);
    put(out, "paused_total", "counter", "Pauses.", metrics->paused);
    put(out, "resumed_total", "counter", "Resumes.", metrics->resumed);
    put(out, "deleted_total", "counter", "Sandboxes deleted, for whatever reason.",
        metrics->deleted);
    put(out, "lost_total", "counter", "Sandboxes that ended by themselves.", metrics->lost);
    put(out, "restored_total", "counter", "Sandboxes taken up at start.", metrics->restored);
    put(out, "commands_total", "counter", "Commands asked for.", metrics->commands);
    put(out, "stale_epochs_total", "counter", "Calls refused for an old epoch.",
        metrics->stale_epochs);
}
