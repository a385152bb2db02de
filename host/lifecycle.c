/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on the life of a sandbox. Each is a begin (look, decide), a work (disk and processes,
 * off the loop) and a finish (remember, answer). */
#include "lifecycle.h"

#include "atomic_file.h"
#include "fence_gate.h"
#include "freeze.h"
#include "init_wire.h"
#include "op.h"
#include "slu/base/log.h"
#include "slu/base/memory.h"
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    EXPIRY_CHECK_MS_MAX = 60 * 1000 /* A wall clock that jumps is noticed within that. */
};

/* The handles of the loop that belong to one running or paused sandbox. */
struct watch {
    uv_poll_t death;
    uv_timer_t expiry;
    int pidfd;
    int open_handles;
};

int64_t
slu_host_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool begin_expire(struct slu_host_op *op);
static bool begin_lost(struct slu_host_op *op);
static void prepare_pause(struct slu_host_op *op);

/* ---- Handles ---- */

static struct slu_host *
host_of(const uv_handle_t *handle)
{
    return uv_handle_get_loop(handle)->data;
}

static void
on_expiry(uv_timer_t *timer)
{
    slu_host_op_push(&(struct slu_host_op){
        .host = host_of((uv_handle_t *) timer), .sandbox = timer->data, .begin = begin_expire});
}

static void
on_death(uv_poll_t *poll, int status, int events)
{
    (void) status;
    (void) events;
    uv_poll_stop(poll);
    slu_host_op_push(&(struct slu_host_op){
        .host = host_of((uv_handle_t *) poll), .sandbox = poll->data, .begin = begin_lost});
}

static void
arm_expiry(struct slu_host_sandbox *sandbox)
{
    struct watch *watch = sandbox->watch;
    if (!watch)
        return;
    if (sandbox->life != SLU_HOST_RUNNING) {
        uv_timer_stop(&watch->expiry);
        return;
    }
    int64_t wait_ms = sandbox->end_at_ms - slu_host_now_ms();
    wait_ms = wait_ms < 0 ? 0 : wait_ms;
    wait_ms = wait_ms > EXPIRY_CHECK_MS_MAX ? EXPIRY_CHECK_MS_MAX : wait_ms;
    uv_timer_start(&watch->expiry, on_expiry, (uint64_t) wait_ms, 0);
}

static void
watch_over(struct slu_host *host, struct slu_host_sandbox *sandbox)
{
    struct watch *watch = slu_alloc(sizeof(*watch));
    watch->pidfd = sandbox->spawned.pidfd;
    uv_poll_init(&host->loop, &watch->death, watch->pidfd);
    uv_timer_init(&host->loop, &watch->expiry);
    watch->death.data = watch->expiry.data = sandbox;
    watch->open_handles = 2;
    sandbox->watch = watch;
    uv_poll_start(&watch->death, UV_READABLE, on_death);
    arm_expiry(sandbox);
}

static void
close_watch(uv_handle_t *handle)
{
    struct watch *watch = handle->data;
    if (--watch->open_handles > 0)
        return;
    close(watch->pidfd);
    slu_free_ptr(&watch);
}

static void
stop_watching(struct slu_host_sandbox *sandbox)
{
    struct watch *watch = sandbox->watch;
    if (!watch)
        return;
    sandbox->watch = NULL;
    watch->death.data = watch->expiry.data = watch;
    uv_poll_stop(&watch->death);
    uv_timer_stop(&watch->expiry);
    uv_close((uv_handle_t *) &watch->death, close_watch);
    uv_close((uv_handle_t *) &watch->expiry, close_watch);
}

void
slu_host_sandbox_idle(struct slu_host_sandbox *sandbox)
{
    if (sandbox->life == SLU_HOST_GONE)
        slu_host_sandbox_free(sandbox);
}

/* ---- Shared parts of operations ---- */

static void
fill_common(struct slu_host_op *op)
{
    const struct slu_host_sandbox *sandbox = op->sandbox;
    memcpy(op->id, sandbox->id, sizeof(op->id));
    slu_host_sandbox_folder(&op->host->sandboxes, sandbox->id, op->folder);
    op->started_ms = (int64_t) (uv_hrtime() / 1000000);
}

/* The record as it will be once the operation is done. */
static char *
encode_next(const struct slu_host_sandbox *sandbox, enum slu_host_life life, int64_t end_at_ms)
{
    struct slu_host_sandbox next = *sandbox; /* Borrows; only read. */
    next.end_at_ms = end_at_ms;
    next.paused_at_ms = life == SLU_HOST_PAUSED ? end_at_ms : 0;
    return slu_host_sandbox_encode(&next, life);
}

static enum slu_status
write_record(struct slu_host_op *op, const char *record, struct slu_error *reterr)
{
    return slu_host_file_write(op->folder, "sandbox.json", record, strlen(record), reterr);
}

static void
answer_not_found(struct slu_host_op *op)
{
    if (op->request)
        slu_host_respond_error(op->request, 404, NULL, "Sandbox \"%s\" doesn't exist",
                               op->sandbox->id);
}

static bool
is_there(struct slu_host_op *op)
{
    if (op->request && slu_host_fence_gate_refuse(op->request))
        return false;
    if (op->sandbox->life == SLU_HOST_RUNNING || op->sandbox->life == SLU_HOST_PAUSED)
        return true;
    answer_not_found(op);
    return false;
}

static int64_t
took_ms(const struct slu_host_op *op)
{
    return (int64_t) (uv_hrtime() / 1000000) - op->started_ms;
}

/* ---- Create ---- */

static bool
begin_create(struct slu_host_op *op)
{
    const struct slu_host_sandbox *sandbox = op->sandbox;
    fill_common(op);
    op->record = slu_host_sandbox_encode(sandbox, SLU_HOST_CREATING);
    op->promise = slu_host_sandbox_encode(sandbox, SLU_HOST_RUNNING);
    op->spawn = (struct slu_spawn){
        .slot = sandbox->slot,
        .memory_mb = sandbox->memory_mb,
        .disk_mb = sandbox->disk_mb,
        .cpu_percent = sandbox->cpu_count * 100,
        .processes = op->host->config.processes_max,
    };

    const size_t at = slu_init_begin(&op->go, SLU_INIT_GO);
    const char *name;
    json_t *value;
    SLU_AUTO_BUFFER struct slu_buffer entry = {0};
    json_object_foreach(sandbox->environment, name, value)
    {
        slu_buffer_reset(&entry);
        slu_buffer_printf(&entry, "%s=%s", name, json_string_value(value));
        slu_init_put(&op->go, SLU_INIT_F_ENVIRONMENT, entry.data, entry.size);
    }
    slu_buffer_reset(&entry);
    slu_buffer_printf(&entry, "E2B_SANDBOX_ID=%s", sandbox->id);
    slu_init_put(&op->go, SLU_INIT_F_ENVIRONMENT, entry.data, entry.size);
    slu_init_end(&op->go, at);
    return true;
}

/* Out of the way in one step, then away. */
static enum slu_status
remove_folder(struct slu_host_op *op, struct slu_error *reterr)
{
    char trash[1200];
    snprintf(trash, sizeof(trash), "%s/%s", op->host->sandboxes.trash, op->id);
    if (rename(op->folder, trash) != 0 && errno != ENOENT)
        return slu_fail(reterr, SLU_RETRY, "moving '%s' away: %s", op->folder, strerror(errno));
    return slu_host_tree_remove(trash, reterr);
}

static void
work_create(struct slu_host_op *op)
{
    op->spawn.id = op->id;
    op->spawn.folder = op->folder;
    op->status = slu_host_folder_make(op->folder, 0700, &op->error);
    if (!op->status)
        op->status = write_record(op, op->record, &op->error);
    if (!op->status)
        op->status = slu_spawn_start(&op->host->spawner, &op->spawn, &op->spawned, &op->error);
    if (!op->status)
        op->status = write_record(op, op->promise, &op->error);
    if (!op->status)
        op->status = slu_spawn_go(&op->spawned, &op->go, &op->error);
    if (!op->status)
        return;

    if (op->spawned.boot >= 0)
        close(op->spawned.boot);
    struct slu_error ignored;
    if (slu_spawn_end(&op->host->spawner, op->id, &op->spawned, &ignored) == SLU_OK &&
        remove_folder(op, &ignored) == SLU_OK)
        return;
    SLU_LOG(WARN, "create_leftover", SLU_TEXT("sandbox", op->id),
            SLU_TEXT("error", ignored.message));
}

static void
finish_create(struct slu_host_op *op)
{
    struct slu_host_sandbox *sandbox = op->sandbox;
    struct slu_host_metrics *metrics = &op->host->metrics;
    if (op->status) {
        metrics->create_failures++;
        SLU_LOG(ERROR, "create_failed", SLU_TEXT("sandbox", op->id),
                SLU_TEXT("error", op->error.message));
        slu_host_sandboxes_drop(&op->host->sandboxes, sandbox);
        sandbox->life = SLU_HOST_GONE;
        slu_host_respond_error(op->request, 500, "sandbox_create_failed", "%s", op->error.message);
        return;
    }

    sandbox->life = SLU_HOST_RUNNING;
    sandbox->spawned = op->spawned;
    watch_over(op->host, sandbox);
    metrics->created++;
    metrics->create_ms_total += took_ms(op);
    SLU_LOG(INFO, "created", SLU_TEXT("sandbox", op->id), SLU_INT("init", op->spawned.init),
            SLU_INT("ms", took_ms(op)));
    slu_host_respond_json(op->request, 201, slu_host_sandbox_answer(sandbox));
}

void
slu_host_create(struct slu_host_request *request, struct slu_host_sandbox *sandbox)
{
    slu_host_sandboxes_add(&request->host->sandboxes, sandbox);
    slu_host_op_push(&(struct slu_host_op){
        .host = request->host,
        .sandbox = sandbox,
        .request = request,
        .begin = begin_create,
        .work = work_create,
        .finish = finish_create,
    });
}

/* ---- Delete: asked for, timed out, or found dead ---- */

static struct slu_host_past_key *
make_past_key(const struct slu_host_sandbox *sandbox)
{
    if (!sandbox->key)
        return NULL;
    json_t *answer = slu_host_sandbox_answer(sandbox);
    struct slu_host_past_key *past = slu_alloc(sizeof(*past));
    past->key = slu_strdup(sandbox->key);
    past->request_hash = slu_strdup(sandbox->request_hash ? sandbox->request_hash : "");
    past->answer = json_dumps(answer, JSON_COMPACT);
    past->expires_at_ms = slu_host_now_ms() + SLU_HOST_KEY_RETENTION_MS;
    json_decref(answer);
    return past;
}

static void
work_delete(struct slu_host_op *op)
{
    /* A disk too full for the record must not keep a sandbox alive; a restart would find its init
     * dead and clean up all the same. */
    if (write_record(op, op->record, &op->error))
        SLU_LOG(WARN, "delete_unrecorded", SLU_TEXT("sandbox", op->id),
                SLU_TEXT("error", op->error.message));
    if (op->past_key) {
        char *name, *text;
        slu_host_key_encode(op->past_key, &name, &text);
        if (slu_host_file_write(op->host->idempotency.folder, name, text, strlen(text), &op->error))
            SLU_LOG(WARN, "key_unrecorded", SLU_TEXT("sandbox", op->id),
                    SLU_TEXT("error", op->error.message));
        slu_free_ptr(&name);
        free(text);
    }

    op->status = slu_spawn_end(&op->host->spawner, op->id, &op->spawned, &op->error);
    if (!op->status)
        op->status = remove_folder(op, &op->error);
}

static void
finish_delete(struct slu_host_op *op)
{
    struct slu_host_sandbox *sandbox = op->sandbox;
    if (op->status) {
        SLU_LOG(ERROR, "delete_failed", SLU_TEXT("sandbox", op->id),
                SLU_TEXT("error", op->error.message));
        sandbox->life =
            SLU_HOST_RUNNING; /* To be deleted again: by its death, or by whoever asks. */
        if (op->request)
            slu_host_respond_error(op->request, 500, NULL, "%s", op->error.message);
        return;
    }

    stop_watching(sandbox);
    if (op->past_key)
        slu_host_idempotency_add(&op->host->idempotency, slu_steal(op->past_key));
    slu_host_sandboxes_drop(&op->host->sandboxes, sandbox);
    sandbox->life = SLU_HOST_GONE;
    op->host->metrics.deleted++;
    SLU_LOG(INFO, "deleted", SLU_TEXT("sandbox", op->id), SLU_TEXT("reason", op->reason),
            SLU_INT("ms", took_ms(op)));
    if (op->request)
        slu_host_respond_empty(op->request, 204);
}

void
slu_host_prepare_delete(struct slu_host_op *op)
{
    struct slu_host_sandbox *sandbox = op->sandbox;
    fill_common(op);
    op->record = slu_host_sandbox_encode(sandbox, SLU_HOST_DELETING);
    op->past_key = make_past_key(sandbox);
    op->spawned = sandbox->spawned;
    op->spawned.pidfd = fcntl(sandbox->spawned.pidfd, F_DUPFD_CLOEXEC, 0);
    op->work = work_delete;
    op->finish = finish_delete;
    sandbox->life = SLU_HOST_DELETING;
    arm_expiry(sandbox);
}

static bool
begin_delete(struct slu_host_op *op)
{
    if (!is_there(op))
        return false;
    op->reason = "request";
    slu_host_prepare_delete(op);
    return true;
}

void
slu_host_delete(struct slu_host_request *request, struct slu_host_sandbox *sandbox)
{
    slu_host_op_push(&(struct slu_host_op){
        .host = request->host, .sandbox = sandbox, .request = request, .begin = begin_delete});
}

static bool
begin_lost(struct slu_host_op *op)
{
    if (!is_there(op))
        return false;
    op->host->metrics.lost++;
    op->reason = "its init died";
    SLU_LOG(
        WARN, "lost", SLU_TEXT("sandbox", op->sandbox->id),
        SLU_INT("oom_kills", slu_cgroup_oom_kills(&op->host->spawner.cgroups, op->sandbox->id)));
    slu_host_prepare_delete(op);
    return true;
}

static bool
begin_expire(struct slu_host_op *op)
{
    struct slu_host_sandbox *sandbox = op->sandbox;
    if (sandbox->life != SLU_HOST_RUNNING)
        return false;
    if (sandbox->end_at_ms > slu_host_now_ms()) { /* Extended since, or the clock went back. */
        arm_expiry(sandbox);
        return false;
    }
    op->reason = "timeout";
    if (sandbox->auto_pause)
        prepare_pause(op);
    else
        slu_host_prepare_delete(op);
    return true;
}

/* ---- Pause ---- */

static void
work_pause(struct slu_host_op *op)
{
    op->status = slu_host_freeze(&op->host->spawner, op->id, op->folder, true, &op->error);
    if (!op->status)
        op->status = write_record(op, op->record, &op->error);
    if (!op->status)
        return;
    struct slu_error thaw_error;
    if (slu_host_freeze(&op->host->spawner, op->id, op->folder, false, &thaw_error))
        SLU_LOG(ERROR, "thaw_failed", SLU_TEXT("sandbox", op->id),
                SLU_TEXT("error", thaw_error.message));
}

static void
finish_pause(struct slu_host_op *op)
{
    struct slu_host_sandbox *sandbox = op->sandbox;
    if (op->status) {
        SLU_LOG(ERROR, "pause_failed", SLU_TEXT("sandbox", op->id),
                SLU_TEXT("error", op->error.message));
        arm_expiry(sandbox); /* A timeout that could not pause tries again. */
        if (op->request)
            slu_host_respond_error(op->request, 500, NULL, "Error pausing sandbox: %s",
                                   op->error.message);
        return;
    }
    sandbox->life = SLU_HOST_PAUSED;
    sandbox->end_at_ms = sandbox->paused_at_ms = op->end_at_ms;
    arm_expiry(sandbox);
    slu_host_streams_interrupt(op->host, op->id);
    op->host->metrics.paused++;
    SLU_LOG(INFO, "paused", SLU_TEXT("sandbox", op->id), SLU_TEXT("reason", op->reason),
            SLU_INT("ms", took_ms(op)));
    if (op->request)
        slu_host_respond_empty(op->request, 204);
}

static void
prepare_pause(struct slu_host_op *op)
{
    fill_common(op);
    op->end_at_ms = slu_host_now_ms();
    op->record = encode_next(op->sandbox, SLU_HOST_PAUSED, op->end_at_ms);
    op->work = work_pause;
    op->finish = finish_pause;
}

static bool
begin_pause(struct slu_host_op *op)
{
    if (!is_there(op))
        return false;
    if (op->sandbox->life == SLU_HOST_PAUSED) {
        slu_host_respond_error(op->request, 409, NULL, "Sandbox \"%s\" is already paused",
                               op->sandbox->id);
        return false;
    }
    op->reason = "request";
    prepare_pause(op);
    return true;
}

void
slu_host_pause(struct slu_host_request *request, struct slu_host_sandbox *sandbox)
{
    slu_host_op_push(&(struct slu_host_op){
        .host = request->host, .sandbox = sandbox, .request = request, .begin = begin_pause});
}

/* ---- Extend, resume, connect ---- */

/* The record first: a restart then finishes the thaw; the other way round it would freeze again
 * what had been answered as running. */
static void
work_extend(struct slu_host_op *op)
{
    op->status = write_record(op, op->record, &op->error);
    if (!op->status && op->resumes)
        op->status = slu_host_freeze(&op->host->spawner, op->id, op->folder, false, &op->error);
}

static void
answer_extended(struct slu_host_op *op)
{
    if (!op->request)
        return;
    if (op->extend.answer_sandbox) {
        slu_host_respond_json(op->request, op->resumes ? 201 : 200,
                              slu_host_sandbox_answer(op->sandbox));
    } else {
        slu_host_respond_empty(op->request, 204);
    }
}

static void
finish_extend(struct slu_host_op *op)
{
    struct slu_host_sandbox *sandbox = op->sandbox;
    if (op->status) {
        SLU_LOG(ERROR, "extend_failed", SLU_TEXT("sandbox", op->id),
                SLU_TEXT("error", op->error.message));
        if (op->request)
            slu_host_respond_error(op->request, 500, NULL, "%s", op->error.message);
        return;
    }
    if (op->resumes) {
        op->host->metrics.resumed++;
        SLU_LOG(INFO, "resumed", SLU_TEXT("sandbox", op->id), SLU_INT("ms", took_ms(op)));
    }
    sandbox->life = SLU_HOST_RUNNING;
    sandbox->end_at_ms = op->end_at_ms;
    sandbox->paused_at_ms = 0;
    arm_expiry(sandbox);
    if (op->then)
        op->then(op->request, sandbox);
    else
        answer_extended(op);
}

static void
prepare_extend(struct slu_host_op *op)
{
    const struct slu_host_sandbox *sandbox = op->sandbox;
    const int64_t timeout_s = op->extend.timeout_s < 0 ? sandbox->timeout_s : op->extend.timeout_s;
    fill_common(op);
    op->resumes = sandbox->life == SLU_HOST_PAUSED;
    op->end_at_ms = slu_host_now_ms() + timeout_s * 1000;
    if (op->extend.extend_only && !op->resumes && sandbox->end_at_ms > op->end_at_ms)
        op->end_at_ms = sandbox->end_at_ms;
    op->record = encode_next(sandbox, SLU_HOST_RUNNING, op->end_at_ms);
    op->work = work_extend;
    op->finish = finish_extend;
}

static bool
begin_extend(struct slu_host_op *op)
{
    if (!is_there(op))
        return false;
    const bool paused = op->sandbox->life == SLU_HOST_PAUSED;
    if (paused && !op->extend.resume) {
        slu_host_respond_error(op->request, 404, NULL, "Sandbox \"%s\" is paused", op->sandbox->id);
        return false;
    }
    if (!paused && op->extend.refuse_running) {
        slu_host_respond_error(op->request, 409, NULL, "Sandbox \"%s\" is already running",
                               op->sandbox->id);
        return false;
    }
    prepare_extend(op);
    if (!op->resumes && op->end_at_ms == op->sandbox->end_at_ms) {
        answer_extended(op);
        return false;
    }
    return true;
}

void
slu_host_extend(struct slu_host_request *request,
                struct slu_host_sandbox *sandbox,
                const struct slu_host_extend *extend)
{
    slu_host_op_push(&(struct slu_host_op){
        .host = request->host,
        .sandbox = sandbox,
        .request = request,
        .begin = begin_extend,
        .extend = *extend,
    });
}

/* ---- Using what is inside ---- */

void
slu_host_respond_gone(struct slu_host_request *request, const char *id)
{
    slu_host_respond_json(request, 502,
                          json_pack("{s:s, s:s, s:i}", "sandboxId", id, "message",
                                    "The sandbox was not found", "code", 502));
}

static bool
begin_use(struct slu_host_op *op)
{
    if (slu_host_fence_gate_refuse(op->request))
        return false;
    if (op->sandbox->life == SLU_HOST_RUNNING) {
        op->then(op->request, op->sandbox);
        return false;
    }
    if (op->sandbox->life != SLU_HOST_PAUSED || !op->sandbox->auto_resume) {
        slu_host_respond_gone(op->request, op->sandbox->id);
        return false;
    }
    op->extend = (struct slu_host_extend){.timeout_s = -1, .resume = true, .extend_only = true};
    prepare_extend(op);
    return true;
}

void
slu_host_use(struct slu_host_request *request,
             struct slu_host_sandbox *sandbox,
             void (*run)(struct slu_host_request *request, struct slu_host_sandbox *sandbox))
{
    slu_host_op_push(&(struct slu_host_op){
        .host = request->host,
        .sandbox = sandbox,
        .request = request,
        .begin = begin_use,
        .then = run,
    });
}

/* ---- Adopting and ending, for restore.c ---- */

void
slu_host_adopt(struct slu_host *host, struct slu_host_sandbox *sandbox)
{
    slu_host_sandboxes_add(&host->sandboxes, sandbox);
    host->metrics.restored++;
    watch_over(host, sandbox);
}

void
slu_host_lifecycle_stop(struct slu_host *host)
{
    for (struct slu_host_sandbox *sandbox = host->sandboxes.first; sandbox; sandbox = sandbox->next)
        stop_watching(sandbox);
}
