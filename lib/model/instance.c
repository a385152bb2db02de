/* SPDX-License-Identifier: Apache-2.0 */
/* Provider instances, decoded by table like documents, so that a wrong setting is named by its
 * path. */
#include "slu/model/instance.h"

#include "fields_internal.h"
#include "slu/base/memory.h"
#include "slu/model/fields.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    POOLS_MAX = 16
};

/* Defaults are behaviour.md 8a's: look 10 s; create, resume, pause 60 s; delete, extend 30 s; an
 * init command, and all that moves a workspace, 600 s. Members are named as actions are. */
#define TIMEOUT_ROW(action, milliseconds)                                    \
    {                                                                        \
        .name = (action), .type = SLU_FIELD_INT, .min = 100, .max = 3600000, \
        .fallback = (milliseconds)                                           \
    }

static const struct slu_field timeout_fields[] = {
    TIMEOUT_ROW("inspect", "10000"),
    TIMEOUT_ROW("create", "60000"),
    TIMEOUT_ROW("resume", "60000"),
    TIMEOUT_ROW("pause", "60000"),
    TIMEOUT_ROW("delete", "30000"),
    TIMEOUT_ROW("init", "600000"),
    TIMEOUT_ROW("checkpoint", "600000"),
    TIMEOUT_ROW("rewind", "600000"),
    TIMEOUT_ROW("restore", "600000"),
    TIMEOUT_ROW("extend", "30000"),
    {0},
};

/* As Resources of the contract, but each may be left to its default. */
static const struct slu_field default_resources_fields[] = {
    {.name = "cpuCount", .type = SLU_FIELD_INT, .min = 1, .max = 64},
    {.name = "memoryMb", .type = SLU_FIELD_INT, .min = 128, .max = 131072},
    {.name = "diskMb", .type = SLU_FIELD_INT, .min = 512, .max = 1048576},
    {0},
};

static bool
check_url(const json_t *url, const char *path, struct slu_refusal *ret)
{
    const char *text = json_string_value(url);
    const size_t scheme = strncmp(text, "http://", 7) == 0    ? 7
                          : strncmp(text, "https://", 8) == 0 ? 8
                                                              : 0;
    const size_t size = strlen(text);
    if (scheme && size > scheme && text[size - 1] != '/' && !strpbrk(text, "?# \t\r\n"))
        return true;
    return slu_refuse_value(
        ret, path, url, "an http:// or https:// URL without a trailing slash, query or fragment");
}

static const struct slu_field pool_field = {.type = SLU_FIELD_TEXT, .min = 1, .max = 128};

static const struct slu_field instance_fields[] = {
    {.name = "type",
     .type = SLU_FIELD_TEXT,
     .required = true,
     .in_bytes = true,
     .min = 1,
     .max = 31},
    {.name = "url",
     .type = SLU_FIELD_TEXT,
     .required = true,
     .in_bytes = true,
     .min = 1,
     .max = 255,
     .check = check_url},
    {.name = "dataUrl",
     .type = SLU_FIELD_TEXT,
     .in_bytes = true,
     .min = 1,
     .max = 255,
     .check = check_url},
    {.name = "apiKeyFile",
     .type = SLU_FIELD_TEXT,
     .in_bytes = true,
     .max = 255,
     .fallback = "\"\""},
    {.name = "pools",
     .type = SLU_FIELD_ARRAY,
     .max = POOLS_MAX,
     .unique = true,
     .fallback = "[]",
     .element = &pool_field},
    {.name = "defaultResources",
     .type = SLU_FIELD_OBJECT,
     .fallback = "{}",
     .fields = default_resources_fields},
    {.name = "defaultTemplate",
     .type = SLU_FIELD_TEXT,
     .in_bytes = true,
     .min = 1,
     .max = 128,
     .fallback = "\"base\""},
    {.name = "concurrent", .type = SLU_FIELD_INT, .min = 1, .max = 10000, .fallback = "50"},
    {.name = "perSecond", .type = SLU_FIELD_INT, .min = 1, .max = 100000, .fallback = "20"},
    {.name = "timeoutsMs", .type = SLU_FIELD_OBJECT, .fallback = "{}", .fields = timeout_fields},
    {.name = "resyncSeconds", .type = SLU_FIELD_INT, .min = 1, .max = 86400, .fallback = "60"},
    {0},
};

static int64_t
read_int(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static void
copy_text(char *ret_text, size_t size, const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    const int length = snprintf(ret_text, size, "%s", text ? text : "");
    assert(length >= 0 && (size_t) length < size); /* The table's bounds are the struct's. */
}

/* The pool `default` always exists (contract-map X19). */
static bool
read_pools(const json_t *pools, struct slu_provider_instance *instance)
{
    bool has_default = false;
    for (size_t i = 0; i < json_array_size(pools); i++) {
        const char *pool = json_string_value(json_array_get(pools, i));
        instance->pools[instance->pool_count++] = slu_strdup(pool);
        has_default = has_default || strcmp(pool, "default") == 0;
    }
    if (has_default)
        return true;
    if (instance->pool_count == POOLS_MAX)
        return false;
    instance->pools[instance->pool_count++] = slu_strdup("default");
    return true;
}

static void
read_numbers(const json_t *decoded, struct slu_provider_instance *instance)
{
    const json_t *resources = json_object_get(decoded, "defaultResources");
    instance->default_cpu_count = (int32_t) read_int(resources, "cpuCount");
    instance->default_memory_mb = (int32_t) read_int(resources, "memoryMb");
    instance->default_disk_mb = (int32_t) read_int(resources, "diskMb");
    instance->concurrent = (int32_t) read_int(decoded, "concurrent");
    instance->per_second = (int32_t) read_int(decoded, "perSecond");
    instance->resync_ms = read_int(decoded, "resyncSeconds") * 1000;

    const json_t *timeouts = json_object_get(decoded, "timeoutsMs");
    for (int action = 0; action < SLU_ACTION_COUNT; action++)
        instance->timeout_ms[action] = read_int(timeouts, slu_action_names[action]);
}

enum slu_status
slu_instance_read(const char *name,
                  const json_t *value,
                  struct slu_provider_instance *ret_instance,
                  struct slu_error *reterr)
{
    if (!slu_id_valid(name, strlen(name))) {
        return slu_fail(reterr, SLU_INVALID,
                        "providers: a name must be 1 to %d characters of A-Z a-z 0-9 . _ -",
                        SLU_ID_MAX);
    }

    const struct slu_member_path path = slu_path_of("providers", name);
    struct slu_refusal refusal;
    json_t *decoded = slu_fields_decode(instance_fields, value, path.text, &refusal);
    if (!decoded)
        return slu_fail(reterr, SLU_INVALID, "%s", refusal.message);

    struct slu_provider_instance instance = {0};
    snprintf(instance.name, sizeof(instance.name), "%s", name);
    copy_text(instance.type, sizeof(instance.type), decoded, "type");
    copy_text(instance.url, sizeof(instance.url), decoded, "url");
    copy_text(instance.data_url, sizeof(instance.data_url), decoded, "dataUrl");
    copy_text(instance.api_key_file, sizeof(instance.api_key_file), decoded, "apiKeyFile");
    copy_text(instance.default_template, sizeof(instance.default_template), decoded,
              "defaultTemplate");
    read_numbers(decoded, &instance);
    const bool pools_fit = read_pools(json_object_get(decoded, "pools"), &instance);
    json_decref(decoded);

    if (!pools_fit) {
        slu_instance_done(&instance);
        return slu_fail(
            reterr, SLU_INVALID,
            "%s.pools: %d pools without \"default\" are not allowed: it is one of at most %d",
            path.text, POOLS_MAX, POOLS_MAX);
    }
    *ret_instance = instance;
    return SLU_OK;
}

void
slu_instance_done(struct slu_provider_instance *instance)
{
    for (int i = 0; i < instance->pool_count; i++)
        free(instance->pools[i]);
    explicit_bzero(instance, sizeof(*instance)); /* Holds the API key. */
}

bool
slu_instance_has(const struct slu_provider_instance *instance, const char *capability)
{
    for (const char *const *at = instance->capabilities; at && *at; at++) {
        if (strcmp(*at, capability) == 0)
            return true;
    }
    return false;
}
