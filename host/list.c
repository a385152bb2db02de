/* SPDX-License-Identifier: Apache-2.0 */
/* Lists: filter, order, page. The order is by (created, id), which never changes, so an item is
 * seen exactly once however sandboxes come, go, pause and resume between two pages. */
#include "control.h"
#include "metadata_filter.h"
#include "sandbox.h"
#include "slu/base/memory.h"
#include "slu/model/time.h"
#include "uri.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_MAX = 100
};

struct list_query {
    json_t *pairs; /* NULL: no filter. */
    bool running;
    bool paused;
    bool ascending;
    int64_t started_after_ms;
    bool template_matches;
    long limit;
    bool continues;
    struct slu_host_cursor cursor;
};

static enum slu_status
read_states(struct list_query *query, char *states, struct slu_error *reterr)
{
    char *rest = NULL;
    if (!states || !*states)
        return SLU_OK;
    query->running = query->paused = false;
    for (char *state = strtok_r(states, ",", &rest); state; state = strtok_r(NULL, ",", &rest)) {
        if (strcmp(state, "running") == 0)
            query->running = true;
        else if (strcmp(state, "paused") == 0)
            query->paused = true;
        else
            return slu_fail(reterr, SLU_INVALID, "state '%.40s' must be running or paused", state);
    }
    return SLU_OK;
}

static enum slu_status
read_limit(struct list_query *query, const char *text, struct slu_error *reterr)
{
    char *end;
    query->limit = PAGE_MAX;
    if (!text || !*text)
        return SLU_OK;
    query->limit = strtol(text, &end, 10);
    if (*end || query->limit < 1 || query->limit > PAGE_MAX)
        return slu_fail(reterr, SLU_INVALID, "limit '%.40s' must be from 1 to %d", text, PAGE_MAX);
    return SLU_OK;
}

static enum slu_status
read_query(const char *text, struct list_query *query, struct slu_error *reterr)
{
    SLU_AUTO_FREE char *metadata = slu_host_uri_query(text, "metadata");
    SLU_AUTO_FREE char *states = slu_host_uri_query(text, "state");
    SLU_AUTO_FREE char *order = slu_host_uri_query(text, "order");
    SLU_AUTO_FREE char *after = slu_host_uri_query(text, "startedAfter");
    SLU_AUTO_FREE char *template = slu_host_uri_query(text, "template");
    SLU_AUTO_FREE char *limit = slu_host_uri_query(text, "limit");
    SLU_AUTO_FREE char *token = slu_host_uri_query(text, "nextToken");

    *query = (struct list_query){.running = true, .paused = true, .started_after_ms = INT64_MIN};
    query->ascending = order && strcmp(order, "asc") == 0;
    query->template_matches = !template || !*template || strcmp(template, "base") == 0;
    enum slu_status status = SLU_OK;
    if (order && *order && strcmp(order, "asc") != 0 && strcmp(order, "desc") != 0)
        status = slu_fail(reterr, SLU_INVALID, "order '%.40s' must be asc or desc", order);
    if (!status && after && *after && !slu_time_read(after, &query->started_after_ms))
        status = slu_fail(reterr, SLU_INVALID, "startedAfter '%.40s' is no RFC 3339 time", after);
    if (!status)
        status = read_states(query, states, reterr);
    if (!status)
        status = read_limit(query, limit, reterr);
    if (!status && token && *token) {
        query->continues = true;
        status = slu_host_cursor_decode(token, &query->cursor, reterr);
        query->ascending = query->cursor.ascending;
    }
    /* A parameter that is there and cannot be decoded must not turn into "no filter". */
    if (!status && !metadata && text && strstr(text, "metadata="))
        status = slu_fail(reterr, SLU_INVALID, "metadata is badly escaped");
    if (!status && metadata && *metadata)
        status = slu_host_metadata_parse(metadata, &query->pairs, reterr);
    return status;
}

static int
compare(int64_t created_a, const char *id_a, int64_t created_b, const char *id_b)
{
    if (created_a != created_b)
        return created_a < created_b ? -1 : 1;
    return strcmp(id_a, id_b);
}

static int
by_created(const void *a, const void *b)
{
    const struct slu_host_sandbox *left = *(struct slu_host_sandbox *const *) a;
    const struct slu_host_sandbox *right = *(struct slu_host_sandbox *const *) b;
    return compare(left->created_at_ms, left->id, right->created_at_ms, right->id);
}

static bool
selects(const struct list_query *query, const struct slu_host_sandbox *sandbox)
{
    if (sandbox->life == SLU_HOST_RUNNING ? !query->running
                                          : sandbox->life != SLU_HOST_PAUSED || !query->paused)
        return false;
    if (!query->template_matches || sandbox->created_at_ms <= query->started_after_ms)
        return false;
    if (query->continues) {
        const int order = compare(sandbox->created_at_ms, sandbox->id, query->cursor.created_at_ms,
                                  query->cursor.id);
        if (query->ascending ? order <= 0 : order >= 0)
            return false;
    }
    return !query->pairs || slu_host_metadata_matches(sandbox->metadata, query->pairs);
}

static void
answer_page(struct slu_host_request *request, const struct list_query *query)
{
    const struct slu_host_sandboxes *sandboxes = &request->host->sandboxes;
    SLU_AUTO_FREE struct slu_host_sandbox **found =
        slu_alloc((size_t) (sandboxes->count + 1) * sizeof(struct slu_host_sandbox *));
    size_t count = 0;
    long running = 0;
    for (struct slu_host_sandbox *sandbox = sandboxes->first; sandbox; sandbox = sandbox->next) {
        running += sandbox->life == SLU_HOST_RUNNING;
        if (selects(query, sandbox))
            found[count++] = sandbox;
    }
    qsort(found, count, sizeof(struct slu_host_sandbox *), by_created);

    json_t *page = json_array();
    const size_t size = count < (size_t) query->limit ? count : (size_t) query->limit;
    const struct slu_host_sandbox *last = NULL;
    for (size_t i = 0; i < size; i++) {
        last = found[query->ascending ? i : count - 1 - i];
        json_array_append_new(page, slu_host_sandbox_show(last, false));
    }

    char *text = json_dumps(page, JSON_COMPACT);
    json_decref(page);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    if (last && size < count) {
        struct slu_host_cursor cursor = {.created_at_ms = last->created_at_ms,
                                         .ascending = query->ascending};
        memcpy(cursor.id, last->id, sizeof(last->id));
        SLU_AUTO_FREE char *token = slu_host_cursor_encode(&cursor);
        MHD_add_response_header(response, "X-Next-Token", token);
    }
    if (query->running) {
        char total[24];
        snprintf(total, sizeof(total), "%ld", running);
        MHD_add_response_header(response, "X-Total-Running", total);
    }
    slu_host_respond(request, 200, response);
}

void
slu_host_control_list_v2(struct slu_host_request *request)
{
    struct list_query query;
    struct slu_error error;
    if (read_query(request->query, &query, &error))
        slu_host_respond_error(request, 400, NULL, "%s", error.message);
    else
        answer_page(request, &query);
    json_decref(query.pairs);
}

/* The older list: what runs, all of it, on one page. */
void
slu_host_control_list_v1(struct slu_host_request *request)
{
    struct list_query query;
    struct slu_error error;
    if (read_query(request->query, &query, &error)) {
        slu_host_respond_error(request, 400, NULL, "%s", error.message);
    } else {
        query.paused = false;
        query.limit = LONG_MAX;
        answer_page(request, &query);
    }
    json_decref(query.pairs);
}
