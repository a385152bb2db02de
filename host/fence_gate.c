/* SPDX-License-Identifier: Apache-2.0 */
/* Letting calls in by their epoch. Writing the table is a job of the thread pool; one write covers
 * every raise that came before it began. */
#include "fence_gate.h"

#include "atomic_file.h"
#include "routes.h"
#include "slu/base/log.h"
#include "slu/base/memory.h"

#include <stdlib.h>
#include <string.h>

struct fence_write {
    uv_work_t work;
    struct slu_host *host;
    struct slu_host_fences snapshot; /* A copy: the loop goes on changing the table. */
    char *text;
    enum slu_status status;
    struct slu_error error;
};

static void
refuse_stale(struct slu_host_request *request, int64_t highest)
{
    request->host->metrics.stale_epochs++;
    slu_host_respond_error(request, 409, "stale_epoch",
                           "epoch %lld of shard %lld is older than %lld: another leader has taken "
                           "over",
                           (long long) request->fence.epoch, (long long) request->fence.shard,
                           (long long) highest);
}

static bool
same_shard(const struct slu_host_fence *a, const struct slu_host_fence *b)
{
    return a->shard == b->shard && strcmp(a->cluster, b->cluster) == 0;
}

static bool
has_older_in_flight(const struct slu_host_request *request)
{
    for (const struct slu_host_request *other = slu_host_requests_first(request->host); other;
         other = other->next) {
        if (other->fenced && !other->fence_released && !other->waits_for_older &&
            same_shard(&other->fence, &request->fence) && other->fence.epoch < request->fence.epoch)
            return true;
    }
    return false;
}

static bool is_durable(const struct slu_host_request *request);

/* Lets in every waiting request whose turn has come. */
static void
let_in(struct slu_host *host)
{
    struct slu_host_request *request = slu_host_requests_first(host);
    while (request) {
        struct slu_host_request *next = request->next;
        if (request->waits_for_older && is_durable(request) && !has_older_in_flight(request)) {
            request->waits_for_older = false;
            if (!slu_host_fence_gate_refuse(request))
                request->route->handle(request);
        }
        request = next;
    }
}

static bool
is_durable(const struct slu_host_request *request)
{
    const struct slu_host_fences *fences = &request->host->fences;
    for (int i = 0; i < fences->count; i++) {
        if (same_shard(&fences->list[i], &request->fence))
            return fences->list[i].durable || fences->list[i].epoch != request->fence.epoch;
    }
    return true;
}

static void
write_fences(uv_work_t *work)
{
    struct fence_write *job = work->data;
    job->status = slu_host_file_write(job->snapshot.folder, "fences.json", job->text,
                                      strlen(job->text), &job->error);
}

static void write_if_needed(struct slu_host *host);

static void
after_write(uv_work_t *work, int cancelled)
{
    (void) cancelled;
    struct fence_write *job = work->data;
    struct slu_host *host = job->host;
    host->ops_running--;
    host->fences.writing = false;

    if (job->status) {
        SLU_LOG(ERROR, "fence_write_failed", SLU_TEXT("error", job->error.message));
        for (struct slu_host_request *request = slu_host_requests_first(host); request;) {
            struct slu_host_request *next = request->next;
            if (request->waits_for_older && !is_durable(request)) {
                request->waits_for_older = false;
                slu_host_respond_error(request, 503, NULL, "the fence could not be stored: %s",
                                       job->error.message);
            }
            request = next;
        }
    } else {
        for (int i = 0; i < job->snapshot.count; i++)
            slu_host_fences_mark_durable(&host->fences, &job->snapshot.list[i]);
        write_if_needed(host);
    }
    slu_free_ptr(&job->snapshot.list);
    free(job->text);
    slu_free_ptr(&job);
    let_in(host);
}

static void
write_if_needed(struct slu_host *host)
{
    bool needed = false;
    for (int i = 0; i < host->fences.count; i++)
        needed = needed || !host->fences.list[i].durable;
    if (!needed || host->fences.writing)
        return;

    struct fence_write *job = slu_alloc(sizeof(*job));
    job->work.data = job;
    job->host = host;
    job->snapshot = host->fences;
    job->snapshot.list =
        slu_memdup(host->fences.list, (size_t) host->fences.count * sizeof(*host->fences.list));
    job->text = slu_host_fences_encode(&host->fences);
    host->fences.writing = true;
    host->ops_running++;
    uv_queue_work(&host->loop, &job->work, write_fences, after_write);
}

void
slu_host_fence_gate_enter(struct slu_host_request *request)
{
    const char *cluster = slu_host_request_header(request, "slu-cluster");
    const char *shard = slu_host_request_header(request, "slu-shard");
    const char *epoch = slu_host_request_header(request, "slu-epoch");
    if (!cluster && !shard && !epoch) {
        request->route->handle(request);
        return;
    }

    struct slu_error error;
    if (slu_host_fence_parse(cluster, shard, epoch, &request->fence, &error)) {
        slu_host_respond_error(request, 400, "invalid_fence", "%s", error.message);
        return;
    }
    int64_t highest;
    const enum slu_host_fence_verdict verdict =
        slu_host_fences_judge(&request->host->fences, &request->fence, &highest);
    if (verdict == SLU_HOST_FENCE_STALE) {
        refuse_stale(request, highest);
        return;
    }

    request->fenced = true;
    if (verdict == SLU_HOST_FENCE_PASS && !has_older_in_flight(request)) {
        request->route->handle(request);
        return;
    }
    request->waits_for_older = true;
    write_if_needed(request->host);
}

bool
slu_host_fence_gate_refuse(struct slu_host_request *request)
{
    if (!request->fenced || !slu_host_fences_is_stale(&request->host->fences, &request->fence))
        return false;
    int64_t highest;
    slu_host_fences_judge(&request->host->fences, &request->fence, &highest);
    refuse_stale(request, highest);
    return true;
}

void
slu_host_fence_gate_release(struct slu_host_request *request)
{
    if (!request->fenced || request->fence_released)
        return;
    request->fence_released = true;
    let_in(request->host);
}
