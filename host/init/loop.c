/* SPDX-License-Identifier: Apache-2.0 */
/* One turn: wait, serve what is ready, then let processes and peers age. */
#include "init.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    FROZEN_MS_MIN = 500,
    DEADLINE_TURN_MS = 200,
};

int64_t
slu_init_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool
slu_watch_add(struct slu_init *init, struct slu_watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    watch->events = events;
    return epoll_ctl(init->epoll, EPOLL_CTL_ADD, watch->fd, &event) == 0;
}

void
slu_watch_set(struct slu_init *init, struct slu_watch *watch, uint32_t events)
{
    if (watch->fd < 0 || watch->events == events)
        return;
    struct epoll_event event = {.events = events, .data.ptr = watch};
    watch->events = events;
    epoll_ctl(init->epoll, EPOLL_CTL_MOD, watch->fd, &event);
}

void
slu_watch_close(struct slu_init *init, struct slu_watch *watch)
{
    if (watch->fd < 0)
        return;
    /* Said aloud: a copy of the descriptor in another process would keep it in the set. */
    epoll_ctl(init->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    close(watch->fd);
    watch->fd = -1;
}

/* Time spent frozen is time nobody had: deadlines do not count it. It shows as a turn that took
 * far longer than it wanted to wait; turns are short while a deadline runs, so that little of it
 * hides in the wait itself. */
static void
leave_out_frozen(struct slu_init *init, int64_t slept_since_ms, int wait_ms)
{
    const int64_t over_ms = slu_init_now_ms() - slept_since_ms - wait_ms;
    if (wait_ms >= 0 && over_ms > FROZEN_MS_MIN)
        slu_process_postpone(init, over_ms);
}

_Noreturn void
slu_init_loop(struct slu_init *init)
{
    struct epoll_event events[32];

    for (;;) {
        const int64_t now_ms = slu_init_now_ms();
        const int tick_ms = slu_process_tick(init, now_ms);
        const int wait_ms = tick_ms > DEADLINE_TURN_MS ? DEADLINE_TURN_MS : tick_ms;
        slu_peer_sweep(init);

        const int count = epoll_wait(init->epoll, events, SLU_COUNT(events), wait_ms);
        leave_out_frozen(init, now_ms, wait_ms);
        for (int i = 0; i < count; i++) {
            struct slu_watch *watch = events[i].data.ptr;
            if (watch->fd >= 0) /* Not closed by an event before it in this turn. */
                watch->ready(init, watch, events[i].events);
        }
    }
}
