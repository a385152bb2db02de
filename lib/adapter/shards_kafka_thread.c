/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, waits and wake-ups of the Kafka adapter. */
#include "shards_kafka_thread.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    MS_PER_S = 1000,
    NS_PER_MS = 1000 * 1000,
    NS_PER_S = 1000 * 1000 * 1000
};

void
slu_lock_init(pthread_mutex_t *lock, pthread_cond_t *changed)
{
    pthread_mutex_init(lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void
slu_lock_done(pthread_mutex_t *lock, pthread_cond_t *changed)
{
    pthread_mutex_destroy(lock);
    pthread_cond_destroy(changed);
}

static struct timespec
moment(clockid_t clock, int64_t in_ms)
{
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_sec += in_ms / MS_PER_S;
    at.tv_nsec += in_ms % MS_PER_S * NS_PER_MS;
    if (at.tv_nsec >= NS_PER_S) {
        at.tv_sec++;
        at.tv_nsec -= NS_PER_S;
    }
    return at;
}

struct timespec
slu_wait_until(int64_t in_ms)
{
    return moment(CLOCK_MONOTONIC, in_ms);
}

bool
slu_thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *), void *context)
{
    /* Signals belong to the program's loop. */
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(ret_thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        pthread_setname_np(*ret_thread, name);
    return !failed;
}

bool
slu_thread_join(pthread_t thread, int64_t patience_ms)
{
    const struct timespec until = moment(CLOCK_REALTIME, patience_ms);
    if (!pthread_timedjoin_np(thread, NULL, &until))
        return true;
    pthread_detach(thread);
    return false;
}

int
slu_bell_open(void)
{
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert(fd >= 0);
    return fd;
}

void
slu_bell_ring(int fd)
{
    const uint64_t one = 1;
    const ssize_t written = write(fd, &one, sizeof(one));
    (void) written; /* EAGAIN: it rings already. */
}

void
slu_bell_sleep(int fd, int64_t at_most_ms)
{
    struct pollfd bell = {.fd = fd, .events = POLLIN};
    if (poll(&bell, 1, (int) at_most_ms) > 0) {
        uint64_t rings;
        const ssize_t got = read(fd, &rings, sizeof(rings));
        (void) got; /* EAGAIN: somebody else took it. */
    }
}

void
slu_bell_close(int fd)
{
    close(fd);
}
