/* SPDX-License-Identifier: Apache-2.0 */
/* Control routes: from the request's body to an operation of lifecycle.c. Unknown members are
 * ignored, as the API has it; known ones of the wrong shape are refused by name. */
#include "control.h"

#include "create_body.h"
#include "lifecycle.h"
#include "metrics.h"
#include "sandbox.h"
#include "slu/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    TIMEOUT_V2_S = 300,
    TIMEOUT_V1_S = 15,
    REFRESH_S_MAX = 3600,
    REFRESH_S_DEFAULT = 15,
};

/* ---- Create ---- */

/* True when the key settles the request: its answer is known, or it must not go on. */
static bool
settled_by_key(struct slu_host_request *request, const char *key, const char *hash)
{
    const struct slu_host_sandbox *sandbox =
        slu_host_sandboxes_find_key(&request->host->sandboxes, key);
    const struct slu_host_past_key *past =
        slu_host_idempotency_find(&request->host->idempotency, key);
    if (!sandbox && !past)
        return false;

    const char *known = sandbox ? sandbox->request_hash : past->request_hash;
    if (strcmp(known, hash) != 0) {
        slu_host_respond_error(request, 422, "idempotency_request_mismatch",
                               "the Idempotency-Key was used with another request body");
    } else if (sandbox && sandbox->life == SLU_HOST_CREATING) {
        slu_host_respond_error(request, 409, "idempotency_in_progress",
                               "the request with this Idempotency-Key is still in progress");
    } else if (sandbox) {
        slu_host_respond_json(request, 201, slu_host_sandbox_answer(sandbox));
    } else {
        slu_host_respond_text(request, 201, "application/json", past->answer, strlen(past->answer));
    }
    return true;
}

static void
create(struct slu_host_request *request, int64_t default_timeout_s)
{
    struct slu_host *host = request->host;
    const char *key = slu_host_request_header(request, "Idempotency-Key");
    char hash[65];
    slu_host_key_hash("create", request->body.data, request->body.size, hash);
    if (key && !slu_host_key_is_valid(key)) {
        slu_host_respond_error(request, 400, NULL,
                               "Idempotency-Key must be 1 to %d characters of [a-z0-9-]",
                               SLU_HOST_KEY_MAX);
        return;
    }
    if (key && settled_by_key(request, key, hash))
        return;
    if (host->stopping) {
        slu_host_respond_error(request, 503, NULL, "the host is stopping");
        return;
    }
    if (host->sandboxes.count >= host->config.sandboxes_max) {
        slu_host_respond_error(request, 429, NULL,
                               "you have reached the maximum number of concurrent sandboxes (%lld)",
                               (long long) host->config.sandboxes_max);
        return;
    }

    struct slu_host_sandbox *sandbox = slu_host_sandbox_new();
    const struct slu_create_defaults defaults = {
        .timeout_s = default_timeout_s,
        .timeout_max_s = host->config.timeout_max_s,
        .cpu_count = host->config.cpu_count,
        .memory_mb = host->config.memory_mb,
        .disk_mb = host->config.disk_mb,
    };
    struct slu_error error;
    const enum slu_status status =
        slu_create_body_read(request->body.data, request->body.size, &defaults, sandbox, &error);
    if (status) {
        slu_host_sandbox_free(sandbox);
        slu_host_respond_error(request, status == SLU_NOT_FOUND ? 404 : 400, NULL, "%s",
                               error.message);
        return;
    }
    sandbox->key = key ? slu_strdup(key) : NULL;
    sandbox->request_hash = key ? slu_strdup(hash) : NULL;
    sandbox->slot = slu_host_sandboxes_free_slot(&host->sandboxes);
    sandbox->created_at_ms = slu_host_now_ms();
    sandbox->end_at_ms = sandbox->created_at_ms + sandbox->timeout_s * 1000;
    slu_host_create(request, sandbox);
}

void
slu_host_control_create_v2(struct slu_host_request *request)
{
    create(request, TIMEOUT_V2_S);
}

void
slu_host_control_create_v1(struct slu_host_request *request)
{
    create(request, TIMEOUT_V1_S);
}

/* ---- One sandbox ---- */

/* NULL, and answered, when there is none. */
static struct slu_host_sandbox *
find(struct slu_host_request *request)
{
    const char *dash = strchr(request->id, '-');
    const size_t valid = strspn(request->id, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (request->id[valid] || (dash && strchr(dash + 1, '-'))) {
        slu_host_respond_error(request, 400, NULL, "Invalid sandbox ID");
        return NULL;
    }
    struct slu_host_sandbox *sandbox =
        slu_host_sandboxes_find(&request->host->sandboxes, request->id);
    if (!sandbox)
        slu_host_respond_error(request, 404, NULL, "Sandbox \"%s\" doesn't exist", request->id);
    return sandbox;
}

void
slu_host_control_get(struct slu_host_request *request)
{
    const struct slu_host_sandbox *sandbox = find(request);
    if (sandbox)
        slu_host_respond_json(request, 200, slu_host_sandbox_show(sandbox, true));
}

void
slu_host_control_delete(struct slu_host_request *request)
{
    struct slu_host_sandbox *sandbox = find(request);
    if (sandbox)
        slu_host_delete(request, sandbox);
}

/* The body as an object, empty when there is none. NULL, and answered, when it is something else.
 */
static json_t *
read_body(struct slu_host_request *request)
{
    json_error_t where;
    if (request->body.size == 0)
        return json_object();
    json_t *body = json_loadb(request->body.data, request->body.size, 0, &where);
    if (json_is_object(body))
        return body;
    slu_host_respond_error(request, 400, NULL, "the body is no JSON object: %s",
                           body ? "it is another value" : where.text);
    json_decref(body);
    return NULL;
}

void
slu_host_control_pause(struct slu_host_request *request)
{
    struct slu_host_sandbox *sandbox = find(request);
    json_t *body = sandbox ? read_body(request) : NULL;
    if (!body)
        return;
    const bool without_memory = json_is_false(json_object_get(body, "memory"));
    json_decref(body);
    if (without_memory) {
        slu_host_respond_error(request, 400, NULL,
                               "memory: this host pauses with memory only; leave it out or true");
    } else {
        slu_host_pause(request, sandbox);
    }
}

/* Reads a number of seconds; `fallback` when it is absent and may be. */
static bool
read_seconds(struct slu_host_request *request,
             const json_t *body,
             const char *name,
             int64_t fallback,
             int64_t max,
             int64_t *ret_seconds)
{
    const json_t *value = json_object_get(body, name);
    *ret_seconds = json_is_integer(value) ? json_integer_value(value) : fallback;
    const bool absent = !value || json_is_null(value);
    const bool good = absent ? fallback != INT64_MIN
                             : json_is_integer(value) && *ret_seconds >= 0 && *ret_seconds <= max;
    if (!good)
        slu_host_respond_error(request, 400, NULL, "%s must be a number of seconds from 0 to %lld",
                               name, (long long) max);
    return good;
}

static void
extend(struct slu_host_request *request,
       const char *name,
       int64_t fallback,
       int64_t max,
       struct slu_host_extend what)
{
    struct slu_host_sandbox *sandbox = find(request);
    json_t *body = sandbox ? read_body(request) : NULL;
    if (body && read_seconds(request, body, name, fallback, max, &what.timeout_s))
        slu_host_extend(request, sandbox, &what);
    json_decref(body);
}

void
slu_host_control_connect_v2(struct slu_host_request *request)
{
    extend(request, "timeout", -1, request->host->config.timeout_max_s,
           (struct slu_host_extend){.resume = true, .extend_only = true, .answer_sandbox = true});
}

void
slu_host_control_connect_v1(struct slu_host_request *request)
{
    extend(request, "timeout", INT64_MIN, request->host->config.timeout_max_s,
           (struct slu_host_extend){.resume = true, .extend_only = true, .answer_sandbox = true});
}

void
slu_host_control_resume(struct slu_host_request *request)
{
    extend(
        request, "timeout", -1, request->host->config.timeout_max_s,
        (struct slu_host_extend){
            .resume = true, .refuse_running = true, .extend_only = true, .answer_sandbox = true});
}

void
slu_host_control_timeout(struct slu_host_request *request)
{
    extend(request, "timeout", INT64_MIN, request->host->config.timeout_max_s,
           (struct slu_host_extend){.resume = false});
}

void
slu_host_control_refresh(struct slu_host_request *request)
{
    extend(request, "duration", REFRESH_S_DEFAULT, REFRESH_S_MAX,
           (struct slu_host_extend){.extend_only = true});
}

/* ---- The host itself ---- */

void
slu_host_control_health(struct slu_host_request *request)
{
    static const char well[] = "ok\n";
    if (!request->sandbox_id) {
        slu_host_respond_text(request, 200, "text/plain", well, sizeof(well) - 1);
        return;
    }
    const struct slu_host_sandbox *sandbox =
        slu_host_sandboxes_find(&request->host->sandboxes, request->sandbox_id);
    if (sandbox && sandbox->life == SLU_HOST_RUNNING)
        slu_host_respond_empty(request, 204);
    else
        slu_host_respond_gone(request, request->sandbox_id);
}

void
slu_host_control_metrics(struct slu_host_request *request)
{
    SLU_AUTO_BUFFER struct slu_buffer text = {0};
    slu_host_metrics_write(request->host, &text);
    slu_host_respond_text(request, 200, "text/plain; version=0.0.4", text.data, text.size);
}

static const char *
mechanism(const struct slu_cgroups *cgroups,
          enum slu_cgroup_controller which,
          const char *otherwise)
{
    if (!cgroups->version[which])
        return otherwise;
    return cgroups->version[which] == 2 ? "cgroup2" : "cgroup1";
}

void
slu_host_control_info(struct slu_host_request *request)
{
    const struct slu_host *host = request->host;
    const struct slu_cgroups *cgroups = &host->spawner.cgroups;
    slu_host_respond_json(
        request, 200,
        json_pack(
            "{s:s, s:I, s:I, s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s}}", "version", SLU_VERSION,
            "sandboxes", (json_int_t) host->sandboxes.count, "sandboxesMax",
            (json_int_t) host->config.sandboxes_max, "user",
            host->spawner.root ? "one per sandbox" : "the host's own", "network", "none", "limits",
            "memory", mechanism(cgroups, SLU_CGROUP_MEMORY, "rlimit per process"), "cpu",
            mechanism(cgroups, SLU_CGROUP_CPU, "none"), "processes",
            mechanism(cgroups, SLU_CGROUP_PIDS, host->spawner.root ? "rlimit per user" : "none"),
            "disk", "rlimit per file", "freeze",
            mechanism(cgroups, SLU_CGROUP_FREEZER, "signals")));
}
