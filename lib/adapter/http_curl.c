/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client port on libcurl. A job waits in its queue's lanes until a place, a start and the
 * far side's quiet allow it; only then does curl hear of it, because curl's own time-outs count
 * waiting (reliability.md §4.2). */
#include "http_curl_lane.h"
#include "http_curl_multi.h"
#include "http_curl_transfer.h"
#include "slu/base/memory.h"
#include "slu/port/http_client.h"
#include "uv_later.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONNECTIONS_MAX = 1024,
    WAITING_MAX = 256 * 1024, /* Jobs of one queue; more are refused: NEVER_SENT. */
    HOLD_MAX_MS = 60 * 60 * 1000,
};

/* A job that waits. */
struct ticket {
    struct slu_http_waiting waiting;
    struct slu_later_call later; /* When it ends without ever leaving. */
    struct slu_http_queue *queue;
    struct slu_http_job job;
    const char *trouble;
};

struct slu_http_queue {
    TAILQ_ENTRY(slu_http_queue) next;
    struct slu_http_client *client;
    char *name;
    struct slu_http_lane lanes[2]; /* Users', low. */
    struct slu_http_bucket bucket;
    int concurrent;
    uint64_t held_until_ms;
    uv_timer_t wake;
    struct slu_http_queue_counts counts;
    int refused; /* Tickets that wait for their NEVER_SENT. */
    bool closing;
};

TAILQ_HEAD(transfers, slu_http_transfer);

struct slu_http_client {
    uv_loop_t *loop;
    char *user_agent, *ca_file;
    int connections_max;
    int in_flight;
    struct slu_http_multi *multi;
    struct slu_later later;
    struct slu_later_call pump;
    bool pumping;
    TAILQ_HEAD(, slu_http_queue) queues;
    struct transfers flying, resting;
    int handles; /* Queue timers, transfers, the multi handle and `later`, not closed yet. */
    bool closing;
    struct slu_later_call close;
    void (*closed)(void *);
    void *closed_context;
};

static void pump_later(struct slu_http_client *client);

/* --- ending ---------------------------------------------------------------------------------- */

static void
release_handle(struct slu_http_client *client)
{
    assert(client->handles > 0);
    if (--client->handles > 0)
        return;
    void (*closed)(void *) = client->closed;
    void *context = client->closed_context;
    free(client->user_agent);
    free(client->ca_file);
    free(client);
    if (closed)
        closed(context);
}

static void
free_queue(uv_handle_t *wake)
{
    struct slu_http_queue *queue = wake->data;
    struct slu_http_client *client = queue->client;
    free(queue->name);
    free(queue);
    release_handle(client);
}

static void
free_queue_if_over(struct slu_http_queue *queue)
{
    if (!queue->closing || queue->counts.in_flight > 0 || queue->refused > 0 ||
        uv_is_closing((uv_handle_t *) &queue->wake))
        return;
    TAILQ_REMOVE(&queue->client->queues, queue, next);
    uv_close((uv_handle_t *) &queue->wake, free_queue);
}

static void
end_ticket(void *context)
{
    struct ticket *ticket = context;
    struct slu_http_queue *queue = ticket->queue;
    struct slu_http_response response = {.end = SLU_HTTP_NEVER_SENT};
    snprintf(response.error, sizeof(response.error), "%s", ticket->trouble);
    queue->counts.never_sent++;
    ticket->job.done(ticket->job.context, &response);
    slu_http_request_done(&ticket->job.request);
    free((void *) (uintptr_t) ticket->job.tenant);
    free(ticket);
    queue->refused--;
    free_queue_if_over(queue);
}

static void
refuse_ticket(struct ticket *ticket, const char *trouble)
{
    ticket->trouble = trouble;
    ticket->queue->refused++;
    slu_later_add(&ticket->queue->client->later, &ticket->later, end_ticket, ticket);
}

static void
end_transfer(struct slu_http_transfer *transfer, CURLcode code)
{
    struct slu_http_queue *queue = transfer->owner;
    struct slu_http_client *client = queue->client;
    TAILQ_REMOVE(&client->flying, transfer, next);
    client->in_flight--;
    queue->counts.in_flight--;
    switch (slu_http_transfer_verdict(transfer, code)) {
    case SLU_HTTP_ANSWERED:
        queue->counts.answered++;
        break;
    case SLU_HTTP_NEVER_SENT:
        queue->counts.never_sent++;
        break;
    case SLU_HTTP_UNKNOWN:
        queue->counts.unknown++;
        break;
    }
    if (transfer->sent)
        queue->counts.sent++;
    slu_http_transfer_end(transfer, code);
    TAILQ_INSERT_HEAD(&client->resting, transfer, next);
    free_queue_if_over(queue);
    pump_later(client);
}

static void
take_ended(void *context, CURL *easy, CURLcode code)
{
    (void) context;
    char *transfer = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
    end_transfer((struct slu_http_transfer *) (void *) transfer, code);
}

static void
end_expired(struct slu_http_transfer *transfer)
{
    const struct slu_http_queue *queue = transfer->owner;
    slu_http_multi_remove(queue->client->multi, transfer->easy);
    end_transfer(transfer, CURLE_OPERATION_TIMEDOUT);
}

/* --- starting -------------------------------------------------------------------------------- */

static struct slu_http_transfer *
rested_transfer(struct slu_http_client *client)
{
    struct slu_http_transfer *transfer = TAILQ_FIRST(&client->resting);
    if (transfer) {
        TAILQ_REMOVE(&client->resting, transfer, next);
        return transfer;
    }
    client->handles++;
    return slu_http_transfer_new(&(struct slu_http_transfer_settings){
        .user_agent = client->user_agent,
        .ca_file = client->ca_file,
        .loop = client->loop,
        .expired = end_expired,
    });
}

static void
wake_queue(uv_timer_t *wake)
{
    const struct slu_http_queue *queue = wake->data;
    pump_later(queue->client);
}

/* Whether this queue may start one more now; else its timer is set when time alone will tell. */
static bool
may_start(struct slu_http_queue *queue)
{
    if (queue->lanes[0].count + queue->lanes[1].count == 0 ||
        queue->counts.in_flight >= queue->concurrent)
        return false;
    const uint64_t now_ms = uv_now(queue->client->loop);
    uint64_t wait_ms = (uint64_t) slu_http_bucket_wait_ms(&queue->bucket, (int64_t) now_ms);
    if (queue->held_until_ms > now_ms && queue->held_until_ms - now_ms > wait_ms)
        wait_ms = queue->held_until_ms - now_ms;
    if (wait_ms > 0)
        uv_timer_start(&queue->wake, wake_queue, wait_ms, 0);
    return wait_ms == 0;
}

static void
start(struct slu_http_queue *queue, struct ticket *ticket)
{
    struct slu_http_client *client = queue->client;
    struct slu_http_transfer *transfer = rested_transfer(client);
    transfer->owner = queue;
    char *tenant = (char *) (uintptr_t) ticket->job.tenant;
    const bool loaded = slu_http_transfer_load(transfer, &ticket->job);
    free(tenant);
    free(ticket);
    TAILQ_INSERT_TAIL(&client->flying, transfer, next);
    client->in_flight++;
    queue->counts.in_flight++;
    if (loaded)
        slu_http_multi_add(client->multi, transfer->easy);
    else
        end_transfer(transfer, CURLE_BAD_FUNCTION_ARGUMENT);
}

static bool
start_one(struct slu_http_queue *queue)
{
    if (!may_start(queue))
        return false;
    slu_http_bucket_take(&queue->bucket);
    struct slu_http_waiting *waiting = slu_http_lane_take(&queue->lanes[0]);
    if (!waiting)
        waiting = slu_http_lane_take(&queue->lanes[1]);
    assert(waiting);
    start(queue, (struct ticket *) (void *) ((char *) waiting - offsetof(struct ticket, waiting)));
    return true;
}

/* One job of each queue in turn, so that under the common bound no queue starves. The queue that is
 * first moves on, for the next time. */
static void
pump(void *context)
{
    struct slu_http_client *client = context;
    client->pumping = false;
    bool started = true;
    while (started && client->in_flight < client->connections_max) {
        started = false;
        struct slu_http_queue *queue, *after;
        for (queue = TAILQ_FIRST(&client->queues); queue; queue = after) {
            after = TAILQ_NEXT(queue, next);
            if (client->in_flight < client->connections_max)
                started = start_one(queue) || started;
        }
    }
    struct slu_http_queue *first = TAILQ_FIRST(&client->queues);
    if (first) {
        TAILQ_REMOVE(&client->queues, first, next);
        TAILQ_INSERT_TAIL(&client->queues, first, next);
    }
}

static void
pump_later(struct slu_http_client *client)
{
    if (client->pumping || client->closing)
        return;
    client->pumping = true;
    slu_later_add(&client->later, &client->pump, pump, client);
}

/* --- queues ---------------------------------------------------------------------------------- */

struct slu_http_queue *
slu_http_queue_open(struct slu_http_client *client,
                    const char *name,
                    int concurrent,
                    int per_second)
{
    struct slu_http_queue *queue = slu_alloc(sizeof(*queue));
    queue->client = client;
    queue->name = slu_strdup(name);
    slu_http_lane_init(&queue->lanes[0]);
    slu_http_lane_init(&queue->lanes[1]);
    uv_timer_init(client->loop, &queue->wake);
    queue->wake.data = queue;
    client->handles++;
    TAILQ_INSERT_TAIL(&client->queues, queue, next);
    slu_http_queue_limits(queue, concurrent, per_second);
    return queue;
}

void
slu_http_queue_limits(struct slu_http_queue *queue, int concurrent, int per_second)
{
    queue->concurrent = concurrent;
    slu_http_bucket_limit(&queue->bucket, per_second, (int64_t) uv_now(queue->client->loop));
    pump_later(queue->client);
}

void
slu_http_queue_hold(struct slu_http_queue *queue, int64_t for_ms)
{
    if (for_ms <= 0)
        return;
    const int64_t bounded_ms = for_ms < HOLD_MAX_MS ? for_ms : HOLD_MAX_MS;
    const uint64_t until_ms = uv_now(queue->client->loop) + (uint64_t) bounded_ms;
    if (until_ms > queue->held_until_ms)
        queue->held_until_ms = until_ms;
}

void
slu_http_submit(struct slu_http_queue *queue, struct slu_http_job *job)
{
    struct ticket *ticket = slu_alloc(sizeof(*ticket));
    ticket->queue = queue;
    ticket->job = *job;
    ticket->job.tenant = slu_strdup(job->tenant ? job->tenant : "");
    job->request = (struct slu_http_request){0};
    if (queue->closing || queue->client->closing) {
        refuse_ticket(ticket, "the queue is closed");
    } else if (queue->lanes[0].count + queue->lanes[1].count >= WAITING_MAX) {
        refuse_ticket(ticket, "too many requests wait for this provider already");
    } else {
        slu_http_lane_put(&queue->lanes[ticket->job.low_lane], ticket->job.tenant,
                          &ticket->waiting);
        pump_later(queue->client);
    }
}

static void
refuse_waiting(struct slu_http_queue *queue, const char *trouble)
{
    for (int lane = 0; lane < 2; lane++) {
        struct slu_http_waiting *waiting;
        while ((waiting = slu_http_lane_take(&queue->lanes[lane]))) {
            char *ticket = (char *) waiting - offsetof(struct ticket, waiting);
            refuse_ticket((struct ticket *) (void *) ticket, trouble);
        }
    }
}

void
slu_http_queue_close(struct slu_http_queue *queue)
{
    queue->closing = true;
    uv_timer_stop(&queue->wake);
    refuse_waiting(queue, "the queue was closed");
    free_queue_if_over(queue);
}

void
slu_http_queue_counts(const struct slu_http_queue *queue, struct slu_http_queue_counts *ret)
{
    *ret = queue->counts;
    ret->waiting = queue->lanes[0].count;
    ret->waiting_low = queue->lanes[1].count;
}

/* --- client ---------------------------------------------------------------------------------- */

enum slu_status
slu_http_client_open(struct uv_loop_s *loop,
                     const struct slu_http_client_settings *settings,
                     struct slu_http_client **ret_client,
                     struct slu_error *reterr)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return slu_fail(reterr, SLU_FATAL, "libcurl cannot be initialised");
    struct slu_http_client *client = slu_alloc(sizeof(*client));
    client->loop = loop;
    client->connections_max =
        settings->connections_max > 0 ? settings->connections_max : CONNECTIONS_MAX;
    client->multi = slu_http_multi_new(loop, client->connections_max, take_ended, client);
    if (!client->multi) {
        free(client);
        return slu_fail(reterr, SLU_FATAL, "libcurl gives no multi handle");
    }
    client->user_agent = slu_strdup(settings->user_agent ? settings->user_agent : "");
    client->ca_file = slu_strdup(settings->ca_file ? settings->ca_file : "");
    slu_later_init(&client->later, loop);
    TAILQ_INIT(&client->queues);
    TAILQ_INIT(&client->flying);
    TAILQ_INIT(&client->resting);
    client->handles = 2;
    *ret_client = client;
    return SLU_OK;
}

static void
count_down(void *context)
{
    release_handle(context);
}

/* In a turn of its own: whoever closes may be inside the last thing a job said. */
static void
close_all(void *context)
{
    struct slu_http_client *client = context;
    struct slu_http_transfer *transfer;
    while ((transfer = TAILQ_FIRST(&client->flying))) {
        slu_http_multi_remove(client->multi, transfer->easy);
        transfer->trouble = "the client was closed";
        end_transfer(transfer, CURLE_ABORTED_BY_CALLBACK);
    }
    struct slu_http_queue *queue, *after;
    for (queue = TAILQ_FIRST(&client->queues); queue; queue = after) {
        after = TAILQ_NEXT(queue, next);
        if (!queue->closing)
            slu_http_queue_close(queue);
    }
    while ((transfer = TAILQ_FIRST(&client->resting))) {
        TAILQ_REMOVE(&client->resting, transfer, next);
        slu_http_transfer_free(transfer, count_down, client);
    }
    slu_http_multi_close(client->multi, count_down, client);
    slu_later_close(&client->later, count_down, client);
}

void
slu_http_client_close(struct slu_http_client *client, void (*closed)(void *), void *context)
{
    assert(!client->closing);
    client->closing = true;
    client->closed = closed;
    client->closed_context = context;
    slu_later_add(&client->later, &client->close, close_all, client);
}
