/* SPDX-License-Identifier: Apache-2.0 */
/* NewSandbox as the API has it, and three members of our own: cpuCount, memoryMB, diskSizeMB. */
#include "create_body.h"

#include <string.h>

enum {
    PAIRS_MAX = 256,
    PAIRS_BYTES_MAX = 256 * 1024,
    CPU_COUNT_MAX = 64,
    SIZE_MB_MIN = 64,
    SIZE_MB_MAX = 1048576,
};

static enum slu_status
read_text_pairs(const json_t *body,
                const char *name,
                bool variables,
                json_t **ret_pairs,
                struct slu_error *reterr)
{
    json_t *pairs = json_object_get(body, name);
    const char *key;
    json_t *value;
    size_t bytes = 0;
    *ret_pairs = NULL;
    if (!pairs || json_is_null(pairs)) {
        *ret_pairs = json_object();
        return SLU_OK;
    }
    if (!json_is_object(pairs) || json_object_size(pairs) > PAIRS_MAX)
        return slu_fail(reterr, SLU_INVALID, "%s must be an object of at most %d strings", name,
                        PAIRS_MAX);

    json_object_foreach(pairs, key, value)
    {
        const bool text =
            json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value);
        if (!text)
            return slu_fail(reterr, SLU_INVALID, "%s.%.100s must be a string without NUL", name,
                            key);
        if (variables && (!*key || strchr(key, '=')))
            return slu_fail(reterr, SLU_INVALID, "%s: '%.100s' is no name of a variable", name,
                            key);
        bytes += strlen(key) + json_string_length(value);
    }
    if (bytes > PAIRS_BYTES_MAX)
        return slu_fail(reterr, SLU_INVALID, "%s has %zu bytes, at most %d are allowed", name,
                        bytes, PAIRS_BYTES_MAX);
    *ret_pairs = json_incref(pairs);
    return SLU_OK;
}

static enum slu_status
read_number(const json_t *body,
            const char *name,
            int64_t min,
            int64_t max,
            int64_t *number,
            struct slu_error *reterr)
{
    const json_t *value = json_object_get(body, name);
    if (!value || json_is_null(value))
        return SLU_OK;
    const bool good = json_is_integer(value) && json_integer_value(value) >= min &&
                      json_integer_value(value) <= max;
    if (!good && json_is_integer(value))
        return slu_fail(reterr, SLU_INVALID, "%s is %lld, it must be from %lld to %lld", name,
                        (long long) json_integer_value(value), (long long) min, (long long) max);
    if (!good)
        return slu_fail(reterr, SLU_INVALID, "%s must be a whole number from %lld to %lld", name,
                        (long long) min, (long long) max);
    *number = json_integer_value(value);
    return SLU_OK;
}

static enum slu_status
read_switch(const json_t *body, const char *name, bool *value, struct slu_error *reterr)
{
    const json_t *found = json_object_get(body, name);
    if (!found || json_is_null(found))
        return SLU_OK;
    if (!json_is_boolean(found))
        return slu_fail(reterr, SLU_INVALID, "%s must be true or false", name);
    *value = json_is_true(found);
    return SLU_OK;
}

static enum slu_status
read_template(const json_t *body, struct slu_error *reterr)
{
    const char *template = json_string_value(json_object_get(body, "templateID"));
    if (!template)
        return slu_fail(reterr, SLU_INVALID, "templateID is required; this host has 'base'");
    if (strcmp(template, "base") != 0 && strcmp(template, "base:default") != 0)
        return slu_fail(reterr, SLU_NOT_FOUND,
                        "Template '%.100s' does not exist; this host has 'base'", template);
    return SLU_OK;
}

static enum slu_status
read_lifecycle(const json_t *body, struct slu_host_sandbox *sandbox, struct slu_error *reterr)
{
    bool pause_memory = true;
    enum slu_status status = read_switch(body, "autoPause", &sandbox->auto_pause, reterr);
    if (!status)
        status = read_switch(json_object_get(body, "autoResume"), "enabled", &sandbox->auto_resume,
                             reterr);
    if (!status)
        status = read_switch(body, "autoPauseMemory", &pause_memory, reterr);
    if (!status && !pause_memory) {
        status =
            slu_fail(reterr, SLU_INVALID,
                     "autoPauseMemory: this host pauses with memory only; leave it out or true");
    }
    return status;
}

enum slu_status
slu_create_body_read(const char *text,
                     size_t size,
                     const struct slu_create_defaults *defaults,
                     struct slu_host_sandbox *sandbox,
                     struct slu_error *reterr)
{
    json_error_t where;
    json_t *body = json_loadb(text ? text : "", size, 0, &where);
    if (!json_is_object(body)) {
        json_decref(body);
        return slu_fail(reterr, SLU_INVALID, "the body is no JSON object: %s",
                        body ? "it is another value" : where.text);
    }

    sandbox->timeout_s = defaults->timeout_s;
    sandbox->cpu_count = defaults->cpu_count;
    sandbox->memory_mb = defaults->memory_mb;
    sandbox->disk_mb = defaults->disk_mb;
    sandbox->internet_known = json_is_boolean(json_object_get(body, "allow_internet_access"));

    enum slu_status status = read_template(body, reterr);
    if (!status)
        status =
            read_number(body, "timeout", 1, defaults->timeout_max_s, &sandbox->timeout_s, reterr);
    if (!status)
        status = read_text_pairs(body, "metadata", false, &sandbox->metadata, reterr);
    if (!status)
        status = read_text_pairs(body, "envVars", true, &sandbox->environment, reterr);
    if (!status)
        status = read_lifecycle(body, sandbox, reterr);
    if (!status)
        status = read_switch(body, "allow_internet_access", &sandbox->internet, reterr);
    if (!status)
        status = read_number(body, "cpuCount", 1, CPU_COUNT_MAX, &sandbox->cpu_count, reterr);
    if (!status)
        status =
            read_number(body, "memoryMB", SIZE_MB_MIN, SIZE_MB_MAX, &sandbox->memory_mb, reterr);
    if (!status)
        status =
            read_number(body, "diskSizeMB", SIZE_MB_MIN, SIZE_MB_MAX, &sandbox->disk_mb, reterr);
    json_decref(body);
    return status;
}
