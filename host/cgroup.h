/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and freezing by control groups: version 2, version 1, or whatever part of them this
 * machine lets us write; what is missing is said, never pretended. Every sandbox has one group
 * per hierarchy, below one parent that belongs to this state folder. Safe from any thread once
 * probed. */
#ifndef SLU_HOST_CGROUP_H
#define SLU_HOST_CGROUP_H

#include "slu/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum slu_cgroup_controller {
    SLU_CGROUP_MEMORY,
    SLU_CGROUP_CPU,
    SLU_CGROUP_PIDS,
    SLU_CGROUP_FREEZER,
    SLU_CGROUP_COUNT,
};

struct slu_cgroups {
    int version[SLU_CGROUP_COUNT];       /* 1, 2, or 0: not ours to use. */
    char parent[SLU_CGROUP_COUNT][1024]; /* The folder our groups are made in. */
};

struct slu_cgroup_limits {
    int64_t memory_bytes;
    int64_t cpu_percent; /* 100 is one CPU. */
    int64_t processes;
};

extern const char *const slu_cgroup_names[SLU_CGROUP_COUNT];

/* Finds what can be used and makes the parents. `name` is the parent's: one per state folder. */
void slu_cgroups_probe(struct slu_cgroups *ret_cgroups, const char *name);

enum slu_status slu_cgroup_make(const struct slu_cgroups *cgroups,
                                const char *id,
                                const struct slu_cgroup_limits *limits,
                                struct slu_error *reterr);

/* Opens what a process writes "0" to in order to join; −1 where there is no such hierarchy or it
 * is the same as one before. */
void slu_cgroup_open_entries(const struct slu_cgroups *cgroups,
                             const char *id,
                             int ret_fds[SLU_CGROUP_COUNT]);

/* Returns once every process of the group is frozen (or thawed). SLU_NOT_FOUND: no freezer. */
enum slu_status slu_cgroup_freeze(const struct slu_cgroups *cgroups,
                                  const char *id,
                                  bool frozen,
                                  struct slu_error *reterr);

/* Kills what is left in the groups and removes them. Missing groups are fine. */
enum slu_status
slu_cgroup_remove(const struct slu_cgroups *cgroups, const char *id, struct slu_error *reterr);

/* Calls `visit` with the name of each group below the parents, some of them more than once. */
void slu_cgroups_each(const struct slu_cgroups *cgroups,
                      void (*visit)(void *context, const char *id),
                      void *context);

/* How many times the kernel killed for memory in the group; 0 where it does not say. */
int64_t slu_cgroup_oom_kills(const struct slu_cgroups *cgroups, const char *id);

#endif
