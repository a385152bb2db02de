/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and ending the processes of one sandbox: bubblewrap, and inside it our init. Blocks;
 * safe from any thread, for jobs of the thread pool. */
#ifndef SLU_HOST_SPAWN_H
#define SLU_HOST_SPAWN_H

#include "cgroup.h"
#include "slu/base/buffer.h"
#include "slu/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What is the same for every sandbox; made once at start. */
struct slu_spawner {
    char bubblewrap[1024];
    char init[1024];
    char system[1024]; /* Folder of the sandbox's own /etc files. */
    bool root;         /* Every sandbox gets a user id of its own. */
    int64_t uid_base;
    int seccomp_fd;
    struct slu_cgroups cgroups;
};

struct slu_spawn {
    const char *id;
    const char *folder; /* Holds home/, tmp/, control.sock, boot.log. */
    int slot;           /* Which user id, as root. */
    int64_t memory_mb;
    int64_t disk_mb;
    int64_t cpu_percent;
    int64_t processes;
};

/* A sandbox's init, seen from outside. */
struct slu_spawned {
    pid_t monitor; /* bubblewrap's outer process; 0 when it is no child of ours. */
    pid_t init;
    int pidfd; /* Of the init: readable once every process of the sandbox is gone. */
    int boot;  /* Until slu_spawn_go. */
};

/* Makes folders and groups, starts bubblewrap, waits for the init to be ready. On failure nothing
 * is left but the folder. */
enum slu_status slu_spawn_start(const struct slu_spawner *spawner,
                                const struct slu_spawn *spawn,
                                struct slu_spawned *ret_spawned,
                                struct slu_error *reterr);

/* The promise: from here on the init lives without us. `go` is the whole message. */
enum slu_status
slu_spawn_go(struct slu_spawned *spawned, const struct slu_buffer *go, struct slu_error *reterr);

/* Finds the init of a sandbox that an earlier run of this program started. SLU_NOT_FOUND: it is
 * gone, and with it everything in the sandbox. */
enum slu_status
slu_spawn_find(const char *folder, struct slu_spawned *ret_spawned, struct slu_error *reterr);

/* Kills everything in the sandbox, waits for the last process, removes groups. Closes pidfd. */
enum slu_status slu_spawn_end(const struct slu_spawner *spawner,
                              const char *id,
                              struct slu_spawned *spawned,
                              struct slu_error *reterr);

/* Connects to the init's control socket, not blocking. −1 with errno. */
int slu_spawn_connect(const char *folder);

#endif
