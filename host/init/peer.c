/* SPDX-License-Identifier: Apache-2.0 */
/* Connections from the host: reading the one request, writing answers as the host takes them. */
#include "init.h"
#include "slu/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

size_t
slu_peer_pending(const struct slu_peer *peer)
{
    return peer->out.size - peer->sent;
}

static void
hang_up(struct slu_init *init, struct slu_peer *peer)
{
    slu_watch_close(init, &peer->watch); /* Freed by the sweep at the end of the turn. */
    slu_process_detach(init, peer);
}

void
slu_peer_flush(struct slu_init *init, struct slu_peer *peer)
{
    while (peer->watch.fd >= 0 && slu_peer_pending(peer) > 0) {
        const ssize_t sent = send(peer->watch.fd, peer->out.data + peer->sent,
                                  slu_peer_pending(peer), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EAGAIN) {
            slu_watch_set(init, &peer->watch, EPOLLOUT);
            return;
        }
        if (sent < 0) {
            hang_up(init, peer);
            return;
        }
        peer->sent += (size_t) sent;
    }

    slu_buffer_reset(&peer->out);
    peer->sent = 0;
    if (peer->last) {
        hang_up(init, peer);
        return;
    }
    slu_watch_set(init, &peer->watch, EPOLLIN);
    if (peer->process)
        slu_process_unblock(init, peer->process);
}

void
slu_peer_fail(struct slu_peer *peer, const char *code, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);

    const size_t at = slu_init_begin(&peer->out, SLU_INIT_FAILED);
    slu_init_put_text(&peer->out, SLU_INIT_F_CODE, code);
    slu_init_put_text(&peer->out, SLU_INIT_F_TEXT, text);
    slu_init_end(&peer->out, at);
    peer->last = true;
}

void
slu_peer_done(struct slu_peer *peer)
{
    slu_init_end(&peer->out, slu_init_begin(&peer->out, SLU_INIT_DONE));
    peer->last = true;
}

/* Reads what is there, and the descriptor that may come with it. */
static ssize_t
receive(struct slu_peer *peer)
{
    char bytes[16384];
    char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };

    const ssize_t got = recvmsg(peer->watch.fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got <= 0)
        return got;

    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        int descriptor;
        memcpy(&descriptor, CMSG_DATA(header), sizeof(descriptor));
        if (peer->descriptor >= 0)
            close(peer->descriptor);
        peer->descriptor = descriptor;
    }
    slu_buffer_append(&peer->in, bytes, (size_t) got);
    return got;
}

static void
serve(struct slu_init *init, struct slu_watch *watch, uint32_t events)
{
    struct slu_peer *peer = (struct slu_peer *) (void *) watch;
    if (events & EPOLLOUT) {
        slu_peer_flush(init, peer);
        return;
    }

    const ssize_t got = receive(peer);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0 || peer->asked) { /* A second request on one connection is a broken host. */
        hang_up(init, peer);
        return;
    }

    const int64_t whole = slu_init_whole(peer->in.data, peer->in.size, SLU_INIT_REQUEST_MAX);
    if (whole < 0) {
        hang_up(init, peer);
    } else if (whole > 0) {
        peer->asked = true;
        slu_peer_handle(init, peer, slu_init_read(peer->in.data, (size_t) whole));
        slu_buffer_done(&peer->in);
        slu_peer_flush(init, peer);
    }
}

void
slu_peer_accept(struct slu_init *init, struct slu_watch *watch, uint32_t events)
{
    (void) events;
    const int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (init->peer_count >= SLU_INIT_PEERS_MAX) {
        close(fd);
        return;
    }

    struct slu_peer *peer = slu_alloc(sizeof(*peer));
    peer->watch = (struct slu_watch){.fd = fd, .ready = serve};
    peer->descriptor = -1;
    if (!slu_watch_add(init, &peer->watch, EPOLLIN)) {
        close(fd);
        slu_free_ptr(&peer);
        return;
    }
    peer->next = init->peers;
    init->peers = peer;
    init->peer_count++;
}

void
slu_peer_sweep(struct slu_init *init)
{
    struct slu_peer **link = &init->peers;
    while (*link) {
        struct slu_peer *peer = *link;
        if (peer->watch.fd >= 0) {
            link = &peer->next;
            continue;
        }
        *link = peer->next;
        init->peer_count--;
        if (peer->descriptor >= 0)
            close(peer->descriptor);
        slu_buffer_done(&peer->in);
        slu_buffer_done(&peer->out);
        slu_free_ptr(&peer);
    }
}

static void
start_worker(struct slu_init *init, struct slu_peer *peer, struct slu_init_reader request)
{
    if (init->worker_count >= SLU_INIT_WORKERS_MAX) {
        slu_peer_fail(peer, "resource_exhausted", "more than %d file operations at once",
                      SLU_INIT_WORKERS_MAX);
        return;
    }

    const pid_t pid = fork();
    if (pid == 0)
        slu_files_work(peer->watch.fd, peer->descriptor, request);
    if (pid < 0) {
        slu_peer_fail(peer, "resource_exhausted", "no process for the file operation: %s",
                      strerror(errno));
        return;
    }
    init->workers[init->worker_count++] = pid;
    peer->last = true; /* The worker answers; this copy of the socket closes. */
}

/* Signals reach a command and what it started (its process group). */
static void
signal_process(struct slu_peer *peer, struct slu_process *process, int64_t number)
{
    if (process->exited)
        slu_peer_fail(peer, "not_found", "process %d has exited", (int) process->pid);
    else if (number < 1 || number >= NSIG)
        slu_peer_fail(peer, "invalid_argument", "signal %lld is none", (long long) number);
    else if (kill(-process->pid, (int) number) != 0 && kill(process->pid, (int) number) != 0)
        slu_peer_fail(peer, "not_found", "process %d: %s", (int) process->pid, strerror(errno));
    else
        slu_peer_done(peer);
}

static void
resize(struct slu_peer *peer, struct slu_process *process, struct slu_init_reader request)
{
    const int64_t columns = slu_init_number(request, SLU_INIT_F_COLUMNS, 0);
    const int64_t rows = slu_init_number(request, SLU_INIT_F_ROWS, 0);
    if (!process->terminal || process->output[0].watch.fd < 0) {
        slu_peer_fail(peer, "failed_precondition", "process %d has no terminal",
                      (int) process->pid);
    } else if (slu_terminal_resize(process->output[0].watch.fd, (int) columns, (int) rows) != 0) {
        slu_peer_fail(peer, "invalid_argument", "terminal size: %s", strerror(errno));
    } else {
        slu_peer_done(peer);
    }
}

/* What is asked of one process. */
static void
handle_process(struct slu_init *init, struct slu_peer *peer, struct slu_init_reader request)
{
    struct slu_init_value bytes = {0};
    struct slu_process *process = slu_process_find(init, request);
    if (!process) {
        slu_peer_fail(peer, "not_found", "no such process");
        return;
    }

    if (request.type == SLU_INIT_ATTACH) {
        slu_process_attach(init, peer, process);
    } else if (request.type == SLU_INIT_SIGNAL) {
        signal_process(peer, process, slu_init_number(request, SLU_INIT_F_SIGNAL, 0));
    } else if (request.type == SLU_INIT_INPUT) {
        slu_init_find(request, SLU_INIT_F_BYTES, &bytes);
        slu_process_input(init, peer, process, &bytes);
    } else if (request.type == SLU_INIT_CLOSE_STDIN) {
        slu_process_close_input(init, process);
        slu_peer_done(peer);
    } else {
        resize(peer, process, request);
    }
}

/* Every process of the sandbox but this one: the freezer of hosts without control groups. */
static void
signal_all(struct slu_peer *peer, int number)
{
    kill(-1, number); /* With nobody else there it fails, which is as good. */
    slu_peer_done(peer);
}

void
slu_peer_handle(struct slu_init *init, struct slu_peer *peer, struct slu_init_reader request)
{
    if (request.type == SLU_INIT_START)
        slu_process_start(init, peer, request);
    else if (request.type == SLU_INIT_LIST)
        slu_process_list(init, peer);
    else if (request.type >= SLU_INIT_ATTACH && request.type <= SLU_INIT_RESIZE)
        handle_process(init, peer, request);
    else if (request.type == SLU_INIT_STOP_ALL || request.type == SLU_INIT_CONTINUE_ALL)
        signal_all(peer, request.type == SLU_INIT_STOP_ALL ? SIGSTOP : SIGCONT);
    else if (request.type >= SLU_INIT_OPEN_FILE && request.type <= SLU_INIT_REMOVE)
        start_worker(init, peer, request);
    else
        slu_peer_fail(peer, "unimplemented", "this sandbox's init knows no request %d",
                      (int) request.type);
}
