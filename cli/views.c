/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the views: pointer first, then what it points to, then the pointer again: a leader may
 * have written a new view and removed this one meanwhile. The keys are described in
 * lib/adapter/store_redis_lua.h. */
#include "resources.h"
#include "slu/adapter/redis_address.h"
#include "slu/base/memory.h"

#include <hiredis/hiredis.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHARDS_MAX = 1024,
    ATTEMPTS = 4,
    PAGE = 500,
    CONNECT_S = 2,
    ANSWER_S = 10,
};

struct views {
    const struct cli *cli;
    redisContext *redis;
    struct view_pointer *pointers; /* SHARDS_MAX of them. */
    char *why;
    size_t why_size;
};

static bool fail(struct views *views, const char *format, ...) SLU_PRINTF(2, 3);

static bool
fail(struct views *views, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(views->why, views->why_size, format, arguments);
    va_end(arguments);
    return false;
}

static redisReply *
ask(struct views *views, int argc, const char *const *argv)
{
    return redisCommandArgv(views->redis, argc, (const char **) (uintptr_t) argv, NULL);
}

/* True when the reply is of this type; otherwise says why not, and frees nothing. */
static bool
expect(struct views *views, const redisReply *reply, int type)
{
    if (!reply)
        return fail(views, "%s", views->redis->errstr);
    if (reply->type == REDIS_REPLY_ERROR)
        return fail(views, "%s", reply->str);
    return reply->type == type || fail(views, "an unexpected answer");
}

static bool
command_succeeds(struct views *views, int argc, const char *const *argv)
{
    redisReply *reply = ask(views, argc, argv);
    const bool good = expect(views, reply, REDIS_REPLY_STATUS);
    if (reply)
        freeReplyObject(reply);
    return good;
}

static bool
authenticate(struct views *views, const struct slu_redis_address *address)
{
    char password[512];
    FILE *file = fopen(views->cli->settings.redis_password_file, "re");
    if (!file)
        return fail(views, "the password file cannot be read");
    const size_t size = fread(password, 1, sizeof(password) - 1, file);
    fclose(file);
    password[size] = '\0';
    password[strcspn(password, "\r\n")] = '\0';
    const bool named = address->user[0] != '\0';
    const char *const argv[] = {"AUTH", named ? address->user : password, password};
    const bool good = command_succeeds(views, named ? 3 : 2, argv);
    explicit_bzero(password, sizeof(password));
    return good;
}

static bool
open_views(struct views *views)
{
    struct slu_redis_address address;
    struct slu_error error;
    if (slu_redis_address_read(views->cli->settings.redis_url, &address, &error))
        return fail(views, "%s", error.message);
    views->redis =
        redisConnectWithTimeout(address.host, address.port, (struct timeval){.tv_sec = CONNECT_S});
    if (!views->redis || views->redis->err)
        return fail(views, "%s", views->redis ? views->redis->errstr : "out of memory");
    redisSetTimeout(views->redis, (struct timeval){.tv_sec = ANSWER_S});
    if (views->cli->settings.redis_password_file[0] && !authenticate(views, &address))
        return false;
    char database[16];
    snprintf(database, sizeof(database), "%d", address.database);
    return address.database == 0 ||
           command_succeeds(views, 2, (const char *const[]){"SELECT", database});
}

static void
close_views(struct views *views)
{
    if (views->redis)
        redisFree(views->redis);
    free(views->pointers);
}

static void
name_key(const struct views *views, int shard, const char *suffix, char ret_name[512])
{
    snprintf(ret_name, 512, "%s{%d}:%s", views->cli->settings.redis_key_prefix, shard, suffix);
}

static void
name_view_key(const struct views *views, int shard, const char *suffix, char ret_name[512])
{
    snprintf(ret_name, 512, "%s{%d}:%s:%s", views->cli->settings.redis_key_prefix, shard,
             views->pointers[shard].view, suffix);
}

/* --- pointers -------------------------------------------------------------------------------- */

static const char *
element_text(const redisReply *reply, size_t index)
{
    if (index >= reply->elements || reply->element[index]->type != REDIS_REPLY_STRING)
        return "";
    return reply->element[index]->str;
}

static bool
take_pointer(struct views *views, struct view_pointer *ret)
{
    redisReply *reply = NULL;
    const int failed = redisGetReply(views->redis, (void **) &reply);
    const bool good = !failed && expect(views, reply, REDIS_REPLY_ARRAY);
    *ret = (struct view_pointer){0};
    if (failed)
        fail(views, "%s", views->redis->errstr);
    if (good && element_text(reply, 2)[0]) {
        ret->there = true;
        ret->epoch = strtoll(element_text(reply, 0), NULL, 10);
        ret->seq = strtoll(element_text(reply, 1), NULL, 10);
        snprintf(ret->view, sizeof(ret->view), "%s", element_text(reply, 2));
        snprintf(ret->url, sizeof(ret->url), "%s", element_text(reply, 3));
    }
    if (reply)
        freeReplyObject(reply);
    return good;
}

/* One round trip for all. */
static bool
read_pointers(struct views *views, int from, int count, struct view_pointer *ret)
{
    for (int i = 0; i < count; i++) {
        char name[512];
        name_key(views, from + i, "owner", name);
        const char *argv[] = {"HMGET", name, "epoch", "seq", "view", "url"};
        redisAppendCommandArgv(views->redis, 6, argv, NULL);
    }
    bool good = true;
    for (int i = 0; i < count; i++)
        good = good && take_pointer(views, &ret[i]);
    return good;
}

static bool
pointer_stands(struct views *views, int shard)
{
    struct view_pointer now;
    return read_pointers(views, shard, 1, &now) && now.there &&
           strcmp(now.view, views->pointers[shard].view) == 0;
}

int
views_pointers(
    const struct cli *cli, int count, struct view_pointer *ret, char *ret_why, size_t size)
{
    ret_why[0] = '\0';
    struct views views = {.cli = cli, .why = ret_why, .why_size = size};
    const bool good = open_views(&views) && read_pointers(&views, 0, count, ret);
    close_views(&views);
    return good ? CLI_OK : CLI_FAILED;
}

/* --- resources ------------------------------------------------------------------------------- */

static bool
add_found(struct views *views,
          const struct selection *selection,
          const char *key,
          const redisReply *value,
          struct resources *ret)
{
    if (value->type == REDIS_REPLY_NIL)
        return true;
    if (value->type != REDIS_REPLY_STRING)
        return fail(views, "an unexpected answer");
    const struct resource *added =
        resources_add(ret, key, strlen(key), value->str, (size_t) value->len);
    if (added && !selection_matches(selection, key, added->status))
        resources_remove(ret, key, strlen(key));
    return true;
}

/* The statuses of some keys of one view. */
static bool
read_statuses(struct views *views,
              const struct selection *selection,
              int shard,
              const char **keys,
              size_t count,
              struct resources *ret)
{
    char name[512];
    name_view_key(views, shard, "status", name);
    bool good = true;
    for (size_t from = 0; good && from < count; from += PAGE) {
        const char *argv[PAGE + 2] = {"HMGET", name};
        const size_t size = count - from < PAGE ? count - from : PAGE;
        memcpy(argv + 2, keys + from, size * sizeof(char *));
        redisReply *reply = ask(views, (int) size + 2, argv);
        good = expect(views, reply, REDIS_REPLY_ARRAY);
        for (size_t i = 0; good && i < reply->elements && i < size; i++)
            good = add_found(views, selection, keys[from + i], reply->element[i], ret);
        if (reply)
            freeReplyObject(reply);
    }
    return good;
}

static bool
read_set(struct views *views,
         const struct selection *selection,
         int shard,
         const char *index,
         struct resources *ret)
{
    char suffix[400], name[512];
    snprintf(suffix, sizeof(suffix), "idx:%s", index);
    name_view_key(views, shard, suffix, name);
    redisReply *reply = ask(views, 2, (const char *const[]){"SMEMBERS", name});
    bool good = expect(views, reply, REDIS_REPLY_ARRAY);
    if (good && reply->elements > 0) {
        const char **keys = slu_alloc(reply->elements * sizeof(char *));
        for (size_t i = 0; i < reply->elements; i++)
            keys[i] = element_text(reply, i);
        good = read_statuses(views, selection, shard, keys, reply->elements, ret);
        free(keys);
    }
    if (reply)
        freeReplyObject(reply);
    return good;
}

/* Whether the index "<tenant>/<project>/<kind>" can hold what is asked for. */
static bool
index_matches(const struct selection *selection, const char *index)
{
    const char *project = strchr(index, '/');
    const char *kind = project ? strchr(project + 1, '/') : NULL;
    if (!kind)
        return false;
    const size_t tenant_size = (size_t) (project - index);
    const size_t project_size = (size_t) (kind - project - 1);
    const char *want_tenant = selection->tenant ? selection->tenant : "";
    const char *want_project = selection->project ? selection->project : "";
    return (!selection->kind[0] || strcmp(kind + 1, selection->kind) == 0) &&
           (!want_tenant[0] || (strlen(want_tenant) == tenant_size &&
                                strncmp(index, want_tenant, tenant_size) == 0)) &&
           (!want_project[0] || (strlen(want_project) == project_size &&
                                 strncmp(project + 1, want_project, project_size) == 0));
}

static bool
read_by_indexes(struct views *views,
                const struct selection *selection,
                int shard,
                struct resources *ret)
{
    char name[512];
    name_view_key(views, shard, "kinds", name);
    redisReply *reply = ask(views, 2, (const char *const[]){"SMEMBERS", name});
    bool good = expect(views, reply, REDIS_REPLY_ARRAY);
    for (size_t i = 0; good && i < reply->elements; i++) {
        if (index_matches(selection, element_text(reply, i)))
            good = read_set(views, selection, shard, element_text(reply, i), ret);
    }
    if (reply)
        freeReplyObject(reply);
    return good;
}

static bool
read_shard(struct views *views, const struct selection *selection, int shard, struct resources *ret)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct resources found = {0};
        const char *key = selection->key;
        const bool good = selection->key[0]
                              ? read_statuses(views, selection, shard, &key, 1, &found)
                              : read_by_indexes(views, selection, shard, &found);
        if (good && pointer_stands(views, shard)) {
            for (size_t i = 0; i < found.count; i++)
                resources_add(ret, found.items[i].key, strlen(found.items[i].key),
                              found.items[i].text, found.items[i].size);
            resources_done(&found);
            return true;
        }
        resources_done(&found);
        if (!good || !read_pointers(views, shard, 1, &views->pointers[shard]) ||
            !views->pointers[shard].there)
            return good && fail(views, "the view of shard %d went away", shard);
    }
    return fail(views, "the view of shard %d changes too fast", shard);
}

int
resources_read_views(const struct cli *cli,
                     const struct selection *selection,
                     struct resources *ret,
                     char *ret_why,
                     size_t why_size)
{
    ret_why[0] = '\0';
    struct views views = {.cli = cli, .why = ret_why, .why_size = why_size};
    views.pointers = slu_alloc(SHARDS_MAX * sizeof(struct view_pointer));
    bool good = open_views(&views) && read_pointers(&views, 0, SHARDS_MAX, views.pointers);
    int last = -1;
    for (int shard = 0; good && shard < SHARDS_MAX; shard++)
        last = views.pointers[shard].there ? shard : last;
    if (good && last < 0)
        good = fail(&views, "no leader has written any yet");
    for (int shard = 0; good && shard <= last; shard++) {
        /* A gap in the numbers is a shard without view: what is in it would be missing. */
        good = views.pointers[shard].there ? read_shard(&views, selection, shard, ret)
                                           : fail(&views, "shard %d has none", shard);
    }
    close_views(&views);
    resources_sort(ret);
    return good ? CLI_OK : CLI_FAILED;
}
