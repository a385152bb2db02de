/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP proxy that loses chosen requests: one thread for each connection. */
#include "proxy.h"

#include "slu/base/memory.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CHUNK = 64 * 1024,
    FRAME_HEAD = 6, /* Size, API key. */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* Guards the two that follow. */
static struct proxy_loss loss;

static enum {
    PASS,
    LOSE_FIRST,
    LOSE_MORE
} mode;

static int target_port;
static int listener;

struct link {
    int client, broker;
    bool silent; /* Nothing goes through any more; the client finds out by its own time-out. */
    bool silent_after; /* … once this frame is through. */

    /* Of the frame that the client is sending. */
    unsigned char head[FRAME_HEAD];
    size_t head_size;
    size_t body_left;
};

enum verdict {
    FORWARD,
    FORWARD_AND_FALL_SILENT,
    FALL_SILENT
};

static enum verdict
judge(int api)
{
    enum verdict verdict = FORWARD;
    pthread_mutex_lock(&lock);
    if (mode != PASS && api == (int) loss.until) {
        mode = PASS;
    } else if (mode != PASS && api == (int) loss.lost) {
        verdict = mode == LOSE_FIRST && loss.first_arrives ? FORWARD_AND_FALL_SILENT : FALL_SILENT;
        mode = LOSE_MORE;
    }
    pthread_mutex_unlock(&lock);
    return verdict;
}

static bool
write_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        const ssize_t written = send(fd, at, size, MSG_NOSIGNAL);
        if (written <= 0)
            return false;
        at += written;
        size -= (size_t) written;
    }
    return true;
}

/* The head of a frame is whole: decides, and sends it on. */
static bool
begin_frame(struct link *link)
{
    uint32_t size;
    uint16_t api;
    memcpy(&size, link->head, sizeof(size));
    memcpy(&api, link->head + sizeof(size), sizeof(api));
    link->body_left = ntohl(size) - sizeof(api);
    link->head_size = 0;
    const enum verdict verdict = judge(ntohs(api));
    if (verdict == FALL_SILENT)
        link->silent = true;
    else if (!write_all(link->broker, link->head, FRAME_HEAD))
        return false;
    link->silent_after = verdict == FORWARD_AND_FALL_SILENT;
    return true;
}

/* Passes on what is left of a frame. Returns how many bytes that were; 0: the broker is gone. */
static size_t
pass_body(struct link *link, const unsigned char *bytes, size_t size)
{
    const size_t part = size < link->body_left ? size : link->body_left;
    if (!write_all(link->broker, bytes, part))
        return 0;
    link->body_left -= part;
    link->silent = link->silent || (link->body_left == 0 && link->silent_after);
    return part;
}

static bool
take_requests(struct link *link, const unsigned char *bytes, size_t size)
{
    while (size > 0 && !link->silent) {
        size_t part = 1;
        if (link->body_left > 0) {
            part = pass_body(link, bytes, size);
        } else {
            link->head[link->head_size++] = *bytes;
            if (link->head_size == FRAME_HEAD && !begin_frame(link))
                return false;
        }
        if (part == 0)
            return false;
        bytes += part;
        size -= part;
    }
    return true;
}

static bool
pass_requests(struct link *link)
{
    unsigned char chunk[CHUNK];
    const ssize_t got = recv(link->client, chunk, sizeof(chunk), 0);
    return got > 0 && take_requests(link, chunk, (size_t) got);
}

/* A broker that hangs up on a silent link is not told to the client. */
static bool
pass_answers(struct link *link, bool *ret_gone)
{
    unsigned char chunk[CHUNK];
    const ssize_t got = recv(link->broker, chunk, sizeof(chunk), 0);
    *ret_gone = got <= 0;
    if (link->silent || link->silent_after)
        return true;
    return got > 0 && write_all(link->client, chunk, (size_t) got);
}

static void
relay(struct link *link)
{
    struct pollfd ends[] = {{.fd = link->client, .events = POLLIN},
                            {.fd = link->broker, .events = POLLIN}};
    while (poll(ends, 2, -1) > 0) {
        bool gone = false;
        if (ends[0].revents && !pass_requests(link))
            return;
        if (ends[1].revents && !pass_answers(link, &gone))
            return;
        if (gone)
            ends[1].fd = -1;
    }
}

static int
connect_to_broker(void)
{
    pthread_mutex_lock(&lock);
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t) target_port),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    pthread_mutex_unlock(&lock);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    if (!connect(fd, (const struct sockaddr *) &address, sizeof(address)))
        return fd;
    close(fd);
    return -1;
}

static void *
run_link(void *context)
{
    struct link link = {.client = (int) (intptr_t) context, .broker = connect_to_broker()};
    const int yes = 1;
    setsockopt(link.client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    if (link.broker >= 0) {
        relay(&link);
        close(link.broker);
    }
    close(link.client);
    return NULL;
}

static void *
run_proxy(void *context)
{
    (void) context;
    int client;
    while ((client = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        pthread_t thread;
        const int failed = pthread_create(&thread, NULL, run_link, (void *) (intptr_t) client);
        assert(!failed);
        pthread_detach(thread);
    }
    return NULL;
}

int
proxy_start(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(listener >= 0);
    int failed = bind(listener, (const struct sockaddr *) &address, size);
    failed = failed || listen(listener, 128);
    failed = failed || getsockname(listener, (struct sockaddr *) &address, &size);
    pthread_t thread;
    failed = failed || pthread_create(&thread, NULL, run_proxy, NULL);
    assert(!failed);
    pthread_detach(thread);
    return ntohs(address.sin_port);
}

void
proxy_connect_to(int port)
{
    pthread_mutex_lock(&lock);
    target_port = port;
    pthread_mutex_unlock(&lock);
}

void
proxy_lose(const struct proxy_loss *what)
{
    pthread_mutex_lock(&lock);
    loss = *what;
    mode = LOSE_FIRST;
    pthread_mutex_unlock(&lock);
}
