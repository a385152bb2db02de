/* SPDX-License-Identifier: Apache-2.0 */
/* What the host knows of a sandbox, in memory and on disk, and the table of them all. The loop
 * thread alone touches these; jobs get copies of what they need. */
#ifndef SLU_HOST_SANDBOX_H
#define SLU_HOST_SANDBOX_H

#include "slu/base/status.h"
#include "spawn.h"

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

enum {
    SLU_HOST_ID_SIZE = 22,    /* 'i', 20 of [a-z0-9], NUL. */
    SLU_HOST_TOKEN_SIZE = 65, /* Hex of 32 random bytes, NUL. */
    SLU_HOST_RECORD_MAX = 1024 * 1024,
};

enum slu_host_life {
    SLU_HOST_CREATING, /* On disk before anything starts; invisible; a restart removes it. */
    SLU_HOST_RUNNING,
    SLU_HOST_PAUSED,
    SLU_HOST_DELETING, /* On disk before anything ends; invisible; a restart finishes it. */
    SLU_HOST_GONE,     /* Out of the table, kept until its last operation has ended. */
    SLU_HOST_LIFE_COUNT,
};

extern const char *const slu_host_life_names[SLU_HOST_LIFE_COUNT];

struct slu_host_op;

struct slu_host_sandbox {
    /* Fixed at create. */
    char id[SLU_HOST_ID_SIZE];
    char token[SLU_HOST_TOKEN_SIZE];
    char *key;          /* Idempotency key, or NULL. */
    char *request_hash; /* Of the create request that carried it. */
    json_t *metadata;
    json_t *environment;
    int64_t created_at_ms;
    int64_t cpu_count;
    int64_t memory_mb;
    int64_t disk_mb;
    int64_t timeout_s; /* What connect without a timeout asks for. */
    bool auto_pause;
    bool auto_resume;
    bool internet; /* As asked; see internet_known. */
    bool internet_known;
    int slot;

    /* Changing, all of it on disk. */
    enum slu_host_life life;
    int64_t end_at_ms;    /* Running: when the timeout strikes. Paused: when it was paused. */
    int64_t paused_at_ms; /* 0 unless paused. */

    /* In memory only. */
    struct slu_spawned spawned;
    struct slu_host_op *first_op; /* The first may be running; the others wait for it. */
    struct slu_host_op *last_op;
    void *watch; /* lifecycle.c: the handles of the loop. */
    struct slu_host_sandbox *next;
};

struct slu_host_sandboxes {
    char folder[1024]; /* <state-dir>/sandboxes */
    char trash[1024];  /* <state-dir>/trash */
    struct slu_host_sandbox *first;
    int64_t count;
};

struct slu_host_sandbox *slu_host_sandbox_new(void); /* With a fresh id and token. */
void slu_host_sandbox_free(struct slu_host_sandbox *sandbox);

void slu_host_sandboxes_add(struct slu_host_sandboxes *sandboxes, struct slu_host_sandbox *sandbox);
void slu_host_sandboxes_drop(struct slu_host_sandboxes *sandboxes,
                             struct slu_host_sandbox *sandbox);

/* By id, or by the older form `<id>-<client>`. NULL: there is none that anyone may see. */
struct slu_host_sandbox *slu_host_sandboxes_find(const struct slu_host_sandboxes *sandboxes,
                                                 const char *id);
struct slu_host_sandbox *slu_host_sandboxes_find_key(const struct slu_host_sandboxes *sandboxes,
                                                     const char *key);
int slu_host_sandboxes_free_slot(const struct slu_host_sandboxes *sandboxes);
void slu_host_sandbox_folder(const struct slu_host_sandboxes *sandboxes,
                             const char *id,
                             char ret_folder[1200]);

/* The record on disk, as text, with `life` in place of its own. The caller frees. */
char *slu_host_sandbox_encode(const struct slu_host_sandbox *sandbox, enum slu_host_life life);
enum slu_status slu_host_sandbox_decode(const char *text,
                                        size_t size,
                                        struct slu_host_sandbox **ret_sandbox,
                                        struct slu_error *reterr);

/* What the API shows. `detailed`: the GET of one; else a row of a list. */
json_t *slu_host_sandbox_show(const struct slu_host_sandbox *sandbox, bool detailed);
json_t *slu_host_sandbox_answer(const struct slu_host_sandbox *sandbox); /* create, connect. */

#endif
