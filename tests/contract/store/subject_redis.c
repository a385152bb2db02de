/* SPDX-License-Identifier: Apache-2.0 */
/* A redis-server of the test's own: a child process on a free port in a temporary folder. */
#include "slu/base/memory.h"
#include "store_subject.h"

#include <hiredis/hiredis.h>

#include <arpa/inet.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/slu-store-XXXXXX";
static int port, dead_port;
static char url[64], dead_url[64];
static pid_t server;

static void
give_up(const char *what)
{
    fprintf(stderr, "subject_redis: %s\n", what);
    _exit(1);
}

static int
find_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *) &address, size) != 0 ||
        getsockname(fd, (struct sockaddr *) &address, &size) != 0)
        give_up("no free port");
    close(fd);
    return ntohs(address.sin_port);
}

static redisContext *
try_connect(void)
{
    redisContext *redis = redisConnectWithTimeout("127.0.0.1", port, (struct timeval){.tv_sec = 5});
    redisReply *reply = redis && !redis->err ? redisCommand(redis, "PING") : NULL;
    const bool ready = reply && reply->type == REDIS_REPLY_STATUS;
    if (reply)
        freeReplyObject(reply);
    if (ready)
        return redis;
    if (redis)
        redisFree(redis);
    return NULL;
}

static redisContext *
connect_within(int seconds)
{
    for (int i = 0; i < seconds * 100; i++) {
        redisContext *redis = try_connect();
        if (redis)
            return redis;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* 10 ms. */
    }
    give_up("redis-server does not answer");
    return NULL;
}

static redisReply *
ask(const char *format, ...)
{
    redisContext *redis = connect_within(10);
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(redis, format, arguments);
    va_end(arguments);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        give_up(reply ? reply->str : "no reply");
    redisFree(redis);
    return reply;
}

static long long
ask_number(redisReply *reply)
{
    const long long number = reply->integer;
    freeReplyObject(reply);
    return number;
}

static char *
ask_text(redisReply *reply)
{
    char *text = reply->type == REDIS_REPLY_STRING ? slu_strdup(reply->str) : NULL;
    freeReplyObject(reply);
    return text;
}

static void
spawn_server(void)
{
    char port_text[16];
    snprintf(port_text, sizeof(port_text), "%d", port);
    const char *const argv[] = {"redis-server", "--bind",    "127.0.0.1", "--port", port_text,
                                "--dir",        folder,      "--save",    "",       "--appendonly",
                                "no",           "--logfile", "redis.log", NULL};
    if (posix_spawnp(&server, "redis-server", NULL, NULL, (char *const *) (uintptr_t) argv,
                     environ) != 0)
        give_up("redis-server cannot be started");
    redisFree(connect_within(10));
}

static void
kill_server(void)
{
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
}

static void
remove_file(const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
}

void
subject_start(void)
{
    if (!mkdtemp(folder))
        give_up("no temporary folder");
    port = find_free_port();
    dead_port = find_free_port();
    snprintf(url, sizeof(url), "redis://localhost:%d", port);
    snprintf(dead_url, sizeof(dead_url), "redis://127.0.0.1:%d", dead_port);
    spawn_server();
}

void
subject_stop(void)
{
    kill_server();
    remove_file("dump.rdb");
    remove_file("redis.log");
    rmdir(folder);
}

const char *
subject_url(void)
{
    return url;
}

const char *
subject_dead_url(void)
{
    return dead_url;
}

void
subject_wipe(void)
{
    freeReplyObject(ask("FLUSHALL"));
    remove_file("dump.rdb"); /* FLUSHALL with `save ''` writes none; an earlier SAVE did. */
}

void
subject_crash(void)
{
    kill_server();
}

void
subject_revive(void)
{
    remove_file("dump.rdb");
    spawn_server();
}

void
subject_stall(void)
{
    freeReplyObject(ask("CLIENT PAUSE 4500 ALL"));
}

void
subject_remember(void)
{
    freeReplyObject(ask("SAVE"));
}

void
subject_roll_back(void)
{
    kill_server();
    spawn_server();
}

static char *
view_key(int shard, const char *suffix)
{
    char *view = ask_text(ask("HGET slu:{%d}:owner view", shard));
    if (!view)
        return NULL;
    char name[256];
    snprintf(name, sizeof(name), "slu:{%d}:%s:%s", shard, view, suffix);
    free(view);
    return slu_strdup(name);
}

void
subject_damage(int shard, const char *key)
{
    char *name = view_key(shard, "status");
    freeReplyObject(ask("HDEL %s %s", name, key));
    free(name);
}

static char *
view_field(int shard, const char *suffix, const char *field)
{
    char *name = view_key(shard, suffix);
    char *value = name ? ask_text(ask("HGET %s %s", name, field)) : NULL;
    free(name);
    return value;
}

char *
subject_status(int shard, const char *key)
{
    return view_field(shard, "status", key);
}

char *
subject_id(int shard, const char *kind_and_id)
{
    return view_field(shard, "ids", kind_and_id);
}

int
subject_count(int shard)
{
    char *name = view_key(shard, "status");
    const int count = name ? (int) ask_number(ask("HLEN %s", name)) : -1;
    free(name);
    return count;
}

bool
subject_indexed(int shard, const char *index, const char *key)
{
    char suffix[256];
    snprintf(suffix, sizeof(suffix), "idx:%s", index);
    char *name = view_key(shard, suffix);
    char *kinds = view_key(shard, "kinds");
    const bool member = name && ask_number(ask("SISMEMBER %s %s", name, key)) == 1;
    const bool listed = kinds && ask_number(ask("SISMEMBER %s %s", kinds, index)) == 1;
    free(name);
    free(kinds);
    return member && listed;
}

/* By the keys themselves, so that a view nobody lists any more is found too. */
int
subject_leftovers(int shard)
{
    char *view = ask_text(ask("HGET slu:{%d}:owner view", shard));
    redisReply *keys = ask("KEYS slu:{%d}:g*", shard);
    char start[128];
    const int size = snprintf(start, sizeof(start), "slu:{%d}:%s:", shard, view ? view : "");
    int count = 0;
    for (size_t i = 0; i < keys->elements; i++)
        count += strncmp(keys->element[i]->str, start, (size_t) size) != 0;
    freeReplyObject(keys);
    free(view);
    return count;
}
