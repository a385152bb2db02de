/* SPDX-License-Identifier: Apache-2.0 */
/* sluice-reconciler: wiring, in order. Everything that can be missing at start (Kafka, Redis,
 * providers) is waited for while the replica already answers /healthz and /readyz. */
#include "drain.h"
#include "http_server.h"
#include "kafka_log.h"
#include "providers.h"
#include "slu/base/log.h"
#include "slu/base/memory.h"
#include "watchdog.h"

#include <sodium.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    TICK_MS = 200,
    PROBE_TICKS = 10,
    EXIT_SETTINGS = 2
};

/* Several times a second: tells the log and the watchdog that the loop runs, and says once when the
 * store comes or goes. */
static void
on_tick(uv_timer_t *timer)
{
    struct slu_replica *replica = timer->data;
    slu_watchdog_tick(replica->watchdog);
    if (replica->log)
        slu_shards_tick(replica->log);
    if (replica->ticks++ % PROBE_TICKS == 0 && replica->stage == SLU_STAGE_RUNNING)
        slu_providers_probe(replica);

    const bool up = slu_store_up(replica->store);
    if (up && !replica->store_was_up)
        SLU_LOG(INFO, "redis_up", SLU_TEXT("url", replica->settings.redis_url));
    else if (!up && (replica->store_was_up || replica->ticks == PROBE_TICKS))
        SLU_LOG(WARN, "redis_down", SLU_TEXT("message", slu_store_trouble(replica->store)));
    replica->store_was_up = up;
}

static enum slu_status
open_parts(struct slu_replica *replica, struct slu_error *reterr)
{
    const struct slu_settings *settings = &replica->settings;
    const struct slu_store_settings store = {
        .url = settings->redis_url,
        .password_file = settings->redis_password_file,
        .key_prefix = settings->redis_key_prefix,
    };
    const struct slu_http_client_settings http = {
        .user_agent = "sluice-reconciler/" SLU_VERSION,
        .ca_file = settings->ca_file,
    };
    enum slu_status status = slu_store_open(&replica->loop, &store, &replica->store, reterr);
    if (!status)
        status = slu_http_client_open(&replica->loop, &http, &replica->http, reterr);
    if (!status)
        status = slu_providers_open(replica, reterr);
    if (!status)
        status = slu_http_server_start(replica, reterr);
    return status;
}

static void
start_handles(struct slu_replica *replica)
{
    uv_idle_init(&replica->loop, &replica->busy);
    replica->busy.data = replica;
    uv_timer_init(&replica->loop, &replica->tick);
    replica->tick.data = replica;
    replica->watchdog = slu_watchdog_start();
    uv_timer_start(&replica->tick, on_tick, 0, TICK_MS);
}

static int
run(struct slu_replica *replica)
{
    struct slu_error error = {0};
    uv_loop_init(&replica->loop);
    if (open_parts(replica, &error)) {
        SLU_LOG(ERROR, "cannot_start", SLU_TEXT("message", error.message));
        return EXIT_SETTINGS;
    }
    if (replica->provider_count == 0)
        SLU_LOG(WARN, "no_providers",
                SLU_TEXT("message", "no provider instance is configured: --config names them"));
    start_handles(replica);
    slu_drain_watch(replica);
    slu_kafka_log_start(replica);
    uv_run(&replica->loop, UV_RUN_DEFAULT);
    slu_watchdog_stop(replica->watchdog);
    slu_free_ptr(&replica->shards);
    uv_loop_close(&replica->loop);
    SLU_LOG(INFO, "stopped", SLU_INT("status", replica->exit_status));
    return replica->exit_status;
}

int
main(int argc, char **argv)
{
    struct slu_error error = {0};
    bool answered = false;
    signal(SIGPIPE, SIG_IGN);
    if (sodium_init() < 0)
        return EXIT_FAILURE;

    struct slu_replica *replica = slu_alloc(sizeof(*replica));
    int status = EXIT_SUCCESS;
    if (slu_settings_read(argc, argv, environ, &replica->settings, &answered, &error)) {
        fprintf(stderr, "sluice-reconciler: %s\n", error.message);
        status = EXIT_SETTINGS;
    } else if (!answered) {
        enum slu_log_level level = SLU_LOG_INFO;
        slu_log_level_parse(replica->settings.log_level, &level);
        slu_log_setup("sluice-reconciler", level, replica->settings.log_json);
        slu_settings_log(&replica->settings);
        status = run(replica);
    }
    slu_settings_done(&replica->settings);
    slu_free_ptr(&replica);
    return status;
}
