/* SPDX-License-Identifier: Apache-2.0 */
/* Commands and their output. A command's end is told once it has exited and its output is closed,
 * or has been quiet for a while though some descendant still holds it. Readers that fall behind
 * make the command wait; without any reader the newest output is kept, the oldest goes. */
#include "init.h"
#include "slu/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    READ_SIZE = 32 * 1024,
    WAIT_MS_MAX = 60 * 60 * 1000,
};

struct slu_process *
slu_process_find(struct slu_init *init, struct slu_init_reader request)
{
    const int64_t pid = slu_init_number(request, SLU_INIT_F_PID, 0);
    SLU_AUTO_FREE char *tag = slu_init_text(request, SLU_INIT_F_TAG);

    for (struct slu_process *process = init->processes; process; process = process->next) {
        if (tag ? process->tag && strcmp(process->tag, tag) == 0 : process->pid == pid)
            return process;
    }
    return NULL;
}

static bool
is_blocked(const struct slu_init *init, const struct slu_process *process)
{
    for (const struct slu_peer *peer = init->peers; peer; peer = peer->next) {
        if (peer->process == process && slu_peer_pending(peer) > SLU_INIT_PENDING_MAX)
            return true;
    }
    return false;
}

/* Reads from the process only while its followers keep up. */
void
slu_process_unblock(struct slu_init *init, struct slu_process *process)
{
    const uint32_t events = is_blocked(init, process) ? 0 : EPOLLIN;
    for (size_t i = 0; i < SLU_COUNT(process->output); i++)
        slu_watch_set(init, &process->output[i].watch, events);
}

void
slu_process_detach(struct slu_init *init, struct slu_peer *peer)
{
    struct slu_process *process = peer->process;
    peer->process = NULL;
    if (process)
        slu_process_unblock(init, process);
}

/* Takes whole messages off the front until what is left fits. */
static void
trim_kept(struct slu_process *process)
{
    size_t gone = 0;
    while (process->kept.size - gone > SLU_INIT_KEPT_MAX) {
        const int64_t whole = slu_init_whole(process->kept.data + gone, process->kept.size - gone,
                                             SLU_INIT_MESSAGE_MAX);
        if (whole <= 0)
            break;
        gone += (size_t) whole;
    }
    process->dropped += (int64_t) gone;
    process->kept.size -= gone;
    memmove(process->kept.data, process->kept.data + gone, process->kept.size);
}

static void
pass_on(struct slu_init *init, struct slu_process *process, const struct slu_buffer *message)
{
    bool followed = false;
    for (struct slu_peer *peer = init->peers; peer; peer = peer->next) {
        if (peer->process != process)
            continue;
        followed = true;
        slu_buffer_append(&peer->out, message->data, message->size);
        slu_peer_flush(init, peer);
    }
    if (followed)
        return;

    slu_buffer_append(&process->kept, message->data, message->size);
    if (process->kept.size >
        2 * (size_t) SLU_INIT_KEPT_MAX) /* Seldom, so that trimming is cheap. */
        trim_kept(process);
}

static void
write_end(const struct slu_process *process, struct slu_buffer *out)
{
    const size_t at = slu_init_begin(out, SLU_INIT_ENDED);
    if (WIFSIGNALED(process->wait_status))
        slu_init_put_number(out, SLU_INIT_F_SIGNAL, WTERMSIG(process->wait_status));
    else
        slu_init_put_number(out, SLU_INIT_F_EXIT_CODE, WEXITSTATUS(process->wait_status));
    if (process->timed_out)
        slu_init_put_number(out, SLU_INIT_F_TIMED_OUT, 1);
    if (process->dropped)
        slu_init_put_number(out, SLU_INIT_F_DROPPED, process->dropped);
    slu_init_end(out, at);
}

static void
tell_end(struct slu_init *init, struct slu_process *process)
{
    for (struct slu_peer *peer = init->peers; peer; peer = peer->next) {
        if (peer->process != process)
            continue;
        write_end(process, &peer->out);
        peer->process = NULL;
        peer->last = true;
        process->fetched = true;
        slu_peer_flush(init, peer);
    }
    process->ended = true;
}

static bool
is_open(const struct slu_process *process)
{
    return process->output[0].watch.fd >= 0 || process->output[1].watch.fd >= 0;
}

static void
end_if_over(struct slu_init *init, struct slu_process *process)
{
    if (process->exited && !process->ended && !is_open(process))
        tell_end(init, process);
}

static void
read_output(struct slu_init *init, struct slu_watch *watch, uint32_t events)
{
    (void) events;
    struct slu_stream *stream = (struct slu_stream *) (void *) watch;
    struct slu_process *process = stream->process;
    char bytes[READ_SIZE];

    const ssize_t got = read(watch->fd, bytes, sizeof(bytes));
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) { /* A terminal says EIO when its last holder has gone. */
        slu_watch_close(init, watch);
        end_if_over(init, process);
        return;
    }

    SLU_AUTO_BUFFER struct slu_buffer message = {0};
    const size_t at = slu_init_begin(&message, SLU_INIT_OUTPUT);
    slu_init_put(&message, stream->field, bytes, (size_t) got);
    slu_init_end(&message, at);
    process->quiet_since_ms = slu_init_now_ms();
    pass_on(init, process, &message);
    slu_process_unblock(init, process);
}

static void
write_input(struct slu_init *init, struct slu_watch *watch, uint32_t events)
{
    struct slu_process *process = (void *) ((char *) watch - offsetof(struct slu_process, input));
    if (events & (EPOLLERR | EPOLLHUP)) { /* Nobody will read; epoll would say so for ever. */
        slu_watch_close(init, watch);
        return;
    }
    while (process->unread.size > 0) {
        const ssize_t sent = write(watch->fd, process->unread.data, process->unread.size);
        if (sent < 0 && errno == EAGAIN) {
            slu_watch_set(init, watch, EPOLLOUT);
            return;
        }
        if (sent < 0) { /* The process closed its end; what it did not want is dropped. */
            process->unread.size = 0;
            process->input_ends = true;
            break;
        }
        process->unread.size -= (size_t) sent;
        memmove(process->unread.data, process->unread.data + sent, process->unread.size);
    }

    slu_buffer_done(&process->unread);
    slu_watch_set(init, watch, 0);
    if (process->input_ends)
        slu_watch_close(init, watch);
}

void
slu_process_input(struct slu_init *init,
                  struct slu_peer *peer,
                  struct slu_process *process,
                  const struct slu_init_value *bytes)
{
    if (process->input.fd < 0 || process->input_ends) {
        slu_peer_fail(peer, "failed_precondition", "the input of the process is closed");
    } else if (process->unread.size + bytes->size > SLU_INIT_INPUT_MAX) {
        slu_peer_fail(peer, "resource_exhausted", "the process has %zu bytes of input to read yet",
                      process->unread.size);
    } else {
        slu_buffer_append(&process->unread, bytes->bytes, bytes->size);
        write_input(init, &process->input, 0);
        slu_peer_done(peer);
    }
}

void
slu_process_close_input(struct slu_init *init, struct slu_process *process)
{
    if (process->input.fd < 0)
        return;
    if (process->terminal) { /* Closing one copy would say nothing; this is what a user types. */
        slu_buffer_putc(&process->unread, '\x04');
        write_input(init, &process->input, 0);
        return;
    }
    process->input_ends = true;
    write_input(init, &process->input, 0);
}

static void
say_started(const struct slu_process *process, struct slu_peer *peer)
{
    const size_t at = slu_init_begin(&peer->out, SLU_INIT_STARTED);
    slu_init_put_number(&peer->out, SLU_INIT_F_PID, process->pid);
    slu_init_end(&peer->out, at);
}

void
slu_process_attach(struct slu_init *init, struct slu_peer *peer, struct slu_process *process)
{
    say_started(process, peer);
    slu_buffer_append(&peer->out, process->kept.data, process->kept.size);
    slu_buffer_done(&process->kept);
    peer->process = process;
    if (process->ended)
        tell_end(init, process);
}

static char **
collect_arguments(struct slu_init_reader request)
{
    size_t count = 0;
    struct slu_init_value value;
    for (struct slu_init_reader reader = request; slu_init_next(&reader, &value);)
        count += value.field == SLU_INIT_F_ARGUMENT;

    char **arguments = slu_alloc((count + 2) * sizeof(*arguments));
    size_t used = 0;
    arguments[used++] = slu_init_text(request, SLU_INIT_F_COMMAND);
    while (slu_init_next(&request, &value)) {
        if (value.field == SLU_INIT_F_ARGUMENT)
            arguments[used++] = slu_memdup(value.bytes, value.size);
    }
    return arguments;
}

static void
watch_streams(struct slu_init *init, struct slu_process *process, int input, const int output[2])
{
    static const enum slu_init_field fields[] = {SLU_INIT_F_STDOUT, SLU_INIT_F_STDERR};

    process->input = (struct slu_watch){.fd = input, .ready = write_input};
    if (input >= 0) {
        fcntl(input, F_SETFL, O_NONBLOCK);
        slu_watch_add(init, &process->input, 0);
    }
    for (size_t i = 0; i < SLU_COUNT(process->output); i++) {
        struct slu_stream *stream = &process->output[i];
        *stream = (struct slu_stream){
            .watch = {.fd = output[i], .ready = read_output},
            .field = process->terminal ? SLU_INIT_F_TERMINAL : fields[i],
            .process = process,
        };
        if (output[i] < 0)
            continue;
        fcntl(output[i], F_SETFL, O_NONBLOCK);
        slu_watch_add(init, &stream->watch, EPOLLIN);
    }
}

static int
count_processes(const struct slu_init *init, bool ended)
{
    int count = 0;
    for (const struct slu_process *process = init->processes; process; process = process->next)
        count += process->ended == ended;
    return count;
}

void
slu_process_start(struct slu_init *init, struct slu_peer *peer, struct slu_init_reader request)
{
    if (count_processes(init, false) >= SLU_INIT_PROCESSES_MAX) {
        slu_peer_fail(peer, "resource_exhausted", "more than %d commands at once",
                      SLU_INIT_PROCESSES_MAX);
        return;
    }

    SLU_AUTO_FREE char *directory = slu_init_text(request, SLU_INIT_F_DIRECTORY);
    const int64_t rows = slu_init_number(request, SLU_INIT_F_ROWS, 0);
    const struct slu_launch launch = {
        .arguments = collect_arguments(request),
        .environment = slu_environment_join(init->environment, request),
        .directory = directory ? directory : "/home/user",
        .with_input = slu_init_number(request, SLU_INIT_F_STDIN, 0) != 0,
        .terminal = rows > 0,
        .columns = (int) slu_init_number(request, SLU_INIT_F_COLUMNS, 80),
        .rows = (int) rows,
    };

    const char *code = "internal";
    char message[256] = "no command was named";
    int input = -1;
    int output[2] = {-1, -1};
    const pid_t pid =
        launch.arguments[0] ? slu_launch(&launch, &input, output, &code, message) : -1;
    slu_strings_free(launch.arguments);
    slu_strings_free(launch.environment);
    if (pid < 0) {
        slu_peer_fail(peer, code, "%s", message);
        return;
    }

    const int64_t timeout_ms = slu_init_number(request, SLU_INIT_F_TIMEOUT_MS, 0);
    struct slu_process *process = slu_alloc(sizeof(*process));
    process->pid = pid;
    process->tag = slu_init_text(request, SLU_INIT_F_TAG);
    process->terminal = launch.terminal;
    process->deadline_ms = timeout_ms > 0 ? slu_init_now_ms() + timeout_ms : 0;
    slu_buffer_append(&process->description, request.at, (size_t) (request.end - request.at));
    watch_streams(init, process, input, output);
    process->next = init->processes;
    init->processes = process;

    peer->process = process;
    say_started(process, peer);
}

/* Echoes what a process was started with, whose fields a listing shares. */
static void
describe(const struct slu_process *process, struct slu_buffer *out)
{
    const size_t at = slu_init_begin(out, SLU_INIT_PROCESS);
    slu_init_put_number(out, SLU_INIT_F_PID, process->pid);
    if (process->description.size)
        slu_buffer_append(out, process->description.data, process->description.size);
    slu_init_end(out, at);
}

void
slu_process_list(struct slu_init *init, struct slu_peer *peer)
{
    for (const struct slu_process *process = init->processes; process; process = process->next) {
        if (!process->exited)
            describe(process, &peer->out);
    }
    slu_peer_done(peer);
}

void
slu_process_exited(struct slu_init *init, pid_t pid, int wait_status)
{
    for (struct slu_process *process = init->processes; process; process = process->next) {
        if (process->pid != pid || process->exited)
            continue;
        process->exited = true;
        process->wait_status = wait_status;
        process->quiet_since_ms = slu_init_now_ms();
        process->deadline_ms = 0;
        slu_watch_close(init, &process->input);
        end_if_over(init, process);
        return;
    }
}

static void
forget(struct slu_init *init, struct slu_process *process)
{
    for (size_t i = 0; i < SLU_COUNT(process->output); i++)
        slu_watch_close(init, &process->output[i].watch);
    slu_watch_close(init, &process->input);
    slu_buffer_done(&process->description);
    slu_buffer_done(&process->unread);
    slu_buffer_done(&process->kept);
    slu_free_ptr(&process->tag);
    slu_free_ptr(&process);
}

/* What is due for one process; returns when it is due next, INT64_MAX for never. */
static int64_t
age(struct slu_init *init, struct slu_process *process, int64_t now_ms)
{
    if (process->deadline_ms && now_ms >= process->deadline_ms) {
        process->timed_out = true;
        process->deadline_ms = 0;
        kill(-process->pid, SIGKILL);
    }
    if (!process->exited)
        return process->deadline_ms ? process->deadline_ms : INT64_MAX;

    const int64_t lingers_until_ms = process->quiet_since_ms + SLU_INIT_LINGER_MS;
    if (!process->ended && (now_ms < lingers_until_ms || is_blocked(init, process)))
        return now_ms < lingers_until_ms ? lingers_until_ms : now_ms + SLU_INIT_LINGER_MS;
    if (!process->ended)
        tell_end(init, process);
    return process->quiet_since_ms + SLU_INIT_RETENTION_MS;
}

void
slu_process_postpone(struct slu_init *init, int64_t by_ms)
{
    for (struct slu_process *process = init->processes; process; process = process->next) {
        if (process->deadline_ms)
            process->deadline_ms += by_ms;
        process->quiet_since_ms += by_ms;
    }
}

int
slu_process_tick(struct slu_init *init, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;
    int spare = SLU_INIT_ENDED_MAX; /* The newest ends stay; the list begins with the newest. */
    struct slu_process **link = &init->processes;

    while (*link) {
        struct slu_process *process = *link;
        const int64_t due_ms = age(init, process, now_ms);
        if (process->ended && (process->fetched || due_ms <= now_ms || spare-- <= 0)) {
            *link = process->next;
            forget(init, process);
            continue;
        }
        next_ms = due_ms < next_ms ? due_ms : next_ms;
        link = &process->next;
    }
    if (next_ms == INT64_MAX)
        return -1;
    const int64_t wait_ms = next_ms <= now_ms ? 1 : next_ms - now_ms;
    return (int) (wait_ms < WAIT_MS_MAX ? wait_ms : WAIT_MS_MAX);
}
