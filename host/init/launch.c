/* SPDX-License-Identifier: Apache-2.0 */
/* Starting one command: pipes or a terminal, a session of its own, the environment, the folder. A
 * command that cannot start reports through a pipe which closes when exec succeeds. */
#include "init.h"
#include "slu/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum stage {
    STAGE_SESSION,
    STAGE_DIRECTORY,
    STAGE_EXEC
};

struct failure {
    enum stage stage;
    int error;
};

struct pipes {
    int input[2];
    int output[2];
    int errors[2];
    int report[2];
    int terminal[2]; /* Ours, the command's. */
};

static void
close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int
hand_over(int *fd)
{
    const int taken = *fd;
    *fd = -1;
    return taken;
}

static void
close_pair(int pair[2])
{
    close_fd(&pair[0]);
    close_fd(&pair[1]);
}

static void
close_all(struct pipes *pipes)
{
    close_pair(pipes->input);
    close_pair(pipes->output);
    close_pair(pipes->errors);
    close_pair(pipes->report);
    close_pair(pipes->terminal);
}

int
slu_terminal_resize(int terminal, int columns, int rows)
{
    const struct winsize size = {
        .ws_col = (unsigned short) columns,
        .ws_row = (unsigned short) rows,
    };
    return ioctl(terminal, TIOCSWINSZ, &size);
}

static bool
open_terminal(struct pipes *pipes, const struct slu_launch *launch)
{
    if (openpty(&pipes->terminal[0], &pipes->terminal[1], NULL, NULL, NULL) != 0)
        return false;
    fcntl(pipes->terminal[0], F_SETFD, FD_CLOEXEC);
    fcntl(pipes->terminal[1], F_SETFD, FD_CLOEXEC);
    return slu_terminal_resize(pipes->terminal[0], launch->columns, launch->rows) == 0;
}

static bool
open_pipes(struct pipes *pipes, const struct slu_launch *launch)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(pipes->report, O_CLOEXEC) != 0)
        return false;
    if (launch->terminal)
        return open_terminal(pipes, launch);
    if (launch->with_input && pipe2(pipes->input, O_CLOEXEC) != 0)
        return false;
    return pipe2(pipes->output, O_CLOEXEC) == 0 && pipe2(pipes->errors, O_CLOEXEC) == 0;
}

/* In a sandbox that runs out of memory the kernel should take a command, not the init. */
static void
volunteer_for_oom(void)
{
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, "500", 3) != 3) {
        /* Without it the kernel chooses by size, which finds the same process nearly always. */
    }
    close(fd);
}

static void
wire_up(const struct pipes *pipes, const struct slu_launch *launch)
{
    if (launch->terminal) {
        ioctl(pipes->terminal[1], TIOCSCTTY, 0);
        for (int fd = 0; fd <= 2; fd++)
            dup2(pipes->terminal[1], fd);
        return;
    }
    if (launch->with_input)
        dup2(pipes->input[0], 0); /* Else the init's own /dev/null stays. */
    dup2(pipes->output[1], 1);
    dup2(pipes->errors[1], 2);
}

_Noreturn static void
become(const struct pipes *pipes, const struct slu_launch *launch)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);

    struct failure failure = {STAGE_SESSION, 0};
    if (setsid() < 0)
        goto failed;
    volunteer_for_oom();
    wire_up(pipes, launch);

    failure.stage = STAGE_DIRECTORY;
    if (chdir(launch->directory) != 0)
        goto failed;

    failure.stage = STAGE_EXEC;
    environ = launch->environment; /* So that the command is looked up by its own PATH. */
    execvp(launch->arguments[0], launch->arguments);
failed:
    failure.error = errno;
    if (write(pipes->report[1], &failure, sizeof(failure)) < 0)
        _exit(126);
    _exit(127);
}

static void
explain(const struct failure *failure,
        const struct slu_launch *launch,
        const char **ret_code,
        char ret_message[256])
{
    const char *why = strerror(failure->error);
    *ret_code = "invalid_argument";
    if (failure->stage == STAGE_DIRECTORY)
        snprintf(ret_message, 256, "cwd '%.150s': %s", launch->directory, why);
    else if (failure->stage == STAGE_EXEC)
        snprintf(ret_message, 256, "cmd '%.150s': %s", launch->arguments[0], why);
    else
        snprintf(ret_message, 256, "a session for the command: %s", why);
    if (failure->error == EAGAIN || failure->error == ENOMEM)
        *ret_code = "resource_exhausted";
}

pid_t
slu_launch(const struct slu_launch *launch,
           int *ret_input,
           int ret_output[2],
           const char **ret_code,
           char ret_message[256])
{
    struct pipes pipes;
    pid_t pid = -1;
    if (open_pipes(&pipes, launch))
        pid = fork();
    if (pid == 0)
        become(&pipes, launch);
    if (pid < 0) {
        *ret_code = "resource_exhausted";
        snprintf(ret_message, 256, "no process for the command: %s", strerror(errno));
        close_all(&pipes);
        return -1;
    }

    struct failure failure;
    close_fd(&pipes.report[1]);
    if (read(pipes.report[0], &failure, sizeof(failure)) == (ssize_t) sizeof(failure)) {
        explain(&failure, launch, ret_code, ret_message);
        close_all(&pipes);
        return -1; /* Reaped like any orphan. */
    }

    if (launch->terminal) {
        *ret_input = fcntl(pipes.terminal[0], F_DUPFD_CLOEXEC, 0);
        ret_output[0] = hand_over(&pipes.terminal[0]);
        ret_output[1] = -1;
    } else {
        *ret_input = hand_over(&pipes.input[1]);
        ret_output[0] = hand_over(&pipes.output[0]);
        ret_output[1] = hand_over(&pipes.errors[0]);
    }
    close_all(&pipes);
    return pid;
}

void
slu_strings_free(char **strings)
{
    for (char **string = strings; string && *string; string++)
        slu_free_ptr(string);
    slu_free_ptr(&strings);
}

static bool
same_name(const char *a, const char *b)
{
    const size_t size = strcspn(a, "=");
    return strncmp(a, b, size) == 0 && b[size] == '=';
}

/* The base, with what the request says put over it. */
char **
slu_environment_join(char **base, struct slu_init_reader request)
{
    size_t count = 0;
    struct slu_init_value value;
    for (char **entry = base; *entry; entry++)
        count++;
    for (struct slu_init_reader reader = request; slu_init_next(&reader, &value);)
        count += value.field == SLU_INIT_F_ENVIRONMENT;

    char **joined = slu_alloc((count + 1) * sizeof(*joined));
    size_t used = 0;
    for (char **entry = base; *entry; entry++)
        joined[used++] = slu_strdup(*entry);

    while (slu_init_next(&request, &value)) {
        if (value.field != SLU_INIT_F_ENVIRONMENT)
            continue;
        char *entry = slu_memdup(value.bytes, value.size);
        size_t place = 0;
        while (place < used && !same_name(entry, joined[place]))
            place++;
        slu_free_ptr(&joined[place]);
        joined[place] = entry;
        used += place == used;
    }
    return joined;
}
