/* SPDX-License-Identifier: Apache-2.0 */
/* Sending HTTP requests. lib/adapter/http_curl.c does it with curl_multi on the loop; one queue per
 * provider instance does the admission, so that a time-out never counts waiting, and "never sent"
 * is told from "maybe executed" (reliability.md §4.2, F8). Nothing is repeated blindly. */
#ifndef SLU_PORT_HTTP_CLIENT_H
#define SLU_PORT_HTTP_CLIENT_H

#include "slu/base/status.h"
#include "slu/port/http.h"

#include <stdbool.h>
#include <stdint.h>

struct slu_http_client;
struct slu_http_queue;
struct uv_loop_s;

struct slu_http_client_settings {
    const char *user_agent;
    const char *ca_file; /* "" = the system's. */
    int connections_max; /* In all; 0 = 1,024. */
};

struct slu_http_job {
    struct slu_http_request request; /* Taken by slu_http_submit. */
    bool low_lane;                   /* Behind every job that is not. */
    const char *tenant;              /* Lent: jobs of a lane are served in turn between tenants. */

    /* Asked last, right before the first byte leaves; false: NEVER_SENT. May be NULL. */
    bool (*may_send)(void *context);

    /* Exactly once, never inside slu_http_submit. The response is lent. */
    void (*done)(void *context, const struct slu_http_response *response);
    void *context;
};

enum slu_status slu_http_client_open(struct uv_loop_s *loop,
                                     const struct slu_http_client_settings *settings,
                                     struct slu_http_client **ret_client,
                                     struct slu_error *reterr);

/* Ends every job (NEVER_SENT or UNKNOWN), then calls `closed`. */
void slu_http_client_close(struct slu_http_client *client, void (*closed)(void *), void *context);

struct slu_http_queue *slu_http_queue_open(struct slu_http_client *client,
                                           const char *name,
                                           int concurrent,
                                           int per_second);
void slu_http_queue_limits(struct slu_http_queue *queue, int concurrent, int per_second);

/* The far side asked for quiet (429, Retry-After): nothing of this queue leaves before that. */
void slu_http_queue_hold(struct slu_http_queue *queue, int64_t for_ms);
void slu_http_submit(struct slu_http_queue *queue, struct slu_http_job *job);
void slu_http_queue_close(struct slu_http_queue *queue);

struct slu_http_queue_counts {
    int waiting, waiting_low, in_flight;
    int64_t sent, answered, never_sent, unknown;
};

void slu_http_queue_counts(const struct slu_http_queue *queue, struct slu_http_queue_counts *ret);

#endif
