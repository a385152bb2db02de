/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a request: target → route → fence → body → handler → answer. libmicrohttpd runs in
 * external mode (its own epoll thread stalls when exactly 128 sockets are ready at once); after
 * every turn its next timeout is asked for again, without which it can hang. */
#include "server.h"

#include "fence_gate.h"
#include "routes.h"
#include "slu/base/log.h"
#include "slu/base/memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 4096,
    CONNECTION_MEMORY = 64 * 1024, /* Bounds the headers; also the unit of uploads. */
    IDLE_SECONDS_MAX = 50,
    TARGET_MAX = 16 * 1024,
    DRAIN_MAX = 8 * 1024 * 1024,
};

struct slu_host_server {
    struct MHD_Daemon *daemon;
    uv_poll_t readable;
    uv_timer_t timer;
    uv_prepare_t before_poll;
    bool dirty; /* A connection was woken: run before sleeping. */
    struct slu_host_request *requests;
};

const char *
slu_host_request_header(const struct slu_host_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

void
slu_host_server_wake(struct slu_host *host, struct MHD_Connection *connection)
{
    MHD_resume_connection(connection);
    host->server->dirty = true;
}

void
slu_host_server_sleep(struct slu_host *host, struct MHD_Connection *connection)
{
    (void) host;
    MHD_suspend_connection(connection);
}

bool
slu_host_server_is_gone(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    char byte;
    const ssize_t got = recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

void
slu_host_respond(struct slu_host_request *request, unsigned status, struct MHD_Response *response)
{
    if (request->response) { /* Answered already: a bug in a route, but no reason to leak. */
        MHD_destroy_response(response);
        return;
    }
    const unsigned class = status / 100;
    if (class < SLU_COUNT(request->host->metrics.requests_by_class))
        request->host->metrics.requests_by_class[class]++;
    request->status = status;
    request->response = response;
    slu_host_fence_gate_release(request);
    if (request->suspended) {
        request->suspended = false;
        slu_host_server_wake(request->host, request->connection);
    }
}

void
slu_host_respond_text(struct slu_host_request *request,
                      unsigned status,
                      const char *type,
                      const char *text,
                      size_t size)
{
    void *copy = slu_memdup(text, size);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, copy, MHD_RESPMEM_MUST_FREE);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    slu_host_respond(request, status, response);
}

void
slu_host_respond_empty(struct slu_host_request *request, unsigned status)
{
    slu_host_respond(request, status,
                     MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT));
}

void
slu_host_respond_json(struct slu_host_request *request, unsigned status, json_t *body)
{
    char *text = json_dumps(body, JSON_COMPACT);
    slu_host_respond_text(request, status, "application/json", text, strlen(text));
    free(text);
    json_decref(body);
}

void
slu_host_respond_error(struct slu_host_request *request,
                       unsigned status,
                       const char *error_code,
                       const char *format,
                       ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);

    json_t *text = json_string(message);
    json_t *body = json_pack("{s:i, s:o}", "code", (int) status, "message",
                             text ? text : json_string("the message is no valid UTF-8"));
    if (error_code)
        json_object_set_new(body, "error_code", json_string(error_code));
    slu_host_respond_json(request, status, body);
}

/* The first thing libmicrohttpd tells of a request; what it returns becomes the request. */
static void *
begin_request(void *cls, const char *target, struct MHD_Connection *connection)
{
    struct slu_host *host = cls;
    struct slu_host_request *request = slu_alloc(sizeof(*request));
    request->host = host;
    request->connection = connection;
    request->target = slu_strdup(target);
    request->path_size = strcspn(request->target, "?");
    if (request->target[request->path_size] == '?')
        request->query = request->target + request->path_size + 1;

    request->next = host->server->requests;
    if (request->next)
        request->next->previous = request;
    host->server->requests = request;
    return request;
}

static void
end_request(void *cls,
            struct MHD_Connection *connection,
            void **request_cls,
            enum MHD_RequestTerminationCode how)
{
    (void) connection;
    (void) how;
    struct slu_host *host = cls;
    struct slu_host_request *request = *request_cls;
    if (!request)
        return;

    slu_host_fence_gate_release(request);
    if (request->next)
        request->next->previous = request->previous;
    if (request->previous)
        request->previous->next = request->next;
    else
        host->server->requests = request->next;

    if (request->drop_context)
        request->drop_context(request->context);
    if (request->response)
        MHD_destroy_response(request->response);
    slu_buffer_done(&request->body);
    slu_free_ptr(&request->target);
    slu_free_ptr(&request->id);
    slu_free_ptr(&request->sandbox_id);
    slu_free_ptr(&request);
    *request_cls = NULL;
}

struct slu_host_request *
slu_host_requests_first(struct slu_host *host)
{
    return host->server->requests;
}

static enum MHD_Result
queue_answer(struct slu_host_request *request)
{
    return MHD_queue_response(request->connection, request->status, request->response);
}

/* Headers are here, the body is not. */
static enum MHD_Result
take_headers(struct slu_host_request *request, const char *method)
{
    const char *sandbox_id = slu_host_request_header(request, "E2b-Sandbox-Id");
    const char *length = slu_host_request_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);

    request->sandbox_id = sandbox_id ? slu_strdup(sandbox_id) : NULL;
    if (strlen(request->target) > TARGET_MAX) {
        slu_host_respond_error(request, 414, NULL, "the request target is longer than %d bytes",
                               TARGET_MAX);
    } else if (slu_host_routes_find(request, method) && length &&
               strtoll(length, NULL, 10) > request->body_max) {
        slu_host_respond_error(request, 413, NULL, "a body of %s bytes is above the limit of %lld",
                               length, (long long) request->body_max);
    } else if (!request->response && request->route->prepare) {
        request->route->prepare(request);
    }

    /* A body of some size is read past an error, or its sender would never see the answer. */
    const bool too_much = request->response && length && strtoll(length, NULL, 10) > DRAIN_MAX;
    return too_much ? queue_answer(request) : MHD_YES;
}

static enum MHD_Result
take_body(struct slu_host_request *request, const char *bytes, size_t *size)
{
    const size_t got = *size;
    *size = 0;
    request->received += (int64_t) got;
    if (request->response) /* Refused: the rest is read and dropped, within reason. */
        return request->received > request->body_max + DRAIN_MAX ? MHD_NO : MHD_YES;

    if (request->received > request->body_max) {
        slu_host_respond_error(request, 413, NULL, "the body is above the limit of %lld bytes",
                               (long long) request->body_max);
    } else if (request->sink) {
        request->sink(request, bytes, got);
    } else {
        slu_buffer_append(&request->body, bytes, got);
    }
    return MHD_YES;
}

static enum MHD_Result // NOLINTNEXTLINE(readability-function-size): the library's parameters.
handle(void *cls,
       struct MHD_Connection *connection,
       const char *url,
       const char *method,
       const char *version,
       const char *upload_data,
       size_t *upload_data_size,
       void **request_cls)
{
    (void) cls;
    (void) connection;
    (void) url;
    (void) version;
    struct slu_host_request *request = *request_cls;

    if (!request->route && !request->response)
        return take_headers(request, method);
    if (*upload_data_size > 0)
        return take_body(request, upload_data, upload_data_size);
    if (!request->response && !request->routed) {
        request->routed = true;
        slu_host_fence_gate_enter(request);
    }
    if (request->response)
        return queue_answer(request);

    request->suspended = true;
    MHD_suspend_connection(request->connection);
    return MHD_YES;
}

static void
run(struct slu_host *host)
{
    struct slu_host_server *server = host->server;
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    server->dirty = false;
    MHD_run(server->daemon);
    if (MHD_get_timeout(server->daemon, &timeout_ms) == MHD_YES)
        uv_timer_start(&server->timer, server->timer.timer_cb, timeout_ms, 0);
    else
        uv_timer_stop(&server->timer);
}

static void
on_readable(uv_poll_t *handle_, int status, int events)
{
    (void) status;
    (void) events;
    run(handle_->data);
}

static void
on_timer(uv_timer_t *timer)
{
    run(timer->data);
}

static void
on_before_poll(uv_prepare_t *prepare)
{
    struct slu_host *host = prepare->data;
    if (host->server->dirty)
        run(host);
}

SLU_PRINTF(2, 0)

static void
log_library(void *cls, const char *format, va_list arguments)
{
    (void) cls;
    char text[512];
    vsnprintf(text, sizeof(text), format, arguments);
    text[strcspn(text, "\n")] = '\0';
    SLU_LOG(DEBUG, "http_library", SLU_TEXT("message", text));
}

/* "127.0.0.1:4980" or "[::1]:4980". Plain HTTP carries keys, so it stays on this machine. */
static enum slu_status
parse_listen(const char *text, struct sockaddr_storage *ret_address, struct slu_error *reterr)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    const long port = colon ? strtol(colon + 1, &end, 10) : -1;
    const size_t size = colon ? (size_t) (colon - text) : 0;
    if (!colon || port < 0 || port > 65535 || *end || end == colon + 1 || size >= sizeof(host))
        return slu_fail(reterr, SLU_INVALID, "--listen '%s' is no ADDRESS:PORT", text);

    const bool bracketed = text[0] == '[' && size > 2 && text[size - 1] == ']';
    snprintf(host, sizeof(host), "%.*s", (int) (bracketed ? size - 2 : size), text + bracketed);
    struct sockaddr_in *four = (struct sockaddr_in *) (void *) ret_address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *) (void *) ret_address;
    *ret_address = (struct sockaddr_storage){0};
    if (strcmp(host, "localhost") == 0)
        snprintf(host, sizeof(host), "127.0.0.1");
    if (inet_pton(AF_INET, host, &four->sin_addr) == 1 &&
        (ntohl(four->sin_addr.s_addr) >> 24) == 127) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t) port);
        return SLU_OK;
    }
    if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr)) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t) port);
        return SLU_OK;
    }
    return slu_fail(reterr, SLU_INVALID,
                    "--listen '%s' is no loopback address; sluice-host speaks plain HTTP, put a "
                    "proxy with TLS in front of it to reach it from elsewhere",
                    text);
}

enum slu_status
slu_host_server_start(struct slu_host *host, struct slu_error *reterr)
{
    struct sockaddr_storage address = {0};
    const enum slu_status status = parse_listen(host->config.listen, &address, reterr);
    if (status)
        return status;

    struct slu_host_server *server = slu_alloc(sizeof(*server));
    host->server = server;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    if (address.ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, handle, host, MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *) &address, MHD_OPTION_URI_LOG_CALLBACK,
        begin_request, host, MHD_OPTION_NOTIFY_COMPLETED, end_request, host,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned) CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t) CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) IDLE_SECONDS_MAX,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, 1024U, MHD_OPTION_END);
    if (!server->daemon)
        return slu_fail(reterr, SLU_FATAL, "listening on %s: %s", host->config.listen,
                        strerror(errno));

    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    uv_poll_init(&host->loop, &server->readable, info->epoll_fd);
    uv_timer_init(&host->loop, &server->timer);
    uv_prepare_init(&host->loop, &server->before_poll);
    server->readable.data = server->timer.data = server->before_poll.data = host;
    server->timer.timer_cb = on_timer;
    uv_poll_start(&server->readable, UV_READABLE, on_readable);
    uv_prepare_start(&server->before_poll, on_before_poll);
    run(host);
    return SLU_OK;
}

int
slu_host_server_port(const struct slu_host *host)
{
    return MHD_get_daemon_info(host->server->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

int
slu_host_server_connections(const struct slu_host *host)
{
    return (int) MHD_get_daemon_info(host->server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)
        ->num_connections;
}

void
slu_host_server_stop(struct slu_host *host)
{
    const int listening = MHD_quiesce_daemon(host->server->daemon);
    if (listening >= 0)
        close(listening);
}

void
slu_host_server_finish(struct slu_host *host)
{
    struct slu_host_server *server = host->server;
    uv_poll_stop(&server->readable);
    uv_close((uv_handle_t *) &server->readable, NULL);
    uv_close((uv_handle_t *) &server->timer, NULL);
    uv_close((uv_handle_t *) &server->before_poll, NULL);
    MHD_stop_daemon(server->daemon);
}
