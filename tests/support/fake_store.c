/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in arrays, the rules of design.md §8 in `judge`, answers from an idle handle. Dumb on
 * purpose: tests/contract/store proves that it behaves as Redis does. */
#include "fake_store.h"

#include "slu/base/memory.h"
#include "slu/port/store.h"

#include <uv.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    char *key, *value;
    char life[32];
    int64_t seen_at_ms;
};

struct rows {
    struct row *items;
    int count;
};

struct place {
    bool owned;
    char cluster[64];
    int64_t epoch, seq;
    int expected; /* Statuses the view should have. */
    struct rows view, observations;
};

struct backend {
    char *url;
    struct place now[FAKE_STORE_SHARDS], before[FAKE_STORE_SHARDS];
    struct backend *next;
};

struct answer {
    uv_idle_t idle;
    struct slu_store *store;
    slu_view_done_fn *done;
    slu_observation_fn *seen;
    void (*observed)(void *, bool);
    void *context;
    int shard;
    enum slu_view_result result;
};

struct rewrite {
    bool begun;
    struct slu_view_head head;
    char cluster[64]; /* The head's. */
    struct rows rows;
    slu_view_done_fn *done;
};

struct slu_store {
    uv_loop_t *loop;
    struct backend *backend;
    struct rewrite rewrites[FAKE_STORE_SHARDS];
    int answers;
    void (*closed)(void *);
    void *closed_context;
    uv_idle_t closing;
};

static struct backend *backends;
static bool away;

static struct row *
find_row(const struct rows *rows, const char *key, size_t size)
{
    for (int i = 0; i < rows->count; i++) {
        if (strlen(rows->items[i].key) == size && memcmp(rows->items[i].key, key, size) == 0)
            return &rows->items[i];
    }
    return NULL;
}

static void
remove_row(struct rows *rows, const char *key, size_t size)
{
    struct row *row = find_row(rows, key, size);
    if (!row)
        return;
    free(row->key);
    free(row->value);
    *row = rows->items[--rows->count];
}

static struct row *
put_row(struct rows *rows, const char *key, size_t key_size, const char *value, size_t value_size)
{
    struct row *row = find_row(rows, key, key_size);
    if (!row) {
        rows->items = slu_realloc(rows->items, sizeof(*row) * (size_t) (rows->count + 1));
        row = &rows->items[rows->count++];
        *row = (struct row){.key = slu_memdup(key, key_size)};
    }
    free(row->value);
    row->value = slu_memdup(value, value_size);
    return row;
}

static void
free_rows(struct rows *rows)
{
    while (rows->count > 0)
        remove_row(rows, rows->items[0].key, strlen(rows->items[0].key));
    free(rows->items);
    *rows = (struct rows){0};
}

static struct rows
copy_rows(const struct rows *rows)
{
    struct rows copy = {0};
    for (int i = 0; i < rows->count; i++) {
        const struct row *from = &rows->items[i];
        struct row *to =
            put_row(&copy, from->key, strlen(from->key), from->value, strlen(from->value));
        memcpy(to->life, from->life, sizeof(to->life));
        to->seen_at_ms = from->seen_at_ms;
    }
    return copy;
}

static void
clear_places(struct place *places)
{
    for (int i = 0; i < FAKE_STORE_SHARDS; i++) {
        free_rows(&places[i].view);
        free_rows(&places[i].observations);
        places[i] = (struct place){0};
    }
}

static void
copy_places(struct place *to, const struct place *from)
{
    clear_places(to);
    for (int i = 0; i < FAKE_STORE_SHARDS; i++) {
        to[i] = from[i];
        to[i].view = copy_rows(&from[i].view);
        to[i].observations = copy_rows(&from[i].observations);
    }
}

static struct backend *
backend_of(const char *url)
{
    for (struct backend *backend = backends; backend; backend = backend->next) {
        if (strcmp(backend->url, url) == 0)
            return backend;
    }
    struct backend *backend = slu_alloc(sizeof(*backend));
    backend->url = slu_strdup(url);
    backend->next = backends;
    backends = backend;
    return backend;
}

/* --- answering ------------------------------------------------------------------------------- */

static void
free_answer(uv_handle_t *handle)
{
    struct answer *answer = handle->data;
    answer->store->answers--;
    free(answer);
}

static void
give_answer(uv_idle_t *idle)
{
    struct answer *answer = idle->data;
    uv_close((uv_handle_t *) idle, free_answer);
    if (answer->done)
        answer->done(answer->context, answer->shard, answer->result);
    if (!answer->observed)
        return;
    const struct rows *rows = &answer->store->backend->now[answer->shard].observations;
    for (int i = 0; !away && i < rows->count; i++) {
        const struct row *row = &rows->items[i];
        answer->seen(answer->context, row->key, row->value, row->life, row->seen_at_ms);
    }
    answer->observed(answer->context, !away);
}

static void
answer_later(struct slu_store *store, struct answer content)
{
    struct answer *answer = slu_memdup(&content, sizeof(content));
    answer->store = store;
    store->answers++;
    uv_idle_init(store->loop, &answer->idle);
    answer->idle.data = answer;
    uv_idle_start(&answer->idle, give_answer);
}

/* --- views ----------------------------------------------------------------------------------- */

/* APPLIED: nothing stands against this head writing here. */
static enum slu_view_result
judge(const struct place *place, const struct slu_view_head *head)
{
    if (away)
        return SLU_VIEW_DOWN;
    if (place->owned && strcmp(place->cluster, head->cluster) != 0)
        return SLU_VIEW_OTHER_CLUSTER;
    if (place->owned && place->epoch > head->epoch)
        return SLU_VIEW_STALE;
    return SLU_VIEW_APPLIED;
}

static void
set_owner(struct place *place, const struct slu_view_head *head)
{
    place->owned = true;
    snprintf(place->cluster, sizeof(place->cluster), "%s", head->cluster);
    place->epoch = head->epoch;
    place->seq = head->seq;
    place->expected = place->view.count;
}

static enum slu_view_result
apply(struct place *place, const struct slu_view_head *head, const struct slu_batch *batch)
{
    const enum slu_view_result result = judge(place, head);
    if (result != SLU_VIEW_APPLIED)
        return result;
    if (!place->owned || place->seq != head->seq - 1 || place->view.count != place->expected ||
        (place->epoch != head->epoch && !batch->claim))
        return SLU_VIEW_GAP;
    for (size_t i = 0; i < batch->count; i++) {
        const struct slu_output *output = &batch->outputs[i];
        if (output->topic != SLU_TOPIC_STATUS)
            continue;
        if (output->value)
            put_row(&place->view, output->key, output->key_size, output->value, output->value_size);
        else
            remove_row(&place->view, output->key, output->key_size);
    }
    set_owner(place, head);
    return SLU_VIEW_APPLIED;
}

void
slu_store_apply(struct slu_store *store,
                const struct slu_view_head *head,
                const struct slu_batch *batch,
                slu_view_done_fn *done,
                void *context)
{
    const enum slu_view_result result = apply(&store->backend->now[head->shard], head, batch);
    answer_later(
        store,
        (struct answer){.done = done, .context = context, .shard = head->shard, .result = result});
}

void
slu_store_rewrite_begin(struct slu_store *store, const struct slu_view_head *head)
{
    struct rewrite *rewrite = &store->rewrites[head->shard];
    free_rows(&rewrite->rows);
    *rewrite = (struct rewrite){.begun = true, .head = *head};
    snprintf(rewrite->cluster, sizeof(rewrite->cluster), "%s", head->cluster);
    rewrite->head.cluster = rewrite->cluster;
}

void
slu_store_rewrite_put(
    struct slu_store *store, int shard, const char *key, const char *status, size_t status_size)
{
    assert(store->rewrites[shard].begun);
    put_row(&store->rewrites[shard].rows, key, strlen(key), status, status_size);
}

void
slu_store_rewrite_finish(struct slu_store *store, int shard, slu_view_done_fn *done, void *context)
{
    struct rewrite *rewrite = &store->rewrites[shard];
    struct place *place = &store->backend->now[shard];
    assert(rewrite->begun);
    enum slu_view_result result = judge(place, &rewrite->head);
    if (result == SLU_VIEW_APPLIED && place->owned && place->epoch == rewrite->head.epoch &&
        place->seq > rewrite->head.seq)
        result = SLU_VIEW_GAP;
    if (result == SLU_VIEW_APPLIED) {
        free_rows(&place->view);
        place->view = rewrite->rows;
        rewrite->rows = (struct rows){0};
        set_owner(place, &rewrite->head);
    }
    free_rows(&rewrite->rows);
    rewrite->begun = false;
    answer_later(
        store, (struct answer){.done = done, .context = context, .shard = shard, .result = result});
}

/* --- observations ---------------------------------------------------------------------------- */

void
slu_store_observe(struct slu_store *store,
                  int shard,
                  const char *key,
                  const char *external_id,
                  const char *life,
                  int64_t seen_at_ms)
{
    if (away)
        return;
    struct row *row = put_row(&store->backend->now[shard].observations, key, strlen(key),
                              external_id, strlen(external_id));
    snprintf(row->life, sizeof(row->life), "%s", life);
    row->seen_at_ms = seen_at_ms;
}

void
slu_store_forget(struct slu_store *store, int shard, const char *key)
{
    if (!away)
        remove_row(&store->backend->now[shard].observations, key, strlen(key));
}

void
slu_store_observations(struct slu_store *store,
                       int shard,
                       slu_observation_fn *seen,
                       void (*done)(void *context, bool complete),
                       void *context)
{
    answer_later(
        store, (struct answer){.seen = seen, .observed = done, .context = context, .shard = shard});
}

/* --- life ------------------------------------------------------------------------------------ */

enum slu_status
slu_store_open(struct uv_loop_s *loop,
               const struct slu_store_settings *settings,
               struct slu_store **ret_store,
               struct slu_error *reterr)
{
    (void) reterr;
    struct slu_store *store = slu_alloc(sizeof(*store));
    store->loop = loop;
    store->backend = backend_of(settings->url);
    *ret_store = store;
    return SLU_OK;
}

static void
free_store(uv_handle_t *handle)
{
    struct slu_store *store = handle->data;
    for (int i = 0; i < FAKE_STORE_SHARDS; i++)
        free_rows(&store->rewrites[i].rows);
    if (store->closed)
        store->closed(store->closed_context);
    free(store);
}

static void
close_when_answered(uv_idle_t *idle)
{
    struct slu_store *store = idle->data;
    if (store->answers == 0)
        uv_close((uv_handle_t *) idle, free_store);
}

void
slu_store_close(struct slu_store *store, void (*closed)(void *context), void *context)
{
    store->closed = closed;
    store->closed_context = context;
    uv_idle_init(store->loop, &store->closing);
    store->closing.data = store;
    uv_idle_start(&store->closing, close_when_answered);
}

bool
slu_store_up(const struct slu_store *store)
{
    (void) store;
    return !away;
}

const char *
slu_store_trouble(const struct slu_store *store)
{
    (void) store;
    return away ? "taken away" : "";
}

/* --- what happens to a store ----------------------------------------------------------------- */

void
fake_store_down(bool down)
{
    away = down;
}

void
fake_store_wipe(const char *url)
{
    clear_places(backend_of(url)->now);
}

void
fake_store_remember(const char *url)
{
    copy_places(backend_of(url)->before, backend_of(url)->now);
}

void
fake_store_roll_back(const char *url)
{
    copy_places(backend_of(url)->now, backend_of(url)->before);
}

void
fake_store_forget_all(void)
{
    while (backends) {
        struct backend *next = backends->next;
        clear_places(backends->now);
        clear_places(backends->before);
        free(backends->url);
        free(backends);
        backends = next;
    }
    away = false;
}

const char *
fake_store_status(const char *url, int shard, const char *key)
{
    const struct row *row = find_row(&backend_of(url)->now[shard].view, key, strlen(key));
    return row ? row->value : NULL;
}

int
fake_store_count(const char *url, int shard)
{
    const struct place *place = &backend_of(url)->now[shard];
    return place->owned ? place->view.count : -1;
}

void
fake_store_each(const char *url,
                int shard,
                void (*visit)(void *context, const char *key, const char *status),
                void *context)
{
    const struct rows *rows = &backend_of(url)->now[shard].view;
    for (int i = 0; i < rows->count; i++)
        visit(context, rows->items[i].key, rows->items[i].value);
}

void
fake_store_damage(const char *url, int shard, const char *key)
{
    remove_row(&backend_of(url)->now[shard].view, key, strlen(key));
}
