/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes as data: the table, the record on disk, the shapes of the API. */
#include "sandbox.h"

#include "slu/base/memory.h"
#include "slu/model/time.h"

#include <sodium.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    RECORD_VERSION = 1
};

static const char envd_version[] = "0.6.4"; /* The oldest that lets clients use all there is. */
static const char template_id[] = "base";

const char *const slu_host_life_names[SLU_HOST_LIFE_COUNT] = {
    [SLU_HOST_CREATING] = "creating", [SLU_HOST_RUNNING] = "running", [SLU_HOST_PAUSED] = "paused",
    [SLU_HOST_DELETING] = "deleting", [SLU_HOST_GONE] = "gone",
};

static void
make_id(char ret_id[SLU_HOST_ID_SIZE])
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    ret_id[0] = 'i';
    for (int i = 1; i < SLU_HOST_ID_SIZE - 1; i++)
        ret_id[i] = alphabet[randombytes_uniform(sizeof(alphabet) - 1)];
    ret_id[SLU_HOST_ID_SIZE - 1] = '\0';
}

struct slu_host_sandbox *
slu_host_sandbox_new(void)
{
    unsigned char secret[(SLU_HOST_TOKEN_SIZE - 1) / 2];
    struct slu_host_sandbox *sandbox = slu_alloc(sizeof(*sandbox));
    make_id(sandbox->id);
    randombytes_buf(secret, sizeof(secret));
    sodium_bin2hex(sandbox->token, sizeof(sandbox->token), secret, sizeof(secret));
    sodium_memzero(secret, sizeof(secret));
    sandbox->spawned = (struct slu_spawned){.pidfd = -1, .boot = -1};
    return sandbox;
}

void
slu_host_sandbox_free(struct slu_host_sandbox *sandbox)
{
    if (!sandbox)
        return;
    sodium_memzero(sandbox->token, sizeof(sandbox->token));
    slu_free_ptr(&sandbox->key);
    slu_free_ptr(&sandbox->request_hash);
    json_decref(sandbox->metadata);
    json_decref(sandbox->environment);
    slu_free_ptr(&sandbox);
}

void
slu_host_sandboxes_add(struct slu_host_sandboxes *sandboxes, struct slu_host_sandbox *sandbox)
{
    sandbox->next = sandboxes->first;
    sandboxes->first = sandbox;
    sandboxes->count++;
}

void
slu_host_sandboxes_drop(struct slu_host_sandboxes *sandboxes, struct slu_host_sandbox *sandbox)
{
    struct slu_host_sandbox **link = &sandboxes->first;
    while (*link != sandbox)
        link = &(*link)->next;
    *link = sandbox->next;
    sandboxes->count--;
}

struct slu_host_sandbox *
slu_host_sandboxes_find(const struct slu_host_sandboxes *sandboxes, const char *id)
{
    const size_t size = strcspn(id, "-");
    for (struct slu_host_sandbox *sandbox = sandboxes->first; sandbox; sandbox = sandbox->next) {
        const bool visible = sandbox->life == SLU_HOST_RUNNING || sandbox->life == SLU_HOST_PAUSED;
        if (visible && size == SLU_HOST_ID_SIZE - 1 && memcmp(sandbox->id, id, size) == 0)
            return sandbox;
    }
    return NULL;
}

struct slu_host_sandbox *
slu_host_sandboxes_find_key(const struct slu_host_sandboxes *sandboxes, const char *key)
{
    for (struct slu_host_sandbox *sandbox = sandboxes->first; sandbox; sandbox = sandbox->next) {
        if (sandbox->key && strcmp(sandbox->key, key) == 0)
            return sandbox;
    }
    return NULL;
}

int
slu_host_sandboxes_free_slot(const struct slu_host_sandboxes *sandboxes)
{
    const size_t size = (size_t) sandboxes->count + 1; /* One of so many is free. */
    SLU_AUTO_FREE bool *taken = slu_alloc(size);
    for (const struct slu_host_sandbox *sandbox = sandboxes->first; sandbox;
         sandbox = sandbox->next) {
        if ((size_t) sandbox->slot < size)
            taken[sandbox->slot] = true;
    }
    int slot = 0;
    while (taken[slot])
        slot++;
    return slot;
}

void
slu_host_sandbox_folder(const struct slu_host_sandboxes *sandboxes,
                        const char *id,
                        char ret_folder[1200])
{
    snprintf(ret_folder, 1200, "%s/%s", sandboxes->folder, id);
}

char *
slu_host_sandbox_encode(const struct slu_host_sandbox *sandbox, enum slu_host_life life)
{
    json_t *record = json_pack(
        "{s:i, s:s, s:s, s:s, s:s*, s:s*, s:O, s:O, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:i, s:I,"
        " s:I, s:i}",
        "version", RECORD_VERSION, "id", sandbox->id, "life", slu_host_life_names[life], "token",
        sandbox->token, "key", sandbox->key, "requestHash", sandbox->request_hash, "metadata",
        sandbox->metadata, "envVars", sandbox->environment, "createdAtMs",
        (json_int_t) sandbox->created_at_ms, "cpuCount", (json_int_t) sandbox->cpu_count,
        "memoryMB", (json_int_t) sandbox->memory_mb, "diskSizeMB", (json_int_t) sandbox->disk_mb,
        "timeout", (json_int_t) sandbox->timeout_s, "autoPause", sandbox->auto_pause, "autoResume",
        sandbox->auto_resume, "slot", sandbox->slot, "endAtMs", (json_int_t) sandbox->end_at_ms,
        "pausedAtMs", (json_int_t) sandbox->paused_at_ms, "initPid", (int) sandbox->spawned.init);
    if (sandbox->internet_known)
        json_object_set_new(record, "allowInternetAccess", json_boolean(sandbox->internet));
    char *text = json_dumps(record, JSON_INDENT(1));
    json_decref(record);
    return text;
}

static char *
copy_text(const json_t *record, const char *name)
{
    const char *text = json_string_value(json_object_get(record, name));
    return text ? slu_strdup(text) : NULL;
}

static int64_t
number(const json_t *record, const char *name)
{
    return json_integer_value(json_object_get(record, name));
}

static json_t *
object_or_empty(const json_t *record, const char *name)
{
    json_t *value = json_object_get(record, name);
    return json_is_object(value) ? json_incref(value) : json_object();
}

static bool
read_life(const char *text, enum slu_host_life *ret_life)
{
    for (int life = 0; text && life < SLU_HOST_LIFE_COUNT; life++) {
        if (strcmp(text, slu_host_life_names[life]) == 0) {
            *ret_life = (enum slu_host_life) life;
            return true;
        }
    }
    return false;
}

enum slu_status
slu_host_sandbox_decode(const char *text,
                        size_t size,
                        struct slu_host_sandbox **ret_sandbox,
                        struct slu_error *reterr)
{
    json_error_t where;
    json_t *record = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    const char *id = json_string_value(json_object_get(record, "id"));
    const char *token = json_string_value(json_object_get(record, "token"));
    const char *life = json_string_value(json_object_get(record, "life"));
    struct slu_host_sandbox *sandbox = slu_host_sandbox_new();

    if (number(record, "version") != RECORD_VERSION || !id || !token ||
        strlen(id) != SLU_HOST_ID_SIZE - 1 || strlen(token) != SLU_HOST_TOKEN_SIZE - 1 ||
        !read_life(life, &sandbox->life)) {
        slu_host_sandbox_free(sandbox);
        json_decref(record);
        return slu_fail(reterr, SLU_INVALID, "no sandbox record of version %d%s%s", RECORD_VERSION,
                        record ? "" : ": ", record ? "" : where.text);
    }

    memcpy(sandbox->id, id, sizeof(sandbox->id));
    memcpy(sandbox->token, token, sizeof(sandbox->token));
    sandbox->key = copy_text(record, "key");
    sandbox->request_hash = copy_text(record, "requestHash");
    sandbox->metadata = object_or_empty(record, "metadata");
    sandbox->environment = object_or_empty(record, "envVars");
    sandbox->created_at_ms = number(record, "createdAtMs");
    sandbox->cpu_count = number(record, "cpuCount");
    sandbox->memory_mb = number(record, "memoryMB");
    sandbox->disk_mb = number(record, "diskSizeMB");
    sandbox->timeout_s = number(record, "timeout");
    sandbox->auto_pause = json_is_true(json_object_get(record, "autoPause"));
    sandbox->auto_resume = json_is_true(json_object_get(record, "autoResume"));
    sandbox->internet_known = json_object_get(record, "allowInternetAccess") != NULL;
    sandbox->internet = json_is_true(json_object_get(record, "allowInternetAccess"));
    sandbox->slot = (int) number(record, "slot");
    sandbox->end_at_ms = number(record, "endAtMs");
    sandbox->paused_at_ms = number(record, "pausedAtMs");
    json_decref(record);
    *ret_sandbox = sandbox;
    return SLU_OK;
}

json_t *
slu_host_sandbox_answer(const struct slu_host_sandbox *sandbox)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:n, s:n}", "templateID", template_id, "sandboxID",
                     sandbox->id, "clientID", "local", "envdVersion", envd_version,
                     "envdAccessToken", sandbox->token, "trafficAccessToken", "domain");
}

json_t *
slu_host_sandbox_show(const struct slu_host_sandbox *sandbox, bool detailed)
{
    char started[SLU_TIME_TEXT_SIZE], ends[SLU_TIME_TEXT_SIZE];
    slu_time_write(sandbox->created_at_ms, started);
    slu_time_write(sandbox->end_at_ms, ends);
    json_t *shown = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:O, s:n, s:[]}", "templateID",
        template_id, "alias", template_id, "sandboxID", sandbox->id, "clientID", "local",
        "startedAt", started, "endAt", ends, "envdVersion", envd_version, "state",
        sandbox->life == SLU_HOST_PAUSED ? "paused" : "running", "cpuCount",
        (json_int_t) sandbox->cpu_count, "memoryMB", (json_int_t) sandbox->memory_mb, "diskSizeMB",
        (json_int_t) sandbox->disk_mb, "metadata", sandbox->metadata, "domain", "volumeMounts");
    if (!detailed)
        return shown;

    json_object_set_new(shown, "envdAccessToken", json_string(sandbox->token));
    json_object_set_new(shown, "allowInternetAccess",
                        sandbox->internet_known ? json_boolean(sandbox->internet) : json_null());
    json_object_set_new(shown, "network", json_object());
    json_object_set_new(shown, "lifecycle",
                        json_pack("{s:b, s:s}", "autoResume", sandbox->auto_resume, "onTimeout",
                                  sandbox->auto_pause ? "pause" : "kill"));
    return shown;
}
