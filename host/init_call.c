/* SPDX-License-Identifier: Apache-2.0 */
/* Control connections to inits, driven by libuv's poll handles: libuv's own streams would hide the
 * descriptors that come along. */
#include "init_call.h"

#include "slu/base/memory.h"
#include "spawn.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    READ_SIZE = 64 * 1024
};

struct slu_init_call {
    uv_poll_t poll;
    int fd;
    int outgoing; /* Descriptor to send with the first byte. */
    int incoming;
    struct slu_buffer in;
    struct slu_buffer out;
    size_t sent;
    bool reading;
    bool closed;
    struct slu_init_call_events events;
    void *context;
};

static void on_ready(uv_poll_t *poll, int status, int events);

static void
update(struct slu_init_call *call)
{
    const int wanted =
        (call->reading ? UV_READABLE : 0) | (call->sent < call->out.size ? UV_WRITABLE : 0);
    if (call->closed)
        return;
    if (wanted)
        uv_poll_start(&call->poll, wanted, on_ready);
    else
        uv_poll_stop(&call->poll);
}

static bool
send_some(struct slu_init_call *call)
{
    while (call->sent < call->out.size) {
        char control[CMSG_SPACE(sizeof(int))] = {0};
        struct iovec part = {
            .iov_base = call->out.data + call->sent,
            .iov_len = call->out.size - call->sent,
        };
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        if (call->outgoing >= 0) {
            message.msg_control = control;
            message.msg_controllen = sizeof(control);
            struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
            rights->cmsg_level = SOL_SOCKET;
            rights->cmsg_type = SCM_RIGHTS;
            rights->cmsg_len = CMSG_LEN(sizeof(int));
            memcpy(CMSG_DATA(rights), &call->outgoing, sizeof(int));
        }
        const ssize_t got = sendmsg(call->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (got < 0)
            return errno == EAGAIN;
        call->outgoing = -1;
        call->sent += (size_t) got;
    }
    return true;
}

static void
keep_descriptor(struct slu_init_call *call, struct msghdr *message)
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
        return;
    if (call->incoming >= 0)
        close(call->incoming);
    memcpy(&call->incoming, CMSG_DATA(header), sizeof(int));
}

/* Hands out every whole message. False: the call is closed, or its far side speaks nonsense. */
static bool
deliver(struct slu_init_call *call)
{
    size_t at = 0;
    int64_t whole = 0;
    while (!call->closed && (whole = slu_init_whole(call->in.data + at, call->in.size - at,
                                                    SLU_INIT_MESSAGE_MAX)) > 0) {
        call->events.message(call->context, call,
                             slu_init_read(call->in.data + at, (size_t) whole));
        at += (size_t) whole;
    }
    if (call->closed || whole < 0)
        return false;
    call->in.size -= at;
    memmove(call->in.data, call->in.data + at, call->in.size);
    return true;
}

static void
receive(struct slu_init_call *call)
{
    char bytes[READ_SIZE];
    char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    const ssize_t got = recvmsg(call->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0) {
        keep_descriptor(call, &message);
        slu_buffer_append(&call->in, bytes, (size_t) got);
    }
    if ((got <= 0 || !deliver(call)) && !call->closed)
        call->events.closed(call->context, call);
}

static void
on_ready(uv_poll_t *poll, int status, int events)
{
    struct slu_init_call *call = poll->data;
    if (events & UV_WRITABLE && !send_some(call)) {
        call->events.closed(call->context, call);
        return;
    }
    if (status < 0 || events & UV_READABLE)
        receive(call);
    update(call);
}

struct slu_init_call * // NOLINTNEXTLINE(readability-function-size): all that a call is.
slu_init_call_open(uv_loop_t *loop,
                   const char *folder,
                   const struct slu_buffer *request,
                   int descriptor,
                   const struct slu_init_call_events *events,
                   void *context,
                   struct slu_error *reterr)
{
    const int fd = slu_spawn_connect(folder);
    if (fd < 0) {
        const enum slu_status status =
            slu_fail(reterr, SLU_RETRY, "the sandbox's init: %s", strerror(errno));
        (void) status;
        return NULL;
    }

    struct slu_init_call *call = slu_alloc(sizeof(*call));
    call->fd = fd;
    call->outgoing = descriptor;
    call->incoming = -1;
    call->events = *events;
    call->context = context;
    call->reading = true;
    slu_buffer_append(&call->out, request->data, request->size);
    uv_poll_init(loop, &call->poll, fd);
    call->poll.data = call;
    if (!send_some(call)) {
        const enum slu_status status =
            slu_fail(reterr, SLU_RETRY, "the sandbox's init: %s", strerror(errno));
        (void) status;
        slu_init_call_close(call);
        return NULL;
    }
    update(call);
    return call;
}

void
slu_init_call_read(struct slu_init_call *call, bool reading)
{
    call->reading = reading;
    update(call);
}

int
slu_init_call_take_descriptor(struct slu_init_call *call)
{
    const int taken = call->incoming;
    call->incoming = -1;
    return taken;
}

static void
free_call(uv_handle_t *handle)
{
    struct slu_init_call *call = handle->data;
    close(call->fd);
    if (call->incoming >= 0)
        close(call->incoming);
    slu_buffer_done(&call->in);
    slu_buffer_done(&call->out);
    slu_free_ptr(&call);
}

void
slu_init_call_close(struct slu_init_call *call)
{
    if (call->closed)
        return;
    call->closed = true;
    uv_poll_stop(&call->poll);
    uv_close((uv_handle_t *) &call->poll, free_call);
}
