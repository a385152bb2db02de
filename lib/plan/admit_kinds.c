/* SPDX-License-Identifier: Apache-2.0 */
/* What admission asks of each kind beyond shape and generations (contract-map §3). */
#include "slu/model/fields.h"
#include "slu/plan/admit.h"

#include <stdio.h>
#include <string.h>

enum {
    NAMES_TEXT_SIZE = 256
};

const struct slu_provider_instance *
slu_instance_find(const struct slu_provider_instance *instances,
                  int instance_count,
                  const char *name)
{
    for (int i = 0; i < instance_count; i++) {
        if (strcmp(instances[i].name, name) == 0)
            return &instances[i];
    }
    return NULL;
}

/* Appends ", name", and stops quietly when the list is full: the message stays readable. */
static void
list_name(char *text, const char *name)
{
    const size_t used = strlen(text);
    if (used + strlen(name) + sizeof ", " <= NAMES_TEXT_SIZE)
        snprintf(text + used, NAMES_TEXT_SIZE - used, "%s%s", used ? ", " : "", name);
}

static const struct slu_provider_instance *
find_provider(const json_t *spec,
              const struct slu_provider_instance *instances,
              int instance_count,
              struct slu_refusal *ret)
{
    const char *name = json_string_value(json_object_get(spec, "provider"));
    const struct slu_provider_instance *instance =
        slu_instance_find(instances, instance_count, name ? name : "");
    if (instance)
        return instance;
    char names[NAMES_TEXT_SIZE] = "";
    for (int i = 0; i < instance_count; i++)
        list_name(names, instances[i].name);
    (void) slu_refuse(ret, SLU_CODE_INVALID, "spec.provider",
                      "'%.64s' is not configured; configured are %s", name ? name : "",
                      names[0] ? names : "none");
    return NULL;
}

static bool
check_pool(const json_t *spec,
           const struct slu_provider_instance *instance,
           struct slu_refusal *ret)
{
    const json_t *placement = json_object_get(spec, "placement");
    const char *pool = json_string_value(json_object_get(placement, "provider_pool"));
    if (!pool)
        return true;
    char names[NAMES_TEXT_SIZE] = "";
    for (int i = 0; i < instance->pool_count; i++) {
        if (strcmp(instance->pools[i], pool) == 0)
            return true;
        list_name(names, instance->pools[i]);
    }
    return slu_refuse(ret, SLU_CODE_INVALID, "spec.placement.provider_pool",
                      "'%.64s' is no pool of provider '%s'; its "
                      "pools are %s",
                      pool, instance->name, names);
}

/* Only `deny 0.0.0.0/0` and nothing else: no network, which every provider can do. */
static bool
is_no_network(const json_t *rules)
{
    const json_t *rule = json_array_get(rules, 0);
    const char *action = json_string_value(json_object_get(rule, "action"));
    const char *target = json_string_value(json_object_get(rule, "target"));
    return json_array_size(rules) == 1 && action && target && strcmp(action, "deny") == 0 &&
           strcmp(target, "0.0.0.0/0") == 0;
}

struct wish_of_capability {
    const char *member;
    const char *capability;
};

static const struct wish_of_capability wishes[] = {
    {"egressRules", "egress_rules"},
    {"mounts", "mounts"},
};

static bool
check_capabilities(const json_t *spec,
                   const struct slu_provider_instance *instance,
                   struct slu_refusal *ret)
{
    for (size_t i = 0; i < SLU_COUNT(wishes); i++) {
        const json_t *value = json_object_get(spec, wishes[i].member);
        const bool wished = value && (json_array_size(value) > 0 || i == 0);
        if (!wished || slu_instance_has(instance, wishes[i].capability) || is_no_network(value))
            continue;
        char path[64];
        snprintf(path, sizeof path, "spec.%s", wishes[i].member);
        return slu_refuse(ret, SLU_CODE_CAPABILITY_UNSUPPORTED, path,
                          "provider '%s' cannot do this (it lacks the capability %s); leave "
                          "the field out or choose another provider",
                          instance->name, wishes[i].capability);
    }
    const char *state = json_string_value(json_object_get(spec, "state"));
    if (state && strcmp(state, "paused") == 0 && !slu_instance_has(instance, "pause")) {
        return slu_refuse(ret, SLU_CODE_CAPABILITY_UNSUPPORTED, "spec.state",
                          "provider '%s' cannot pause", instance->name);
    }
    return true;
}

static bool
is_same(const json_t *before, const json_t *next, const char *member)
{
    const json_t *a = json_object_get(before, member);
    const json_t *b = json_object_get(next, member);
    return (!a && !b) || json_equal(a, b);
}

/* A deadline must lie ahead when it is first given, and when it is changed. */
static bool
check_deadline(const json_t *spec, const json_t *before, int64_t append_ms, struct slu_refusal *ret)
{
    const json_t *at = json_object_get(spec, "expiresAtMs");
    if (!at || (before && is_same(before, spec, "expiresAtMs")) ||
        json_integer_value(at) > append_ms)
        return true;
    return slu_refuse(ret, SLU_CODE_INVALID, "spec.expiresAtMs",
                      "%lld is not later than the record's time %lld",
                      (long long) json_integer_value(at), (long long) append_ms);
}

static bool
check_final(const json_t *spec, bool final, struct slu_refusal *ret)
{
    const char *state = json_string_value(json_object_get(spec, "state"));
    if (!final || !state || strcmp(state, "stopped") == 0 || strcmp(state, "deleted") == 0)
        return true;
    return slu_refuse(ret, SLU_CODE_INVALID_STATE, "spec.state",
                      "'%s' is not possible any more: the sandbox has stopped or "
                      "expired, which is final; delete it and make a new one",
                      state);
}

/* `context` points to the instance's pointer, which is NULL for kinds without a provider. */
static bool
has_capability(void *context, const char *capability)
{
    const struct slu_provider_instance **instance = context;
    return *instance && slu_instance_has(*instance, capability);
}

static bool
may_follow(const struct slu_document *document,
           const json_t *before,
           const struct slu_provider_instance *instance,
           struct slu_refusal *ret)
{
    return slu_fields_may_follow(slu_spec_fields(document->key.kind), before, document->spec,
                                 "spec", has_capability, &instance, ret);
}

bool
slu_admit_sandbox(const struct slu_document *document,
                  const struct slu_admission *admission,
                  struct slu_refusal *ret)
{
    const json_t *spec = document->spec;
    const json_t *before = admission->before;
    const struct slu_provider_instance *instance =
        find_provider(spec, admission->instances, admission->instance_count, ret);
    if (!instance)
        return false;
    if (before && !may_follow(document, before, instance, ret))
        return false;
    return check_final(spec, admission->final, ret) && check_pool(spec, instance, ret) &&
           check_capabilities(spec, instance, ret) &&
           check_deadline(spec, before, admission->append_ms, ret);
}

/* pending → settled or interrupted, once (contract-map §4). */
static bool
check_settled(const json_t *before, const json_t *next, struct slu_refusal *ret)
{
    if (is_same(before, next, "settled"))
        return true;
    const char *was = json_string_value(json_object_get(before, "settled"));
    if (was && strcmp(was, "pending") == 0)
        return true;
    return slu_refuse(ret, SLU_CODE_INVALID, "spec.settled",
                      "'%s' stays; only pending may become settled or interrupted", was ? was : "");
}

bool
slu_admit_checkpoint(const struct slu_document *document,
                     const struct slu_admission *admission,
                     struct slu_refusal *ret)
{
    const bool found = admission->sandbox_tenant &&
                       strcmp(admission->sandbox_tenant, document->tenant) == 0 &&
                       strcmp(admission->sandbox_project, document->project) == 0;
    if (!found) {
        return slu_refuse(ret, SLU_CODE_NOT_FOUND, "spec.sandboxId",
                          "no sandbox '%s' in this scope", document->key.root_id);
    }
    const json_t *before = admission->before;
    if (!before)
        return true;
    return may_follow(document, before, NULL, ret) && check_settled(before, document->spec, ret);
}

bool
slu_admit_snapshot(const struct slu_document *document,
                   const struct slu_admission *admission,
                   struct slu_refusal *ret)
{
    const json_t *before = admission->before;
    const struct slu_provider_instance *instance =
        find_provider(document->spec, admission->instances, admission->instance_count, ret);
    return instance && (!before || may_follow(document, before, instance, ret));
}
