/* SPDX-License-Identifier: Apache-2.0 */
/* One uv_poll handle per descriptor number, kept and used again: curl lets go of a socket after
 * each exchange and wants it back at the next. A handle that rests is stopped, so that it does not
 * matter whose the number has become meanwhile. */
#include "http_curl_multi.h"

#include "slu/base/memory.h"

#include <assert.h>
#include <stdlib.h>

struct seat {
    uv_poll_t poll;
    struct slu_http_multi *multi;
    curl_socket_t fd;
};

struct slu_http_multi {
    uv_loop_t *loop;
    CURLM *curl;
    uv_timer_t timer;
    struct seat **seats; /* By descriptor. */
    size_t seat_count;
    slu_http_ended_fn *ended;
    void *context;
    int handles;
    void (*closed)(void *);
    void *closed_context;
};

static void
hand_over_ended(struct slu_http_multi *multi)
{
    int left;
    const CURLMsg *message;
    while ((message = curl_multi_info_read(multi->curl, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURL *easy = message->easy_handle; /* The message dies with the removal. */
        const CURLcode code = message->data.result;
        curl_multi_remove_handle(multi->curl, easy);
        multi->ended(multi->context, easy, code);
    }
}

static void
act(struct slu_http_multi *multi, curl_socket_t fd, int events)
{
    int running;
    curl_multi_socket_action(multi->curl, fd, events, &running);
    hand_over_ended(multi);
}

static void
serve_socket(uv_poll_t *poll, int status, int events)
{
    const struct seat *seat = poll->data;
    int flags = status < 0 ? CURL_CSELECT_ERR : 0;
    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    act(seat->multi, seat->fd, flags);
}

static void
serve_timer(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static struct seat *
seat_of(struct slu_http_multi *multi, curl_socket_t fd)
{
    const size_t index = (size_t) fd;
    if (index >= multi->seat_count) {
        const size_t count = (index + 64) / 64 * 64 + 64;
        multi->seats = slu_realloc(multi->seats, count * sizeof(struct seat *));
        for (size_t i = multi->seat_count; i < count; i++)
            multi->seats[i] = NULL;
        multi->seat_count = count;
    }
    struct seat *seat = multi->seats[index];
    if (seat)
        return seat;
    seat = slu_alloc(sizeof(*seat));
    seat->multi = multi;
    seat->fd = fd;
    if (uv_poll_init(multi->loop, &seat->poll, fd) != 0) {
        free(seat);
        return NULL;
    }
    seat->poll.data = seat;
    multi->handles++;
    multi->seats[index] = seat;
    return seat;
}

static int
watch_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *unused)
{
    (void) easy;
    (void) unused;
    struct slu_http_multi *multi = context;
    struct seat *seat = seat_of(multi, fd);
    if (!seat)
        return -1; /* curl ends the transfer. */
    int events = 0;
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
        events |= UV_READABLE;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
        events |= UV_WRITABLE;
    if (events == 0 || uv_is_closing((uv_handle_t *) &seat->poll)) {
        uv_poll_stop(&seat->poll);
        return 0;
    }
    return uv_poll_start(&seat->poll, events, serve_socket) == 0 ? 0 : -1;
}

static int
watch_time(CURLM *curl, long timeout_ms, void *context)
{
    (void) curl;
    struct slu_http_multi *multi = context;
    if (timeout_ms < 0)
        uv_timer_stop(&multi->timer);
    else if (!uv_is_closing((uv_handle_t *) &multi->timer))
        uv_timer_start(&multi->timer, serve_timer, (uint64_t) timeout_ms, 0);
    return 0;
}

struct slu_http_multi *
slu_http_multi_new(uv_loop_t *loop, int connections_max, slu_http_ended_fn *ended, void *context)
{
    CURLM *curl = curl_multi_init();
    if (!curl)
        return NULL;
    struct slu_http_multi *multi = slu_alloc(sizeof(*multi));
    *multi = (struct slu_http_multi){
        .loop = loop, .curl = curl, .ended = ended, .context = context, .handles = 1};
    uv_timer_init(loop, &multi->timer);
    multi->timer.data = multi;
    curl_multi_setopt(curl, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(curl, CURLMOPT_SOCKETDATA, multi);
    curl_multi_setopt(curl, CURLMOPT_TIMERFUNCTION, watch_time);
    curl_multi_setopt(curl, CURLMOPT_TIMERDATA, multi);
    curl_multi_setopt(curl, CURLMOPT_MAXCONNECTS, (long) connections_max);
    curl_multi_setopt(curl, CURLMOPT_PIPELINING, (long) CURLPIPE_NOTHING);
    return multi;
}

static void
release_handle(struct slu_http_multi *multi)
{
    assert(multi->handles > 0);
    if (--multi->handles > 0)
        return;
    void (*closed)(void *) = multi->closed;
    void *context = multi->closed_context;
    free(multi->seats);
    free(multi);
    closed(context);
}

static void
free_seat(uv_handle_t *handle)
{
    struct seat *seat = handle->data;
    struct slu_http_multi *multi = seat->multi;
    free(seat);
    release_handle(multi);
}

static void
forget_timer(uv_handle_t *handle)
{
    release_handle(handle->data);
}

void
slu_http_multi_close(struct slu_http_multi *multi, void (*closed)(void *context), void *context)
{
    multi->closed = closed;
    multi->closed_context = context;
    curl_multi_cleanup(multi->curl); /* Still stops the seats of connections it closes. */
    uv_close((uv_handle_t *) &multi->timer, forget_timer);
    for (size_t i = 0; i < multi->seat_count; i++) {
        if (multi->seats[i])
            uv_close((uv_handle_t *) &multi->seats[i]->poll, free_seat);
    }
}

void
slu_http_multi_add(struct slu_http_multi *multi, CURL *easy)
{
    curl_multi_add_handle(multi->curl, easy);
}

void
slu_http_multi_remove(struct slu_http_multi *multi, CURL *easy)
{
    curl_multi_remove_handle(multi->curl, easy);
}
