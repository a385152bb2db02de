/* SPDX-License-Identifier: Apache-2.0 */
/* The life of sandboxes: create, pause, resume, timeouts, delete, and what a restart finds. The
 * order on disk is the crash-safety argument: a create is recorded before anything starts and
 * promised only once it runs; a delete is recorded before anything ends and answered only once
 * nothing is left; a pause is recorded once all is frozen, and a restart enforces what is recorded.
 */
#ifndef SLU_HOST_LIFECYCLE_H
#define SLU_HOST_LIFECYCLE_H

#include "host.h"
#include "server.h"
#include "slu/base/status.h"

/* Each answers the request, now or later. */
void slu_host_create(struct slu_host_request *request,
                     struct slu_host_sandbox *sandbox); /* Takes. */
void slu_host_pause(struct slu_host_request *request, struct slu_host_sandbox *sandbox);
void slu_host_delete(struct slu_host_request *request, struct slu_host_sandbox *sandbox);

struct slu_host_extend {
    int64_t timeout_s;   /* −1: the sandbox's own. */
    bool resume;         /* A paused sandbox is resumed; else that is an error. */
    bool refuse_running; /* The old /resume: running already is 409. */
    bool extend_only;    /* Never to an earlier end. */
    bool answer_sandbox; /* 200/201 with the sandbox; else 204. */
};

void slu_host_extend(struct slu_host_request *request,
                     struct slu_host_sandbox *sandbox,
                     const struct slu_host_extend *extend);

/* Calls `run` when all earlier operations have ended and the sandbox runs; resumes it first when it
 * may; else answers 502. */
void slu_host_use(struct slu_host_request *request,
                  struct slu_host_sandbox *sandbox,
                  void (*run)(struct slu_host_request *request, struct slu_host_sandbox *sandbox));

/* The answer of a proxy that finds no such sandbox running: clients look for its exact words. */
void slu_host_respond_gone(struct slu_host_request *request, const char *id);

/* Takes a sandbox that runs or is paused into the table and under watch. */
void slu_host_adopt(struct slu_host *host, struct slu_host_sandbox *sandbox);

/* At start: what records, sockets and groups of an earlier run say. */
enum slu_status slu_host_restore(struct slu_host *host, struct slu_error *reterr);

void slu_host_lifecycle_stop(struct slu_host *host); /* Lets the sandboxes be; closes handles. */

#endif
