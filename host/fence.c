/* SPDX-License-Identifier: Apache-2.0 */
/* The table of fences and its file. */
#include "fence.h"

#include "atomic_file.h"
#include "slu/base/memory.h"

#include <jansson.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
read_number(const char *text, int64_t *ret_number)
{
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (errno || end == text || *end || text[0] < '0' || text[0] > '9')
        return false;
    *ret_number = number;
    return true;
}

enum slu_status
slu_host_fence_parse(const char *cluster,
                     const char *shard,
                     const char *epoch,
                     struct slu_host_fence *ret_fence,
                     struct slu_error *reterr)
{
    if (!cluster || !shard || !epoch)
        return slu_fail(reterr, SLU_INVALID,
                        "slu-cluster, slu-shard and slu-epoch come together or not at all");
    const size_t size = strlen(cluster);
    if (size < 1 || size > SLU_HOST_CLUSTER_MAX)
        return slu_fail(reterr, SLU_INVALID, "slu-cluster must have 1 to %d characters",
                        SLU_HOST_CLUSTER_MAX);

    *ret_fence = (struct slu_host_fence){0};
    memcpy(ret_fence->cluster, cluster, size);
    if (!read_number(shard, &ret_fence->shard))
        return slu_fail(reterr, SLU_INVALID, "slu-shard '%.40s' is no number", shard);
    if (!read_number(epoch, &ret_fence->epoch))
        return slu_fail(reterr, SLU_INVALID, "slu-epoch '%.40s' is no number", epoch);
    return SLU_OK;
}

static struct slu_host_fence *
find(const struct slu_host_fences *fences, const struct slu_host_fence *wanted)
{
    for (int i = 0; i < fences->count; i++) {
        struct slu_host_fence *fence = &fences->list[i];
        if (fence->shard == wanted->shard && strcmp(fence->cluster, wanted->cluster) == 0)
            return fence;
    }
    return NULL;
}

static void
insert(struct slu_host_fences *fences, const struct slu_host_fence *fence)
{
    const size_t size = (size_t) (fences->count + 1) * sizeof(*fences->list);
    fences->list = slu_realloc(fences->list, size);
    fences->list[fences->count++] = *fence;
}

enum slu_host_fence_verdict
slu_host_fences_judge(struct slu_host_fences *fences,
                      const struct slu_host_fence *fence,
                      int64_t *ret_highest)
{
    struct slu_host_fence *known = find(fences, fence);
    *ret_highest = known ? known->epoch : fence->epoch;
    if (known && fence->epoch < known->epoch)
        return SLU_HOST_FENCE_STALE;
    if (known && fence->epoch == known->epoch)
        return known->durable ? SLU_HOST_FENCE_PASS : SLU_HOST_FENCE_RAISED;
    if (!known && fences->count >= SLU_HOST_FENCES_MAX)
        return SLU_HOST_FENCE_STALE; /* Nothing honest comes near so many shards. */

    if (known)
        *known = *fence;
    else
        insert(fences, fence);
    *ret_highest = fence->epoch;
    return SLU_HOST_FENCE_RAISED;
}

bool
slu_host_fences_is_stale(const struct slu_host_fences *fences, const struct slu_host_fence *fence)
{
    const struct slu_host_fence *known = find(fences, fence);
    return known && fence->epoch < known->epoch;
}

void
slu_host_fences_mark_durable(struct slu_host_fences *fences, const struct slu_host_fence *fence)
{
    struct slu_host_fence *known = find(fences, fence);
    if (known && known->epoch == fence->epoch)
        known->durable = true;
}

char *
slu_host_fences_encode(const struct slu_host_fences *fences)
{
    json_t *list = json_array();
    for (int i = 0; i < fences->count; i++) {
        const struct slu_host_fence *fence = &fences->list[i];
        json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "cluster", fence->cluster, "shard",
                                              (json_int_t) fence->shard, "epoch",
                                              (json_int_t) fence->epoch));
    }
    char *text = json_dumps(list, JSON_INDENT(1));
    json_decref(list);
    return text;
}

enum slu_status
slu_host_fences_load(struct slu_host_fences *fences,
                     const char *state_dir,
                     struct slu_error *reterr)
{
    char path[PATH_MAX];
    SLU_AUTO_FREE char *text = NULL;
    size_t size = 0;
    snprintf(fences->folder, sizeof(fences->folder), "%s", state_dir);
    snprintf(path, sizeof(path), "%s/fences.json", state_dir);
    const enum slu_status status = slu_host_file_read(path, 64 << 20, &text, &size, reterr);
    if (status)
        return status == SLU_NOT_FOUND ? SLU_OK : status;

    /* A fence forgotten is a replaced leader let in: better not to start than to guess. */
    json_t *list = json_loadb(text, size, 0, NULL);
    if (!json_is_array(list)) {
        return slu_fail(reterr, SLU_FATAL,
                        "'%s' is damaged: restore it, or remove it once no old "
                        "leader can call any more",
                        path);
    }
    size_t i;
    const json_t *row;
    json_array_foreach(list, i, row)
    {
        struct slu_host_fence fence = {.durable = true};
        snprintf(fence.cluster, sizeof(fence.cluster), "%s",
                 json_string_value(json_object_get(row, "cluster")));
        fence.shard = json_integer_value(json_object_get(row, "shard"));
        fence.epoch = json_integer_value(json_object_get(row, "epoch"));
        insert(fences, &fence);
    }
    json_decref(list);
    return SLU_OK;
}
