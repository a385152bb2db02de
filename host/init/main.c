/* SPDX-License-Identifier: Apache-2.0 */
/* Becoming process 1 of a sandbox. The host has bound the control socket and made the boot pair;
 * until it says "go" on that pair it has not promised the sandbox to anyone, so a host that dies
 * before leaves nothing behind: the pair breaks, this process exits, the sandbox is gone. */
#include "init.h"
#include "slu/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *default_environment[] = {
    (char[]){"HOME=/home/user"},
    (char[]){"USER=user"},
    (char[]){"LOGNAME=user"},
    (char[]){"SHELL=/bin/bash"},
    (char[]){"LANG=C.UTF-8"},
    (char[]){"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
    (char[]){"E2B_SANDBOX=true"},
    NULL,
};

_Noreturn static void
give_up(const char *what)
{
    fprintf(stderr, "sandbox init: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Reads one whole message from the boot pair. */
static void
await_go(struct slu_init *init)
{
    struct slu_buffer message = {0};
    const int64_t give_up_at_ms = slu_init_now_ms() + SLU_INIT_BOOT_MS;

    for (;;) {
        const int64_t whole = slu_init_whole(message.data, message.size, SLU_INIT_REQUEST_MAX);
        if (whole > 0)
            break;

        char bytes[4096];
        struct pollfd boot = {.fd = SLU_INIT_BOOT_FD, .events = POLLIN};
        const int64_t left_ms = give_up_at_ms - slu_init_now_ms();
        if (whole < 0 || left_ms <= 0 || poll(&boot, 1, (int) left_ms) < 0)
            give_up("waiting for the host");
        const ssize_t got = recv(SLU_INIT_BOOT_FD, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            exit(1); /* The host is gone and nobody was promised this sandbox. */
        if (got > 0)
            slu_buffer_append(&message, bytes, (size_t) got);
    }

    struct slu_init_reader go = slu_init_read(message.data, message.size);
    if (go.type != SLU_INIT_GO)
        give_up("the host said something else than go");
    init->environment = slu_environment_join(default_environment, go);
    slu_buffer_done(&message);
}

static void
reap(struct slu_init *init)
{
    int wait_status;
    pid_t pid;
    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
        for (int i = 0; i < init->worker_count; i++) {
            if (init->workers[i] == pid)
                init->workers[i] = init->workers[--init->worker_count];
        }
        slu_process_exited(init, pid, wait_status);
    }
}

static void
take_signal(struct slu_init *init, struct slu_watch *watch, uint32_t events)
{
    (void) events;
    struct signalfd_siginfo info;
    while (read(watch->fd, &info, sizeof(info)) == (ssize_t) sizeof(info))
        ;
    reap(init);
}

static void
setup_signals(struct slu_init *init)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);

    init->signals = (struct slu_watch){
        .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
        .ready = take_signal,
    };
    if (init->signals.fd < 0 || !slu_watch_add(init, &init->signals, EPOLLIN))
        give_up("signals");
}

static void
forget_the_outside(void)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        give_up("/dev/null");
    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
}

int
main(void)
{
    /* No process of the sandbox may trace this one or look at its descriptors. */
    prctl(PR_SET_DUMPABLE, 0);
    fcntl(SLU_INIT_BOOT_FD, F_SETFD, FD_CLOEXEC);
    fcntl(SLU_INIT_CONTROL_FD, F_SETFD, FD_CLOEXEC);
    fcntl(SLU_INIT_CONTROL_FD, F_SETFL, O_NONBLOCK);
    umask(S_IWGRP | S_IWOTH);

    if (listen(SLU_INIT_CONTROL_FD, SLU_INIT_PEERS_MAX) != 0)
        give_up("listen");
    if (send(SLU_INIT_BOOT_FD, "R", 1, MSG_NOSIGNAL) != 1)
        give_up("telling the host");
    close_range(SLU_INIT_CONTROL_FD + 1, ~0U, 0);

    struct slu_init init = {
        .control = {.fd = SLU_INIT_CONTROL_FD, .ready = slu_peer_accept},
    };
    await_go(&init);
    close(SLU_INIT_BOOT_FD);
    forget_the_outside();

    init.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (init.epoll < 0 || !slu_watch_add(&init, &init.control, EPOLLIN))
        give_up("epoll");
    setup_signals(&init);
    slu_init_loop(&init);
}
