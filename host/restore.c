/* SPDX-License-Identifier: Apache-2.0 */
/* What a restart finds. Sandboxes that run are taken up again under their ids; what was being made
 * or unmade when the host died is removed; what died meanwhile is reported gone, never started
 * again behind its owner's back. */
#include "atomic_file.h"
#include "freeze.h"
#include "lifecycle.h"
#include "op.h"
#include "slu/base/log.h"
#include "slu/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool
begin_cleanup(struct slu_host_op *op)
{
    slu_host_prepare_delete(op);
    return true;
}

static void
clean_up(struct slu_host *host, struct slu_host_sandbox *sandbox, const char *reason)
{
    SLU_LOG(WARN, "cleaning_up", SLU_TEXT("sandbox", sandbox->id), SLU_TEXT("reason", reason));
    sandbox->life = SLU_HOST_DELETING;
    slu_host_sandboxes_add(&host->sandboxes, sandbox);
    slu_host_op_push(&(struct slu_host_op){
        .host = host, .sandbox = sandbox, .begin = begin_cleanup, .reason = reason});
}

static void
take_up(struct slu_host *host, struct slu_host_sandbox *sandbox, const char *folder)
{
    struct slu_error error;
    const bool recorded_alive =
        sandbox->life == SLU_HOST_RUNNING || sandbox->life == SLU_HOST_PAUSED;
    const enum slu_status found = slu_spawn_find(folder, &sandbox->spawned, &error);

    if (sandbox->life == SLU_HOST_CREATING) {
        slu_free_ptr(&sandbox->key); /* Never promised: the same key may create anew. */
        sandbox->key = NULL;
        clean_up(host, sandbox, "its create was never finished");
    } else if (!recorded_alive) {
        clean_up(host, sandbox, "its delete was never finished");
    } else if (found) {
        host->metrics.lost++;
        clean_up(host, sandbox, "its init died while the host was away");
    } else {
        if (slu_host_freeze(&host->spawner, sandbox->id, folder, sandbox->life == SLU_HOST_PAUSED,
                            &error))
            SLU_LOG(ERROR, "freeze_failed", SLU_TEXT("sandbox", sandbox->id),
                    SLU_TEXT("error", error.message));
        slu_host_adopt(host, sandbox);
        SLU_LOG(INFO, "taken_up", SLU_TEXT("sandbox", sandbox->id),
                SLU_TEXT("life", slu_host_life_names[sandbox->life]),
                SLU_INT("init", sandbox->spawned.init));
    }
}

static void
look_at(struct slu_host *host, const char *id)
{
    char folder[1200], path[PATH_MAX];
    SLU_AUTO_FREE char *text = NULL;
    size_t size = 0;
    struct slu_error error;
    struct slu_host_sandbox *sandbox = NULL;
    slu_host_sandbox_folder(&host->sandboxes, id, folder);
    snprintf(path, sizeof(path), "%s/sandbox.json", folder);

    enum slu_status status = slu_host_file_read(path, SLU_HOST_RECORD_MAX, &text, &size, &error);
    if (status == SLU_NOT_FOUND) { /* Made, not yet recorded: nothing was started. */
        if (slu_host_tree_remove(folder, &error))
            SLU_LOG(WARN, "leftover", SLU_TEXT("error", error.message));
        return;
    }
    if (!status)
        status = slu_host_sandbox_decode(text, size, &sandbox, &error);
    if (status || strcmp(sandbox->id, id) != 0) {
        SLU_LOG(ERROR, "record_damaged", SLU_TEXT("path", path),
                SLU_TEXT("error", status ? error.message : "it belongs to another id"));
        slu_host_sandbox_free(sandbox);
        return; /* Left alone: what it is cannot be known, so a person must look. */
    }
    take_up(host, sandbox, folder);
}

static void
sweep_group(void *context, const char *id)
{
    struct slu_host *host = context;
    char folder[1200];
    struct slu_error error;
    slu_host_sandbox_folder(&host->sandboxes, id, folder);
    if (access(folder, F_OK) == 0)
        return;
    SLU_LOG(WARN, "removing_group", SLU_TEXT("group", id));
    if (slu_cgroup_remove(&host->spawner.cgroups, id, &error))
        SLU_LOG(ERROR, "group_stays", SLU_TEXT("error", error.message));
}

/* One job for the thread pool: what is in the trash may be large. */
struct emptying {
    uv_work_t work;
    struct slu_host *host;
    enum slu_status status;
    struct slu_error error;
};

static void
empty_trash(uv_work_t *work)
{
    struct emptying *job = work->data;
    char path[PATH_MAX];
    DIR *folder = opendir(job->host->sandboxes.trash);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", job->host->sandboxes.trash, entry->d_name);
        const enum slu_status status = slu_host_tree_remove(path, &job->error);
        job->status = status ? status : job->status;
    }
    if (folder)
        closedir(folder);
}

static void
after_emptying(uv_work_t *work, int cancelled)
{
    (void) cancelled;
    struct emptying *job = work->data;
    job->host->ops_running--;
    if (job->status)
        SLU_LOG(WARN, "trash_stays", SLU_TEXT("error", job->error.message));
    slu_free_ptr(&job);
}

enum slu_status
slu_host_restore(struct slu_host *host, struct slu_error *reterr)
{
    struct emptying *job = slu_alloc(sizeof(*job));
    job->work.data = job;
    job->host = host;
    host->ops_running++;
    uv_queue_work(&host->loop, &job->work, empty_trash, after_emptying);

    DIR *folder = opendir(host->sandboxes.folder);
    if (!folder)
        return slu_fail(reterr, SLU_FATAL, "opening '%s': %s", host->sandboxes.folder,
                        strerror(errno));
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] != '.')
            look_at(host, entry->d_name);
    }
    closedir(folder);
    slu_cgroups_each(&host->spawner.cgroups, sweep_group, host);
    return SLU_OK;
}
