/* SPDX-License-Identifier: Apache-2.0 */
/* A hiredis context lives from connect to the first error and then frees itself; the link outlives
 * it. `leave_context`, the glue's clean-up hook, is the one place where every end of a context
 * comes by: refused, reset, timed out, closed. */
#include "store_redis_link.h"

#include "slu/adapter/redis_address.h"
#include "slu/base/memory.h"
#include "slu/base/random.h"

#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <uv.h>

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    WATCH_MS = 250,
    PASSWORD_MAX = 512,
    HANDSHAKE_MAX = 3, /* AUTH, SELECT, PING. */
};

/* A command on its way. */
struct pending {
    struct slu_redis_link *link;
    slu_redis_reply_fn *answered;
    void *context;
    uint64_t sent_at_ms;
    size_t bytes;
    STAILQ_ENTRY(pending) next;
};

/* The socket of one context, as libuv sees it. */
struct glue {
    uv_poll_t poll;
    struct slu_redis_link *link;
    redisAsyncContext *redis; /* NULL once hiredis has let go of it. */
    int wanted;
};

struct slu_redis_link {
    uv_loop_t *loop;
    struct slu_redis_address address;
    char *password_file;
    struct slu_random random;

    uv_getaddrinfo_t lookup;
    bool looking_up;
    uv_timer_t retry; /* Waits before the next attempt, then guards the attempt itself. */
    uv_timer_t watch; /* Looks for commands without answer. */
    redisAsyncContext *redis;
    STAILQ_HEAD(, pending) pendings;
    size_t backlog;
    bool up;
    bool refused; /* Redis answered this attempt's handshake with an error. */
    char trouble[160];
    bool suspect; /* The oldest command was overdue at the last look already. */
    int attempts; /* Since it was up last. */

    bool closing;
    int handles; /* libuv handles and requests that still know us. */
    void (*closed)(void *);
    void *closed_context;
};

static void begin_attempt(struct slu_redis_link *link);

static void
release_handle(struct slu_redis_link *link)
{
    assert(link->handles > 0);
    if (--link->handles > 0)
        return;
    assert(link->closing && STAILQ_EMPTY(&link->pendings));
    void (*closed)(void *) = link->closed;
    void *context = link->closed_context;
    free(link->password_file);
    free(link);
    closed(context);
}

static void
forget_timer(uv_handle_t *handle)
{
    release_handle(handle->data);
}

/* --- glue between hiredis and libuv ---------------------------------------------------------- */

/* An error is forwarded as readiness: hiredis then meets it in read(2) or connect(2) and says which
 * it is. Either step may end the context, which is why `redis` is looked at again between them. */
static void
serve_socket(uv_poll_t *poll, int status, int events)
{
    struct glue *glue = poll->data;
    if (status < 0)
        events = UV_READABLE | UV_WRITABLE;
    if (glue->redis && (events & UV_READABLE))
        redisAsyncHandleRead(glue->redis);
    if (glue->redis && (events & UV_WRITABLE))
        redisAsyncHandleWrite(glue->redis);
}

static void
want(struct glue *glue, int events)
{
    if (events == glue->wanted)
        return;
    glue->wanted = events;
    if (events)
        uv_poll_start(&glue->poll, events, serve_socket);
    else
        uv_poll_stop(&glue->poll);
}

static void
add_read(void *context)
{
    struct glue *glue = context;
    want(glue, glue->wanted | UV_READABLE);
}

static void
del_read(void *context)
{
    struct glue *glue = context;
    want(glue, glue->wanted & ~UV_READABLE);
}

static void
add_write(void *context)
{
    struct glue *glue = context;
    want(glue, glue->wanted | UV_WRITABLE);
}

static void
del_write(void *context)
{
    struct glue *glue = context;
    want(glue, glue->wanted & ~UV_WRITABLE);
}

static void
free_glue(uv_handle_t *handle)
{
    struct glue *glue = handle->data;
    struct slu_redis_link *link = glue->link;
    free(glue);
    release_handle(link);
}

static void
retry_now(uv_timer_t *timer)
{
    begin_attempt(timer->data);
}

static void
retry_later(struct slu_redis_link *link)
{
    if (link->closing)
        return;
    const int doublings = link->attempts < 6 ? link->attempts : 6;
    uint64_t wait_ms = (uint64_t) SLU_REDIS_BACKOFF_MIN_MS << doublings;
    if (wait_ms > SLU_REDIS_BACKOFF_MAX_MS)
        wait_ms = SLU_REDIS_BACKOFF_MAX_MS;
    wait_ms = wait_ms / 2 + slu_random_below(&link->random, wait_ms / 2 + 1);
    link->attempts++;
    uv_timer_start(&link->retry, retry_now, wait_ms, 0);
}

static void
leave_context(void *context)
{
    struct glue *glue = context;
    struct slu_redis_link *link = glue->link;
    if (!link->refused) {
        snprintf(link->trouble, sizeof(link->trouble), "%s",
                 glue->redis->err ? glue->redis->errstr : "no answer in time");
    }
    glue->redis = NULL;
    link->redis = NULL;
    link->up = false;
    uv_timer_stop(&link->watch);
    uv_close((uv_handle_t *) &glue->poll, free_glue);
    retry_later(link);
}

static bool
attach(struct slu_redis_link *link, redisAsyncContext *redis)
{
    struct glue *glue = slu_alloc(sizeof(*glue));
    if (uv_poll_init(link->loop, &glue->poll, redis->c.fd) != 0) {
        free(glue);
        return false;
    }
    link->handles++;
    glue->poll.data = glue;
    glue->link = link;
    glue->redis = redis;
    redis->ev.data = glue;
    redis->ev.addRead = add_read;
    redis->ev.delRead = del_read;
    redis->ev.addWrite = add_write;
    redis->ev.delWrite = del_write;
    redis->ev.cleanup = leave_context;
    return true;
}

/* --- commands -------------------------------------------------------------------------------- */

static void
drop_context(struct slu_redis_link *link)
{
    link->up = false;
    if (link->redis)
        redisAsyncFree(link->redis); /* Answers every pending command with NULL. */
}

static void
take_answer(redisAsyncContext *redis, void *reply, void *context)
{
    (void) redis;
    struct pending *pending = context;
    struct slu_redis_link *link = pending->link;
    if (!reply)
        link->up = false; /* Before anyone hears of it and asks for more. */
    assert(STAILQ_FIRST(&link->pendings) == pending);
    STAILQ_REMOVE_HEAD(&link->pendings, next);
    link->backlog -= pending->bytes;
    link->suspect = false;
    if (STAILQ_EMPTY(&link->pendings))
        uv_timer_stop(&link->watch);
    if (pending->answered)
        pending->answered(pending->context, reply);
    free(pending);
}

/* Overdue twice in a row, with a turn of the loop between: a loop that stood still for seconds
 * itself gets the chance to read the answers that wait in its socket. */
static void
look_for_silence(uv_timer_t *timer)
{
    struct slu_redis_link *link = timer->data;
    const struct pending *oldest = STAILQ_FIRST(&link->pendings);
    const bool overdue =
        oldest && uv_now(link->loop) - oldest->sent_at_ms >= (uint64_t) SLU_REDIS_COMMAND_MS;
    if (overdue && link->suspect)
        drop_context(link);
    else
        link->suspect = overdue;
}

static bool
issue(struct slu_redis_link *link, const struct slu_redis_command *command)
{
    struct pending *pending = slu_alloc(sizeof(*pending));
    *pending = (struct pending){.link = link,
                                .answered = command->answered,
                                .context = command->context,
                                .sent_at_ms = uv_now(link->loop)};
    for (int i = 0; i < command->argc; i++)
        pending->bytes += command->sizes[i];

    /* hiredis takes `const char **`, and changes neither level. */
    if (redisAsyncCommandArgv(link->redis, take_answer, pending, command->argc,
                              (const char **) (uintptr_t) command->argv,
                              command->sizes) != REDIS_OK) {
        free(pending);
        return false;
    }
    STAILQ_INSERT_TAIL(&link->pendings, pending, next);
    link->backlog += pending->bytes;
    if (!uv_is_active((uv_handle_t *) &link->watch))
        uv_timer_start(&link->watch, look_for_silence, WATCH_MS, WATCH_MS);
    return true;
}

bool
slu_redis_link_send(struct slu_redis_link *link, const struct slu_redis_command *command)
{
    return link->up && issue(link, command);
}

const char *
slu_redis_link_trouble(const struct slu_redis_link *link)
{
    return link->trouble;
}

bool
slu_redis_link_up(const struct slu_redis_link *link)
{
    return link->up;
}

size_t
slu_redis_link_backlog(const struct slu_redis_link *link)
{
    return link->backlog;
}

/* --- connecting ------------------------------------------------------------------------------ */

static void
finish_handshake(void *context, const struct redisReply *reply)
{
    struct slu_redis_link *link = context;
    if (!reply)
        return;
    if (reply->type == REDIS_REPLY_ERROR && !link->refused) {
        /* Wrong password, no such database, still loading its file: the timer ends this attempt. */
        link->refused = true;
        snprintf(link->trouble, sizeof(link->trouble), "%s", reply->str);
        uv_timer_start(&link->retry, retry_now, SLU_REDIS_BACKOFF_MAX_MS / 2, 0);
    }
    if (!link->refused && reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "PONG") == 0) {
        uv_timer_stop(&link->retry);
        link->attempts = 0;
        link->up = true;
        link->trouble[0] = '\0';
    }
}

static bool
send_step(struct slu_redis_link *link, int argc, const char *const *argv)
{
    size_t sizes[HANDSHAKE_MAX];
    for (int i = 0; i < argc; i++)
        sizes[i] = strlen(argv[i]);
    return issue(link, &(struct slu_redis_command){.argv = argv,
                                                   .sizes = sizes,
                                                   .argc = argc,
                                                   .answered = finish_handshake,
                                                   .context = link});
}

/* Read at each connection, so that a changed password needs no restart. */
static bool
read_password(const struct slu_redis_link *link, char ret_password[PASSWORD_MAX])
{
    FILE *file = fopen(link->password_file, "re");
    if (!file)
        return false;
    const size_t size = fread(ret_password, 1, PASSWORD_MAX - 1, file);
    fclose(file);
    ret_password[size] = '\0';
    ret_password[strcspn(ret_password, "\r\n")] = '\0';
    return ret_password[0] != '\0';
}

static bool
shake_hands(struct slu_redis_link *link)
{
    bool sent = true;
    if (link->password_file[0]) {
        char password[PASSWORD_MAX];
        if (!read_password(link, password)) {
            link->refused = true;
            snprintf(link->trouble, sizeof(link->trouble),
                     "the Redis password file cannot be read");
            return false;
        }
        const bool named = link->address.user[0] != '\0';
        const char *argv[] = {"AUTH", named ? link->address.user : password, password};
        sent = send_step(link, named ? 3 : 2, argv);
        explicit_bzero(password, sizeof(password));
    }
    if (sent && link->address.database > 0) {
        char database[16];
        snprintf(database, sizeof(database), "%d", link->address.database);
        sent = send_step(link, 2, (const char *[]){"SELECT", database});
    }
    return sent && send_step(link, 1, (const char *[]){"PING"});
}

static void
keep_alive(int fd)
{
    const int on = 1, idle_s = 5, unacked_ms = 2 * SLU_REDIS_COMMAND_MS;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked_ms, sizeof(unacked_ms));
}

static void
take_connection(const redisAsyncContext *redis, int status)
{
    struct slu_redis_link *link = redis->data;
    if (status == REDIS_OK)
        keep_alive(redis->c.fd);
    else
        link->up = false;
}

static void
connect_to(struct slu_redis_link *link, const char *ip)
{
    redisAsyncContext *redis = redisAsyncConnect(ip, link->address.port);
    if (!redis || redis->err || !attach(link, redis)) {
        if (redis)
            redisAsyncFree(redis);
        retry_later(link);
        return;
    }
    redis->data = link;
    link->redis = redis;
    link->refused = false;
    uv_timer_start(&link->retry, retry_now, SLU_REDIS_CONNECT_MS, 0);
    /* Sets the glue to wait for writability: the callback must come after the glue is there. */
    redisAsyncSetConnectCallback(redis, take_connection);
    if (!shake_hands(link))
        drop_context(link);
}

/* Each attempt takes the next address of the name, so that a dead one costs one attempt. */
static void
take_lookup(uv_getaddrinfo_t *lookup, int status, struct addrinfo *list)
{
    struct slu_redis_link *link = lookup->data;
    link->looking_up = false;
    if (link->closing || status != 0 || !list) {
        snprintf(link->trouble, sizeof(link->trouble), "name lookup: %s", uv_strerror(status));
        uv_freeaddrinfo(list);
        retry_later(link);
        release_handle(link);
        return;
    }
    int count = 0;
    for (const struct addrinfo *one = list; one; one = one->ai_next)
        count++;
    const struct addrinfo *chosen = list;
    for (int skip = link->attempts % count; skip > 0; skip--)
        chosen = chosen->ai_next;

    char ip[INET6_ADDRSTRLEN] = "";
    if (chosen->ai_family == AF_INET6)
        uv_ip6_name((const struct sockaddr_in6 *) (const void *) chosen->ai_addr, ip, sizeof(ip));
    else
        uv_ip4_name((const struct sockaddr_in *) (const void *) chosen->ai_addr, ip, sizeof(ip));
    uv_freeaddrinfo(list);
    connect_to(link, ip);
    release_handle(link);
}

static void
begin_attempt(struct slu_redis_link *link)
{
    if (link->redis) {
        drop_context(
            link); /* An attempt that did not come to its PONG in time; retries by itself. */
        return;
    }
    if (link->looking_up)
        return;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    link->lookup.data = link;
    if (uv_getaddrinfo(link->loop, &link->lookup, take_lookup, link->address.host, NULL, &hints) !=
        0) {
        retry_later(link);
        return;
    }
    link->looking_up = true;
    link->handles++;
}

enum slu_status
slu_redis_link_open(struct uv_loop_s *loop,
                    const char *url,
                    const char *password_file,
                    struct slu_redis_link **ret_link,
                    struct slu_error *reterr)
{
    struct slu_redis_address address;
    const enum slu_status status = slu_redis_address_read(url, &address, reterr);
    if (status)
        return status;

    struct slu_redis_link *link = slu_alloc(sizeof(*link));
    link->loop = loop;
    link->address = address;
    link->password_file = slu_strdup(password_file ? password_file : "");
    link->random.state = uv_hrtime() ^ (uint64_t) getpid() << 32;
    STAILQ_INIT(&link->pendings);
    uv_timer_init(loop, &link->retry);
    uv_timer_init(loop, &link->watch);
    link->retry.data = link->watch.data = link;
    link->handles = 2;
    begin_attempt(link);
    *ret_link = link;
    return SLU_OK;
}

void
slu_redis_link_close(struct slu_redis_link *link, void (*closed)(void *context), void *context)
{
    assert(!link->closing);
    link->closing = true;
    link->closed = closed;
    link->closed_context = context;
    drop_context(link);
    if (link->looking_up)
        uv_cancel((uv_req_t *) &link->lookup);
    uv_close((uv_handle_t *) &link->retry, forget_timer);
    uv_close((uv_handle_t *) &link->watch, forget_timer);
}
