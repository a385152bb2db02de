/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to one sandbox happens in order: every call on it is an operation in its queue, and
 * the next begins when the one before has ended. So "look, then act" needs no lock. */
#ifndef SLU_HOST_OP_H
#define SLU_HOST_OP_H

#include "host.h"
#include "lifecycle.h"
#include "server.h"
#include "slu/base/status.h"

#include <uv.h>

struct slu_host_op {
    struct slu_host *host;
    struct slu_host_sandbox *sandbox;
    struct slu_host_request *request; /* NULL: nobody waits (a timeout, a death). */

    /* On the loop, when its turn has come: looks at the sandbox, answers what needs no work, fills
     * in what `work` needs. False: that was all. */
    bool (*begin)(struct slu_host_op *op);
    void (*work)(struct slu_host_op *op);   /* In the thread pool: no sandbox, no request. */
    void (*finish)(struct slu_host_op *op); /* On the loop again; frees what begin made. */

    void (*then)(struct slu_host_request *request, struct slu_host_sandbox *sandbox);
    struct slu_host_extend extend;
    const char *reason; /* A literal, for the log. */
    int64_t end_at_ms;  /* Of the sandbox, once done. */
    int64_t started_ms;

    /* For `work`, by value. */
    char id[SLU_HOST_ID_SIZE];
    char folder[1200];
    char *record;  /* What goes on disk. */
    char *promise; /* Create: what goes on disk once it runs. */
    bool resumes;
    struct slu_spawn spawn;
    struct slu_spawned spawned;
    struct slu_buffer go;
    struct slu_host_past_key *past_key;
    enum slu_status status;
    struct slu_error error;

    uv_work_t handle;
    struct slu_host_op *next;
};

/* Puts a copy of `op` at the end of the sandbox's queue; the copy is freed after `finish`. */
void slu_host_op_push(const struct slu_host_op *op);

/* lifecycle.c: makes `op`, whose turn it is, delete its sandbox. */
void slu_host_prepare_delete(struct slu_host_op *op);

/* lifecycle.c: the queue of the sandbox is empty. */
void slu_host_sandbox_idle(struct slu_host_sandbox *sandbox);

#endif
