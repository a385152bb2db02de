/* SPDX-License-Identifier: Apache-2.0 */
/* The store port on Redis: observations here, views in store_redis_view.c, the connection in
 * store_redis_link.c. Everything runs on the loop's thread. */
#include "slu/base/memory.h"
#include "slu/port/store.h"
#include "store_redis_link.h"
#include "store_redis_view.h"
#include "uv_later.h"

#include <hiredis/hiredis.h>
#include <uv.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PREFIX_MAX = 64,
    KEY_SIZE = PREFIX_MAX + 32,
    OBSERVATIONS_BACKLOG = 8 * 1024 * 1024, /* Hints are dropped before views are delayed. */
};

struct slu_store {
    struct slu_redis_link *link;
    struct slu_redis_views *views;
    struct slu_later later;
    char *prefix;
    void (*closed)(void *);
    void *closed_context;
};

/* One slu_store_observations under way. */
struct reading {
    struct slu_later_call later;
    struct slu_store *store;
    int shard;
    slu_observation_fn *seen;
    void (*done)(void *, bool);
    void *context;
};

/* A brace in the prefix would be the hash tag instead of the shard's. */
static enum slu_status
check_prefix(const char *prefix, struct slu_error *reterr)
{
    if (strlen(prefix) > PREFIX_MAX || strpbrk(prefix, "{} \t\r\n")) {
        return slu_fail(reterr, SLU_INVALID,
                        "the Redis key prefix '%s' is longer than %d bytes or has a brace or blank",
                        prefix, PREFIX_MAX);
    }
    return SLU_OK;
}

enum slu_status
slu_store_open(struct uv_loop_s *loop,
               const struct slu_store_settings *settings,
               struct slu_store **ret_store,
               struct slu_error *reterr)
{
    enum slu_status status = check_prefix(settings->key_prefix, reterr);
    if (status)
        return status;
    struct slu_redis_link *link;
    status = slu_redis_link_open(loop, settings->url, settings->password_file, &link, reterr);
    if (status)
        return status;

    struct slu_store *store = slu_alloc(sizeof(*store));
    store->link = link;
    store->prefix = slu_strdup(settings->key_prefix);
    slu_later_init(&store->later, loop);
    store->views = slu_redis_views_new(link, &store->later, store->prefix);
    *ret_store = store;
    return SLU_OK;
}

static void
free_store(void *context)
{
    struct slu_store *store = context;
    void (*closed)(void *) = store->closed;
    void *closed_context = store->closed_context;
    slu_redis_views_free(store->views);
    free(store->prefix);
    free(store);
    if (closed)
        closed(closed_context);
}

static void
close_rest(void *context)
{
    struct slu_store *store = context;
    slu_redis_views_end(store->views);
    slu_later_close(&store->later, free_store, store);
}

void
slu_store_close(struct slu_store *store, void (*closed)(void *context), void *context)
{
    store->closed = closed;
    store->closed_context = context;
    slu_redis_link_close(store->link, close_rest, store);
}

bool
slu_store_up(const struct slu_store *store)
{
    return slu_redis_link_up(store->link);
}

const char *
slu_store_trouble(const struct slu_store *store)
{
    return slu_redis_link_trouble(store->link);
}

void
slu_store_apply(struct slu_store *store,
                const struct slu_view_head *head,
                const struct slu_batch *batch,
                slu_view_done_fn *done,
                void *context)
{
    slu_redis_views_apply(store->views, head, batch, done, context);
}

void
slu_store_rewrite_begin(struct slu_store *store, const struct slu_view_head *head)
{
    slu_redis_views_begin(store->views, head);
}

void
slu_store_rewrite_put(
    struct slu_store *store, int shard, const char *key, const char *status, size_t status_size)
{
    slu_redis_views_put(store->views, shard, key, status, status_size);
}

void
slu_store_rewrite_finish(struct slu_store *store, int shard, slu_view_done_fn *done, void *context)
{
    slu_redis_views_finish(store->views, shard, done, context);
}

/* --- observations ---------------------------------------------------------------------------- */

static bool
send_command(struct slu_store *store,
             int argc,
             const char *const *argv,
             slu_redis_reply_fn *answered,
             void *context)
{
    size_t sizes[8];
    for (int i = 0; i < argc; i++)
        sizes[i] = strlen(argv[i]);
    return slu_redis_link_send(
        store->link,
        &(struct slu_redis_command){
            .argv = argv, .sizes = sizes, .argc = argc, .answered = answered, .context = context});
}

static void
write_observations_key(const struct slu_store *store, int shard, char ret_key[KEY_SIZE])
{
    snprintf(ret_key, KEY_SIZE, "%s{%d}:obs", store->prefix, shard);
}

void
slu_store_observe(struct slu_store *store,
                  int shard,
                  const char *key,
                  const char *external_id,
                  const char *life,
                  int64_t seen_at_ms)
{
    char name[KEY_SIZE];
    char value[512];
    write_observations_key(store, shard, name);
    const int size =
        snprintf(value, sizeof(value), "%" PRId64 " %s %s", seen_at_ms, life, external_id);
    if (size >= (int) sizeof(value) || slu_redis_link_backlog(store->link) > OBSERVATIONS_BACKLOG)
        return;
    (void) send_command(store, 4, (const char *[]){"HSET", name, key, value}, NULL, NULL);
}

void
slu_store_forget(struct slu_store *store, int shard, const char *key)
{
    char name[KEY_SIZE];
    write_observations_key(store, shard, name);
    (void) send_command(store, 3, (const char *[]){"HDEL", name, key}, NULL, NULL);
}

/* "<seen_at_ms> <life> <external id>"; anything else was not written by us, and is skipped. */
static void
tell_observation(const struct reading *reading, const char *key, char *value)
{
    char *life;
    const long long seen_at_ms = strtoll(value, &life, 10);
    if (life == value || *life++ != ' ')
        return;
    char *external_id = strchr(life, ' ');
    if (!external_id)
        return;
    *external_id++ = '\0';
    reading->seen(reading->context, key, external_id, life, seen_at_ms);
}

static void
end_reading(struct reading *reading, bool complete)
{
    reading->done(reading->context, complete);
    free(reading);
}

static void
end_reading_down(void *context)
{
    end_reading(context, false);
}

static bool ask_page(struct reading *reading, const char *cursor);

/* Keys may come twice, and those written meanwhile not at all: these are hints. */
static void
take_page(void *context, const struct redisReply *reply)
{
    struct reading *reading = context;
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[1]->type != REDIS_REPLY_ARRAY) {
        end_reading(reading, false);
        return;
    }
    const struct redisReply *page = reply->element[1];
    for (size_t i = 0; i + 1 < page->elements; i += 2) {
        if (page->element[i]->type == REDIS_REPLY_STRING &&
            page->element[i + 1]->type == REDIS_REPLY_STRING)
            tell_observation(reading, page->element[i]->str, page->element[i + 1]->str);
    }
    const char *cursor = reply->element[0]->str;
    if (strcmp(cursor, "0") == 0)
        end_reading(reading, true);
    else if (!ask_page(reading, cursor))
        end_reading(reading, false);
}

static bool
ask_page(struct reading *reading, const char *cursor)
{
    char name[KEY_SIZE];
    write_observations_key(reading->store, reading->shard, name);
    return send_command(reading->store, 5, (const char *[]){"HSCAN", name, cursor, "COUNT", "1000"},
                        take_page, reading);
}

void
slu_store_observations(struct slu_store *store,
                       int shard,
                       slu_observation_fn *seen,
                       void (*done)(void *context, bool complete),
                       void *context)
{
    struct reading *reading = slu_alloc(sizeof(*reading));
    *reading = (struct reading){
        .store = store, .shard = shard, .seen = seen, .done = done, .context = context};
    if (!ask_page(reading, "0"))
        slu_later_add(&store->later, &reading->later, end_reading_down, reading);
}
