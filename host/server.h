/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP: libmicrohttpd driven by the libuv loop, so that one thread owns every connection, sandbox
 * and timer. A request is read whole (or into a sink), passed to its route, and answered at once or
 * later; meanwhile its connection sleeps. Slow work goes to the thread pool, never in here. */
#ifndef SLU_HOST_SERVER_H
#define SLU_HOST_SERVER_H

#include "fence.h"
#include "host.h"
#include "slu/base/buffer.h"
#include "slu/base/status.h"

#include <jansson.h>
#include <microhttpd.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slu_host_request;
struct slu_host_route;

/* Where the bytes of a body go that is too big to hold: false stops reading with the error that
 * the sink has put into the request. */
typedef bool (*slu_host_sink_fn)(struct slu_host_request *request, const char *bytes, size_t size);

struct slu_host_request {
    struct slu_host *host;
    struct MHD_Connection *connection;
    char *target; /* Raw, as it came: path and query. */
    size_t path_size;
    const char *query; /* Behind the `?`, or NULL. */
    char *id;          /* The `{id}` of the route, decoded. */
    char *sandbox_id;  /* E2b-Sandbox-Id, or NULL. */
    const struct slu_host_route *route;
    struct slu_buffer body;
    slu_host_sink_fn sink;
    int64_t received;
    int64_t body_max;

    bool fenced;
    struct slu_host_fence fence;
    bool fence_released; /* Its effects are over: a newer epoch need not wait for it. */
    bool waits_for_older;

    bool routed; /* The route has been called. */
    bool suspended;
    unsigned status;
    struct MHD_Response *response;

    void *context; /* Of the route. */
    void (*drop_context)(void *context);

    struct slu_host_request *next; /* All live requests. */
    struct slu_host_request *previous;
};

enum slu_status slu_host_server_start(struct slu_host *host, struct slu_error *reterr);
void slu_host_server_stop(struct slu_host *host);   /* No new connections; answers in flight go. */
void slu_host_server_finish(struct slu_host *host); /* Once nothing is in flight. */
int slu_host_server_port(const struct slu_host *host);
int slu_host_server_connections(const struct slu_host *host);

const char *slu_host_request_header(const struct slu_host_request *request, const char *name);

/* Answers; exactly once per request. `response` is taken. */
void
slu_host_respond(struct slu_host_request *request, unsigned status, struct MHD_Response *response);
void slu_host_respond_empty(struct slu_host_request *request, unsigned status);
void
slu_host_respond_json(struct slu_host_request *request, unsigned status, json_t *body); /* Takes. */
void slu_host_respond_text(struct slu_host_request *request,
                           unsigned status,
                           const char *type,
                           const char *text,
                           size_t size);

/* {"code":…,"message":…} and, when given, "error_code". */
void slu_host_respond_error(struct slu_host_request *request,
                            unsigned status,
                            const char *error_code,
                            const char *format,
                            ...) SLU_PRINTF(4, 5);

/* Makes the connection of a sleeping stream go on. */
void slu_host_server_wake(struct slu_host *host, struct MHD_Connection *connection);
void slu_host_server_sleep(struct slu_host *host, struct MHD_Connection *connection);

/* True once the far side has closed its end (asked of a sleeping stream). */
bool slu_host_server_is_gone(struct MHD_Connection *connection);

#endif
