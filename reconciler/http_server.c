/* SPDX-License-Identifier: Apache-2.0 */
#include "http_server.h"

#include "ready.h"
#include "slu/base/log.h"
#include "slu/base/memory.h"

#include <microhttpd.h>

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    CONNECTIONS_MAX = 256,
    CONNECTION_MEMORY_MAX = 32 * 1024, /* Bounds the headers. */
    CONNECTION_IDLE_S = 30,
};

struct slu_http_server {
    struct slu_replica *replica;
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    uv_timer_t timer;
    int closing; /* Handles left. */
};

/* --- the loop
 * ---------------------------------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer);

/* Runs what is ready and comes back when the daemon says so: without the timer an edge-triggered
 * event that it left for later would be lost. */
static void
run_daemon(struct slu_http_server *server)
{
    MHD_run(server->daemon);
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    if (MHD_get_timeout(server->daemon, &wait_ms) == MHD_YES)
        uv_timer_start(&server->timer, on_timer, wait_ms, 0);
    else
        uv_timer_stop(&server->timer);
}

static void
on_timer(uv_timer_t *timer)
{
    run_daemon(timer->data);
}

static void
on_readable(uv_poll_t *poll, int status, int events)
{
    (void) status;
    (void) events;
    run_daemon(poll->data);
}

/* --- answers
 * ----------------------------------------------------------------------------------------- */

static enum MHD_Result
answer(struct MHD_Connection *connection,
       unsigned status,
       const char *type,
       struct slu_buffer *body)
{
    const size_t size = body->size;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, slu_buffer_take(body), MHD_RESPMEM_MUST_FREE);
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result
route(struct slu_replica *replica, struct MHD_Connection *connection, const char *path)
{
    SLU_AUTO_BUFFER struct slu_buffer body = {0};
    if (strcmp(path, "/metrics") == 0) {
        slu_metrics_write(replica, &body);
        return answer(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", &body);
    }
    if (strcmp(path, "/healthz") == 0) { /* The loop answers: that is what it says. */
        slu_buffer_puts(&body, "{\"ok\":true}\n");
        return answer(connection, MHD_HTTP_OK, "application/json", &body);
    }
    if (strcmp(path, "/readyz") == 0) {
        const bool ready = slu_ready_write(replica, &body);
        return answer(connection, ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                      "application/json", &body);
    }
    slu_buffer_puts(
        &body,
        "{\"code\":\"NOT_FOUND\",\"message\":\"there are /metrics, /healthz and /readyz\"}\n");
    return answer(connection, MHD_HTTP_NOT_FOUND, "application/json", &body);
}

static enum MHD_Result // NOLINTNEXTLINE(readability-function-size): the library's parameters.
on_request(void *context,
           struct MHD_Connection *connection,
           const char *path,
           const char *method,
           const char *version,
           const char *upload,
           size_t *upload_size, // NOLINT(readability-non-const-parameter)
           void **request)
{
    (void) version;
    (void) upload;
    (void) upload_size;
    static int seen;
    struct slu_http_server *server = context;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        return MHD_NO; /* Nothing here takes a body: the connection ends. */
    if (!*request) {
        *request = &seen;
        return MHD_YES;
    }
    return route(server->replica, connection, path);
}

/* --- life
 * ---------------------------------------------------------------------------------------------- */

/* "127.0.0.1:0", "[::1]:8080", "localhost:80". */
static enum slu_status
split(
    const char *text, char *ret_host, size_t size, const char **ret_port, struct slu_error *reterr)
{
    const char *colon = strrchr(text, ':');
    const size_t length = colon ? (size_t) (colon - text) : 0;
    if (!colon || length == 0 || length >= size || colon[1] == '\0')
        return slu_fail(reterr, SLU_INVALID, "listen: \"%s\" is not host:port", text);
    const bool bracketed = text[0] == '[' && text[length - 1] == ']';
    snprintf(ret_host, size, "%.*s", (int) length - 2 * bracketed, text + bracketed);
    *ret_port = colon + 1;
    return SLU_OK;
}

static enum slu_status
start_daemon(struct slu_http_server *server,
             const char *listen_on,
             const struct addrinfo *address,
             struct slu_error *reterr)
{
    const unsigned family = address->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0;
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | family, 0, NULL, NULL, on_request, server, MHD_OPTION_SOCK_ADDR,
        address->ai_addr, MHD_OPTION_CONNECTION_LIMIT, (unsigned) CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) CONNECTION_MEMORY_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) CONNECTION_IDLE_S, MHD_OPTION_END);
    if (!server->daemon)
        return slu_fail(reterr, SLU_FATAL, "listen: cannot listen on %s; is the port taken?",
                        listen_on);
    return SLU_OK;
}

static enum slu_status
listen_on(struct slu_http_server *server, const char *text, struct slu_error *reterr)
{
    char host[128];
    const char *port = NULL;
    enum slu_status status = split(text, host, sizeof(host), &port, reterr);
    if (status)
        return status;
    struct addrinfo *addresses = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    const int trouble = getaddrinfo(host, port, &hints, &addresses);
    if (trouble)
        return slu_fail(reterr, SLU_INVALID, "listen: %s: %s", text, gai_strerror(trouble));
    status = start_daemon(server, text, addresses, reterr);
    freeaddrinfo(addresses);
    if (status)
        return status;

    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    const char *brackets = strchr(host, ':') ? "[]" : "";
    snprintf(server->replica->url, sizeof(server->replica->url), "http://%.1s%s%.1s:%u", brackets,
             host, brackets[0] ? brackets + 1 : "", (unsigned) info->port);
    return SLU_OK;
}

enum slu_status
slu_http_server_start(struct slu_replica *replica, struct slu_error *reterr)
{
    struct slu_http_server *server = slu_alloc(sizeof(*server));
    server->replica = replica;
    enum slu_status status = listen_on(server, replica->settings.listen, reterr);
    if (status) {
        free(server);
        return status;
    }
    SLU_LOG(INFO, "listening", SLU_TEXT("url", replica->url));
    if (replica->settings.advertise[0] != '\0')
        snprintf(replica->url, sizeof(replica->url), "%s", replica->settings.advertise);

    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    uv_timer_init(&replica->loop, &server->timer);
    server->timer.data = server;
    uv_poll_init(&replica->loop, &server->poll, info->epoll_fd);
    server->poll.data = server;
    uv_poll_start(&server->poll, UV_READABLE, on_readable);
    replica->server = server;
    return SLU_OK;
}

static void
on_closed(uv_handle_t *handle)
{
    struct slu_http_server *server = handle->data;
    if (--server->closing > 0)
        return;
    MHD_stop_daemon(server->daemon);
    free(server);
}

void
slu_http_server_stop(struct slu_replica *replica)
{
    struct slu_http_server *server = slu_steal(replica->server);
    if (!server)
        return;
    server->closing = 2;
    uv_close((uv_handle_t *) &server->poll, on_closed);
    uv_close((uv_handle_t *) &server->timer, on_closed);
}
