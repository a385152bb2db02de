/* SPDX-License-Identifier: Apache-2.0 */
/* The highest epoch seen per (cluster, shard): whoever comes with an older one has been replaced as
 * leader and must not act here. Kept on disk, raised before the call that brought it is served. */
#ifndef SLU_HOST_FENCE_H
#define SLU_HOST_FENCE_H

#include "slu/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SLU_HOST_FENCES_MAX = 65536,
    SLU_HOST_CLUSTER_MAX = 64,
};

struct slu_host_fence {
    char cluster[SLU_HOST_CLUSTER_MAX + 1];
    int64_t shard;
    int64_t epoch;
    bool durable; /* On disk as it stands. */
};

struct slu_host_fences {
    struct slu_host_fence *list;
    int count;
    char folder[1024]; /* Of fences.json. */
    bool writing;
};

enum slu_host_fence_verdict {
    SLU_HOST_FENCE_PASS,
    SLU_HOST_FENCE_STALE,
    SLU_HOST_FENCE_RAISED, /* Write the table before serving the call. */
};

/* What the three headers say; false when one is missing or malformed (then reterr says which). */
enum slu_status slu_host_fence_parse(const char *cluster,
                                     const char *shard,
                                     const char *epoch,
                                     struct slu_host_fence *ret_fence,
                                     struct slu_error *reterr);

enum slu_host_fence_verdict slu_host_fences_judge(struct slu_host_fences *fences,
                                                  const struct slu_host_fence *fence,
                                                  int64_t *ret_highest);

/* The same question without learning anything: has a newer epoch come since? */
bool slu_host_fences_is_stale(const struct slu_host_fences *fences,
                              const struct slu_host_fence *fence);

char *slu_host_fences_encode(const struct slu_host_fences *fences); /* The caller frees. */
void slu_host_fences_mark_durable(struct slu_host_fences *fences,
                                  const struct slu_host_fence *fence);
enum slu_status slu_host_fences_load(struct slu_host_fences *fences,
                                     const char *state_dir,
                                     struct slu_error *reterr);

#endif
