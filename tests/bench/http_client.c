/* SPDX-License-Identifier: Apache-2.0 */
/* How much one core of the HTTP client carries: POSTs with a small body against a server in this
 * process (its own thread), 64 at once, in CPU time of the client's thread. */
#include "slu/port/http_client.h"

#include "measure.h"
#include "slu/base/memory.h"

#include <microhttpd.h>
#include <uv.h>

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    REQUESTS = 30000,
    CONCURRENT = 64,
    BAR_PER_SECOND = 10000
};

struct run {
    uv_loop_t loop;
    struct slu_http_client *client;
    struct slu_http_queue *queue;
    struct slu_http_job *job;
    int port, submitted, answered, ended;
};

/* The parameters are libmicrohttpd's. */
/* NOLINTBEGIN(readability-function-size) */
static enum MHD_Result
answer_request(void *context,
               struct MHD_Connection *connection,
               const char *url,
               const char *method,
               const char *version,
               const char *upload,
               size_t *upload_size,
               void **state)
{
    (void) url;
    (void) method;
    (void) version;
    (void) upload;
    static int seen;
    if (!*state) {
        *state = &seen;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        *upload_size = 0;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, context);
}

/* NOLINTEND(readability-function-size) */

static void take_end(void *context, const struct slu_http_response *response);

static void
submit(struct run *run)
{
    struct slu_http_job *job = run->job;
    job->request = (struct slu_http_request){.method = "POST", .timeout_ms = 10000};
    slu_buffer_printf(&job->request.url, "http://127.0.0.1:%d/sandboxes", run->port);
    slu_buffer_puts(&job->request.body, "{\"templateID\":\"base\",\"timeout\":1200}");
    slu_http_header_add(&job->request, "Content-Type", "application/json");
    slu_http_header_add(&job->request, "X-API-Key", "e2b_0123456789abcdef");
    job->tenant = "acme";
    job->done = take_end;
    job->context = run;
    run->submitted++;
    slu_http_submit(run->queue, job);
}

static void
take_end(void *context, const struct slu_http_response *response)
{
    struct run *run = context;
    run->ended++;
    run->answered += response->end == SLU_HTTP_ANSWERED && response->status == 200;
    if (run->submitted < REQUESTS)
        submit(run);
    else if (run->ended == REQUESTS)
        slu_http_client_close(run->client, NULL, NULL);
}

/* This thread's alone: the server's part is not the client's. */
static double
thread_cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

int
main(void)
{
    signal(SIGPIPE, SIG_IGN);
    static char body[256];
    memset(body, 'x', sizeof(body));
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof(body), body, MHD_RESPMEM_PERSISTENT);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD, 0, NULL, NULL, answer_request, response,
                         MHD_OPTION_SOCK_ADDR, (struct sockaddr *) &address, MHD_OPTION_END);
    if (!daemon)
        return 1;

    struct run run = {.port = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port,
                      .job = slu_alloc(sizeof(*run.job))};
    struct slu_error error;
    uv_loop_init(&run.loop);
    const struct slu_http_client_settings settings = {.user_agent = "throughput", .ca_file = ""};
    if (slu_http_client_open(&run.loop, &settings, &run.client, &error) != SLU_OK)
        return 1;
    run.queue = slu_http_queue_open(run.client, "throughput", CONCURRENT, 0);
    const double cpu_from_s = thread_cpu_seconds();
    const int64_t from_us = bench_now_us();
    for (int i = 0; i < CONCURRENT; i++)
        submit(&run);
    uv_run(&run.loop, UV_RUN_DEFAULT);
    const double cpu_s = thread_cpu_seconds() - cpu_from_s;
    const double wall_s = (double) (bench_now_us() - from_us) / 1e6;

    uv_loop_close(&run.loop);
    MHD_stop_daemon(daemon);
    MHD_destroy_response(response);
    free(run.job);
    bench_line("http client", run.answered / cpu_s, "POST/s and core", BENCH_AT_LEAST,
               BAR_PER_SECOND);
    bench_line("http client, both threads", run.answered / wall_s, "POST/s", BENCH_REPORT, 0);
    return run.answered == REQUESTS && bench_all_ok() ? 0 : 1;
}
