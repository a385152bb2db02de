/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the control plane's requests (providers.md §1.2). Which exchange of a call is next was
 * decided by e2b_response.c; here it only becomes bytes. */
#include "e2b.h"
#include "json.h"
#include "slu/model/document.h"
#include "url.h"

#include <inttypes.h>
#include <string.h>

static void
begin(const struct slu_provider_instance *instance,
      const char *method,
      const char *path,
      struct slu_http_request *request)
{
    request->method = method;
    slu_buffer_printf(&request->url, "%s%s", instance->url, path);
}

/* <url><prefix>/<external id><suffix> */
static void
begin_on_sandbox(const struct slu_provider_instance *instance,
                 const struct slu_call *call,
                 const char *method,
                 const char *prefix,
                 const char *suffix,
                 struct slu_http_request *request)
{
    begin(instance, method, prefix, request);
    slu_buffer_putc(&request->url, '/');
    slu_url_escape(&request->url, call->external_id);
    slu_buffer_puts(&request->url, suffix);
}

static void
write_list(const struct slu_provider_instance *instance,
           const struct slu_call *call,
           const struct slu_exchange *exchange,
           struct slu_http_request *request)
{
    begin(instance, "GET", "/v2/sandboxes?metadata=", request);
    slu_e2b_labels_filter(call, &request->url);
    slu_buffer_printf(&request->url, "&state=running,paused&limit=%d", SLU_E2B_PAGE_ITEMS);
    if (exchange->cursor[0] != '\0') {
        slu_buffer_puts(&request->url, "&nextToken=");
        slu_url_escape(&request->url, exchange->cursor);
    }
}

static enum slu_status
write_create(const struct slu_e2b_dialect *dialect,
             const struct slu_provider_instance *instance,
             const struct slu_call *call,
             const struct slu_exchange *exchange,
             struct slu_http_request *request,
             struct slu_error *reterr)
{
    const bool old_route = exchange->step == SLU_E2B_OLD_ROUTE;
    begin(instance, "POST", old_route ? "/sandboxes" : "/v2/sandboxes", request);
    slu_http_header_add(request, "idempotency-key", "%s", call->idempotency_key);
    return slu_e2b_create_body(dialect, instance, call, old_route, &request->body, reterr);
}

static void
write_lease(const struct slu_call *call, struct slu_http_request *request)
{
    slu_buffer_printf(&request->body, "{\"timeout\":%" PRId32 "}", call->lease_seconds);
}

static void
write_resume(const struct slu_provider_instance *instance,
             const struct slu_call *call,
             const struct slu_exchange *exchange,
             struct slu_http_request *request)
{
    if (exchange->step == SLU_E2B_NETWORK) {
        SLU_AUTO_JSON json_t *spec = slu_spec_tree(call->spec, strlen(call->spec));
        SLU_AUTO_JSON json_t *network = slu_e2b_egress_update(json_object_get(spec, "egressRules"));
        begin_on_sandbox(instance, call, "PUT", "/sandboxes", "/network", request);
        slu_json_write(network, &request->body);
        return;
    }
    const char *prefix = exchange->step == SLU_E2B_OLD_ROUTE ? "/sandboxes" : "/v2/sandboxes";
    begin_on_sandbox(instance, call, "POST", prefix, "/connect", request);
    write_lease(call, request);
}

static enum slu_status
write_start(const struct slu_e2b_dialect *dialect,
            const struct slu_provider_instance *instance,
            const struct slu_call *call,
            const struct slu_exchange *exchange,
            struct slu_http_request *request,
            struct slu_error *reterr)
{
    SLU_AUTO_JSON json_t *spec = slu_spec_tree(call->spec, strlen(call->spec));
    const char *command = slu_e2b_init_command(spec, call->init_index);
    if (!command)
        return slu_fail(reterr, SLU_INVALID, "spec.session.init.commands has no command %" PRId32,
                        call->init_index + 1);
    slu_e2b_init_request(dialect, instance, call, exchange, command, request);
    return SLU_OK;
}

static enum slu_status
write_action(const struct slu_e2b_dialect *dialect,
             const struct slu_provider_instance *instance,
             const struct slu_call *call,
             const struct slu_exchange *exchange,
             struct slu_http_request *request,
             struct slu_error *reterr)
{
    switch (call->action) {
    case SLU_ACTION_INSPECT:
        if (call->by_label)
            write_list(instance, call, exchange, request);
        else
            begin_on_sandbox(instance, call, "GET", "/sandboxes", "", request);
        return SLU_OK;
    case SLU_ACTION_CREATE:
        return write_create(dialect, instance, call, exchange, request, reterr);
    case SLU_ACTION_RESUME:
        write_resume(instance, call, exchange, request);
        return SLU_OK;
    case SLU_ACTION_PAUSE:
        begin_on_sandbox(instance, call, "POST", "/sandboxes", "/pause", request);
        slu_buffer_puts(&request->body, "{}");
        return SLU_OK;
    case SLU_ACTION_DELETE:
        begin_on_sandbox(instance, call, "DELETE", "/sandboxes", "", request);
        return SLU_OK;
    case SLU_ACTION_EXTEND:
        begin_on_sandbox(instance, call, "POST", "/sandboxes", "/timeout", request);
        write_lease(call, request);
        return SLU_OK;
    case SLU_ACTION_INIT:
        return write_start(dialect, instance, call, exchange, request, reterr);
    case SLU_ACTION_NONE:
    case SLU_ACTION_CHECKPOINT:
    case SLU_ACTION_REWIND:
    case SLU_ACTION_RESTORE:
    case SLU_ACTION_COUNT:
        break;
    }
    return slu_fail(reterr, SLU_INVALID, "provider %s cannot %s", instance->name,
                    slu_action_names[call->action]);
}

/* Looks inside other calls: one that asks what "already so" meant, and INIT's first. */
static bool
is_look_first(const struct slu_call *call, const struct slu_exchange *exchange)
{
    return exchange->step == SLU_E2B_CHECK ||
           (call->action == SLU_ACTION_INIT && exchange->step == SLU_E2B_FIRST);
}

static void
add_common_headers(const struct slu_e2b_dialect *dialect,
                   const struct slu_provider_instance *instance,
                   const struct slu_call *call,
                   const struct slu_exchange *exchange,
                   struct slu_http_request *request)
{
    if (dialect->fences) {
        slu_http_header_add(request, "slu-cluster", "%s", call->cluster);
        slu_http_header_add(request, "slu-shard", "%d", call->shard);
        slu_http_header_add(request, "slu-epoch", "%" PRId64, call->epoch);
    }
    if (exchange->step == SLU_E2B_START)
        return; /* The data plane has its own type and credential. */
    if (instance->api_key[0] != '\0') {
        slu_http_header_add(request, "x-api-key", "%s", instance->api_key);
        request->secret_headers = true;
    }
    if (request->body.size > 0)
        slu_http_header_add(request, "content-type", "application/json");
}

enum slu_status
slu_e2b_request(const struct slu_e2b_dialect *dialect,
                const struct slu_provider_instance *instance,
                const struct slu_call *call,
                const struct slu_exchange *exchange,
                struct slu_http_request *ret_request,
                struct slu_error *reterr)
{
    const bool on_instance = call->action != SLU_ACTION_CREATE && !call->by_label;
    if (on_instance && call->external_id[0] == '\0')
        return slu_fail(reterr, SLU_INVALID, "%s needs the instance's external id",
                        slu_action_names[call->action]);

    enum slu_status status = SLU_OK;
    if (is_look_first(call, exchange)) {
        begin_on_sandbox(instance, call, "GET", "/sandboxes", "", ret_request);
        ret_request->timeout_ms = instance->timeout_ms[SLU_ACTION_INSPECT];
    } else {
        ret_request->timeout_ms = call->timeout_ms;
        status = write_action(dialect, instance, call, exchange, ret_request, reterr);
    }
    if (!status)
        add_common_headers(dialect, instance, call, exchange, ret_request);
    return status;
}
