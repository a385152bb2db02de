/* SPDX-License-Identifier: Apache-2.0 */
#include "e2b.h"
#include "json.h"
#include "slu/model/document.h"

#include <string.h>

/* What the spec may wish and no exchange below can give. Refusing is the honest answer: a sandbox
 * that lacks what was asked for must not count as converged. */
static enum slu_status
check_spec(const struct slu_e2b_dialect *dialect, const json_t *spec, struct slu_error *reterr)
{
    static const char *const unsupported[] = {"snapshotId", "templateId"};
    for (size_t i = 0; i < SLU_COUNT(unsupported); i++) {
        if (json_object_get(spec, unsupported[i])) {
            return slu_fail(reterr, SLU_INVALID,
                            "spec.%s cannot be created by this version; leave it out",
                            unsupported[i]);
        }
    }
    if (json_array_size(json_object_get(spec, "mounts")) > 0)
        return slu_fail(reterr, SLU_INVALID, "spec.mounts: this provider has no mounts");
    if (json_object_get(json_object_get(spec, "placement"), "computer"))
        return slu_fail(reterr, SLU_INVALID,
                        "spec.placement.computer: this provider has no computers");

    SLU_AUTO_JSON json_t *create = json_object();
    slu_e2b_egress_create(json_object_get(spec, "egressRules"), create);
    if (!dialect->egress && json_object_get(create, "network")) {
        return slu_fail(reterr, SLU_INVALID,
                        "spec.egressRules: this provider can only allow or deny everything: use "
                        "[] or one rule that denies 0.0.0.0/0");
    }
    return SLU_OK;
}

static const char *
template_of(const struct slu_provider_instance *instance, const json_t *spec)
{
    const json_t *session = json_object_get(spec, "session");
    const char *named = slu_json_text(json_object_get(session, "providerConfig"), "template");
    if (named && named[0] != '\0')
        return named;
    return instance->default_template[0] != '\0' ? instance->default_template : "base";
}

static void
put_size(json_t *body, const char *name, const json_t *wished, int64_t fallback)
{
    const int64_t value = json_is_integer(wished) ? json_integer_value(wished) : fallback;
    if (value > 0) /* Else the host's own default. */
        json_object_set_new(body, name, json_integer(value));
}

enum slu_status
slu_e2b_create_body(const struct slu_e2b_dialect *dialect,
                    const struct slu_provider_instance *instance,
                    const struct slu_call *call,
                    bool old_route,
                    struct slu_buffer *out,
                    struct slu_error *reterr)
{
    SLU_AUTO_JSON json_t *spec = slu_spec_tree(call->spec, strlen(call->spec));
    enum slu_status status = check_spec(dialect, spec, reterr);
    if (status)
        return status;

    SLU_AUTO_JSON json_t *body = json_object();
    json_object_set_new(body, "templateID", json_string(template_of(instance, spec)));
    json_object_set_new(body, "timeout", json_integer(call->lease_seconds));
    /* Nobody renews the lease of a dead Sluice: the paid instance then ends, its work does not. */
    json_object_set_new(body, "autoPause", json_true());
    json_object_set_new(body, "metadata", slu_e2b_labels(call));

    json_t *environment = json_object_get(spec, "skillEnv");
    if (json_object_size(environment) > 0)
        json_object_set(body, "envVars", environment);
    slu_e2b_egress_create(json_object_get(spec, "egressRules"), body);
    if (old_route) /* The newer route is always so. */
        json_object_set_new(body, "secure", json_true());

    if (dialect->sized) {
        const json_t *wished = json_object_get(spec, "resources");
        put_size(body, "cpuCount", json_object_get(wished, "cpuCount"),
                 instance->default_cpu_count);
        put_size(body, "memoryMB", json_object_get(wished, "memoryMb"),
                 instance->default_memory_mb);
        put_size(body, "diskSizeMB", json_object_get(wished, "diskMb"), instance->default_disk_mb);
    }
    slu_json_write(body, out);
    return SLU_OK;
}
