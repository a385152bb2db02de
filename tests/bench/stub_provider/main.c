/* SPDX-License-Identifier: Apache-2.0 */
/* A stub provider for benches and fault tests: it speaks the part of the E2B API that Sluice uses,
 * from memory, as fast as it can, and misbehaves on demand. It runs no sandboxes and is no provider
 * type of Sluice.
 *
 * Prints `listening http://127.0.0.1:<port>` when it is ready. PUT /stub/switches?lose=50&… changes
 * the switches; GET /stub/counters tells what happened. */
#include "routes.h"
#include "slu/base/memory.h"

#include <microhttpd.h>
#include <uv.h>

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    BODY_MAX = 1024 * 1024
};

struct server {
    struct stub stub;
    uv_loop_t *loop;
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    uv_timer_t timer;
};

struct visit {
    struct server *server;
    struct MHD_Connection *connection;
    struct slu_buffer body;
    struct stub_answer answer;
    bool answered; /* `answer` holds what to say. */
    uv_timer_t delay;
};

static int64_t
wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_timer(uv_timer_t *timer);

/* Runs what is ready, and comes back when the daemon says so: it is edge-triggered inside. */
static void
run_daemon(struct server *server)
{
    MHD_run(server->daemon);
    MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
    if (MHD_get_timeout(server->daemon, &timeout_ms) == MHD_YES)
        uv_timer_start(&server->timer, on_timer, timeout_ms, 0);
    else
        uv_timer_stop(&server->timer);
}

static void
on_timer(uv_timer_t *timer)
{
    run_daemon(timer->loop->data);
}

static void
on_readable(uv_poll_t *poll, int status, int events)
{
    (void) status;
    (void) events;
    run_daemon(poll->loop->data);
}

static void
free_visit(uv_handle_t *handle)
{
    struct visit *visit = handle->data;
    slu_buffer_done(&visit->body);
    slu_buffer_done(&visit->answer.body);
    slu_free_ptr(&visit);
}

static void
on_completed(void *context,
             struct MHD_Connection *connection,
             void **request,
             enum MHD_RequestTerminationCode code)
{
    (void) context;
    (void) connection;
    (void) code;
    struct visit *visit = *request;
    if (visit)
        uv_close((uv_handle_t *) &visit->delay, free_visit);
    *request = NULL;
}

static enum MHD_Result
set_switch(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void) kind;
    struct server *server = context;
    stub_switch_set(&server->stub.switches, name, value ? value : "0");
    return MHD_YES;
}

static enum MHD_Result
send_answer(struct visit *visit)
{
    struct stub_answer *answer = &visit->answer;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        answer->body.size, answer->body.data, MHD_RESPMEM_MUST_COPY);
    char number[24];
    MHD_add_response_header(response, "Content-Type", answer->content_type);
    if (answer->cursor[0] != '\0')
        MHD_add_response_header(response, "X-Next-Token", answer->cursor);
    if (answer->retry_after_s > 0) {
        snprintf(number, sizeof(number), "%lld", (long long) answer->retry_after_s);
        MHD_add_response_header(response, "Retry-After", number);
    }
    enum MHD_Result result =
        MHD_queue_response(visit->connection, (unsigned) answer->status, response);
    MHD_destroy_response(response);
    return result;
}

static void
on_delay(uv_timer_t *timer)
{
    struct visit *visit = timer->data;
    MHD_resume_connection(visit->connection);
    run_daemon(visit->server);
}

static const char *
header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static const char *
argument(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result
decide(struct visit *visit, const char *path, const char *method)
{
    struct server *server = visit->server;
    struct MHD_Connection *connection = visit->connection;
    if (strcmp(path, "/stub/switches") == 0)
        MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, set_switch, server);

    const struct stub_request request = {
        .method = method,
        .path = strcmp(path, "/stub/switches") == 0 ? "/stub/counters" : path,
        .metadata_filter = argument(connection, "metadata"),
        .cursor = argument(connection, "nextToken"),
        .idempotency_key = header(connection, "idempotency-key"),
        .cluster = header(connection, "slu-cluster"),
        .shard = header(connection, "slu-shard"),
        .epoch = header(connection, "slu-epoch"),
        .body = visit->body.data ? visit->body.data : "",
        .body_size = visit->body.size,
    };
    stub_answer(&server->stub, &request, wall_ms(), &visit->answer);
    visit->answered = true;
    if (visit->answer.end == STUB_DROP)
        return MHD_NO;
    if (visit->answer.end == STUB_ANSWER && visit->answer.delay_ms == 0)
        return send_answer(visit);
    const uint64_t hang_ms = 3600000;
    MHD_suspend_connection(connection);
    uv_timer_start(&visit->delay, on_delay,
                   visit->answer.end == STUB_HANG ? hang_ms : (uint64_t) visit->answer.delay_ms, 0);
    return MHD_YES;
}

static enum MHD_Result // NOLINTNEXTLINE(readability-function-size): the library's parameters.
on_request(void *context,
           struct MHD_Connection *connection,
           const char *path,
           const char *method,
           const char *version,
           const char *upload,
           size_t *upload_size,
           void **request)
{
    (void) version;
    struct server *server = context;
    struct visit *visit = *request;
    if (!visit) {
        visit = slu_alloc(sizeof(*visit));
        visit->server = server;
        visit->connection = connection;
        uv_timer_init(server->loop, &visit->delay);
        visit->delay.data = visit;
        *request = visit;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        if (visit->body.size + *upload_size > BODY_MAX)
            return MHD_NO;
        slu_buffer_append(&visit->body, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    return visit->answered ? send_answer(visit) : decide(visit, path, method);
}

static int
listen_on(struct server *server, int port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t) port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    server->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, (uint16_t) port,
                                      NULL, NULL, on_request, server, MHD_OPTION_SOCK_ADDR,
                                      &address, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
                                      MHD_OPTION_CONNECTION_LIMIT, 4096U, MHD_OPTION_END);
    if (!server->daemon) {
        fprintf(stderr, "stub_provider: cannot listen on 127.0.0.1:%d\n", port);
        return -1;
    }
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    printf("listening http://127.0.0.1:%u\n", (unsigned) info->port);
    fflush(stdout);
    return 0;
}

static int
read_arguments(struct server *server, int argc, char **argv)
{
    int port = 0;
    for (int i = 1; i < argc; i += 2) {
        const char *name = strncmp(argv[i], "--", 2) == 0 ? argv[i] + 2 : "";
        if (i + 1 == argc || name[0] == '\0')
            goto usage;
        if (strcmp(name, "port") == 0)
            port = (int) strtol(argv[i + 1], NULL, 10);
        else if (strcmp(name, "seed") == 0)
            server->stub.random.state = strtoull(argv[i + 1], NULL, 10);
        else if (!stub_switch_set(&server->stub.switches, name, argv[i + 1]))
            goto usage;
    }
    return port;

usage:
    printf("stub_provider: a stub that speaks a part of the E2B API from memory\n\n"
           "  --port             N  0 (default): any free one\n"
           "  --seed             N  of the chances below\n");
    stub_switches_help();
    return -1;
}

int
main(int argc, char **argv)
{
    static struct server server;
    const int port = read_arguments(&server, argc, argv);
    if (port < 0)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    server.loop = uv_default_loop();
    server.loop->data = &server;
    server.stub.world = stub_world_new();
    if (listen_on(&server, port))
        return 1;

    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server.daemon, MHD_DAEMON_INFO_EPOLL_FD);
    uv_timer_init(server.loop, &server.timer);
    uv_poll_init(server.loop, &server.poll, info->epoll_fd);
    uv_poll_start(&server.poll, UV_READABLE, on_readable);
    return uv_run(server.loop, UV_RUN_DEFAULT);
}
