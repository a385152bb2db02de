/* SPDX-License-Identifier: Apache-2.0 */
/* The wish for a sandbox, field by field (contract-map §3.1, §3.15). */
#include "fields_internal.h"
#include "fields_kinds.h"

#include <string.h>

enum {
    OWNERS_MAX = 64,
    COMMANDS_MAX = 64,
    COMMAND_SIZE_MAX = 16 * 1024,
    COMMANDS_SIZE_MAX = 128 * 1024,
    SKILL_ENV_SIZE_MAX = 64 * 1024,
    PROVIDER_CONFIG_SIZE_MAX = 64 * 1024,
    DAY_SECONDS = 24 * 60 * 60,
};

#define DAY_MS  (DAY_SECONDS * INT64_C(1000))
#define YEAR_MS (365 * DAY_MS)

static const char *const states[] = {"running", "paused", "stopped", "deleted", NULL};
static const char *const recoveries[] = {"replace", "manual", NULL};
static const char *const egress_actions[] = {"allow", "deny", NULL};
static const char *const access_modes[] = {"read_only", "direct_write", "copy_on_write", NULL};
static const char *const credential_sources[] = {"none", "session_user", "agent", "organization",
                                                 NULL};
static const char *const automatic_checkpoints[] = {"none", "after_exec", "before_pause", NULL};
static const char *const rewind_modes[] = {"restore", "pointer", NULL};

/* --- placement
 * ------------------------------------------------------------------------------------ */

static bool
check_placement(const json_t *placement, const char *path, struct slu_refusal *ret)
{
    if (json_object_size(placement) == 1)
        return true;
    return slu_refuse(ret, SLU_CODE_INVALID, path,
                      "it has %zu members: exactly one of computer, provider_pool must be there",
                      json_object_size(placement));
}

static const struct slu_field placement_fields[] = {
    {.name = "computer", .type = SLU_FIELD_ID},
    {.name = "provider_pool", .type = SLU_FIELD_TEXT, .min = 1, .max = 128},
    {.check = check_placement},
};

/* --- egress
 * --------------------------------------------------------------------------------------- */

/* Providers deny by address only (contract-map §2.2). */
static bool
check_egress(const json_t *rule, const char *path, struct slu_refusal *ret)
{
    const char *action = json_string_value(json_object_get(rule, "action"));
    const char *target = json_string_value(json_object_get(rule, "target"));
    const bool is_address = strchr(target, ':') || strspn(target, "0123456789./") == strlen(target);

    if (strcmp(action, "deny") != 0 || is_address)
        return true;
    return slu_refuse_value(ret, slu_path_of(path, "target").text, json_object_get(rule, "target"),
                            "an address or a network where action is deny");
}

static const struct slu_field egress_fields[] = {
    {.name = "action", .type = SLU_FIELD_ENUM, .names = egress_actions, .fallback = "\"allow\""},
    {.name = "target",
     .type = SLU_FIELD_TEXT,
     .required = true,
     .min = 1,
     .max = 253,
     .check = slu_check_egress_target},
    {.check = check_egress},
};

static const struct slu_field egress_field = {.type = SLU_FIELD_OBJECT, .fields = egress_fields};

/* --- mounts
 * --------------------------------------------------------------------------------------- */

static const struct slu_field mount_fields[] = {
    {.name = "alias", .type = SLU_FIELD_ID, .required = true},
    {.name = "spaceId", .type = SLU_FIELD_ID, .required = true},
    {.name = "mode", .type = SLU_FIELD_ENUM, .required = true, .names = access_modes},
    {.name = "pathPrefix",
     .type = SLU_FIELD_TEXT,
     .in_bytes = true,
     .min = 1,
     .max = SLU_PATH_SIZE_MAX,
     .check = slu_check_path},
    {.name = "accessTicketId", .type = SLU_FIELD_ID, .required = true},
    {0},
};

static const struct slu_field mount_field = {.type = SLU_FIELD_OBJECT, .fields = mount_fields};

static bool
check_mounts(const json_t *mounts, const char *path, struct slu_refusal *ret)
{
    for (size_t i = 0; i < json_array_size(mounts); i++) {
        const json_t *alias = json_object_get(json_array_get(mounts, i), "alias");
        for (size_t j = 0; j < i; j++) {
            if (json_equal(alias, json_object_get(json_array_get(mounts, j), "alias"))) {
                return slu_refuse(ret, SLU_CODE_INVALID, path,
                                  "alias \"%s\" is there twice: each mount needs its own",
                                  json_string_value(alias));
            }
        }
    }
    return true;
}

/* --- session
 * -------------------------------------------------------------------------------------- */

static bool
check_credential_member(const json_t *credential,
                        const char *path,
                        const char *member,
                        bool wanted,
                        struct slu_refusal *ret)
{
    if (wanted == (json_object_get(credential, member) != NULL))
        return true;
    return slu_refuse(ret, SLU_CODE_INVALID, slu_path_of(path, member).text,
                      wanted ? "missing: it must be there when source is %s"
                             : "it must not be there when source is %s",
                      json_string_value(json_object_get(credential, "source")));
}

static bool
check_credential(const json_t *credential, const char *path, struct slu_refusal *ret)
{
    const char *source = json_string_value(json_object_get(credential, "source"));
    const bool names_user = strcmp(source, "none") != 0;
    const bool names_connection = strcmp(source, "organization") == 0;
    return check_credential_member(credential, path, "virtualUserId", names_user, ret) &&
           check_credential_member(credential, path, "connectionId", names_connection, ret);
}

static const struct slu_field credential_fields[] = {
    {.name = "source",
     .type = SLU_FIELD_ENUM,
     .required = true,
     .names = credential_sources,
     .mutability = SLU_IMMUTABLE},
    {.name = "virtualUserId", .type = SLU_FIELD_UUID, .mutability = SLU_IMMUTABLE},
    {.name = "connectionId", .type = SLU_FIELD_UUID, .mutability = SLU_IMMUTABLE},
    {.check = check_credential},
};

static const struct slu_field command_field = {
    .type = SLU_FIELD_TEXT,
    .in_bytes = true,
    .min = 1,
    .max = COMMAND_SIZE_MAX,
};

static bool
check_commands(const json_t *commands, const char *path, struct slu_refusal *ret)
{
    size_t sum = 0;
    for (size_t i = 0; i < json_array_size(commands); i++)
        sum += json_string_length(json_array_get(commands, i));
    if (sum <= COMMANDS_SIZE_MAX)
        return true;
    return slu_refuse(
        ret, SLU_CODE_INVALID, path,
        "%zu bytes in all are not allowed: commands must be at most %d bytes together", sum,
        COMMANDS_SIZE_MAX);
}

static const struct slu_field init_fields[] = {
    {.name = "commands",
     .type = SLU_FIELD_ARRAY,
     .max = COMMANDS_MAX,
     .fallback = "[]",
     .element = &command_field,
     .check = check_commands},
    {0},
};

static const struct slu_field session_fields[] = {
    {.name = "sessionId", .type = SLU_FIELD_ID, .required = true, .mutability = SLU_IMMUTABLE},
    {.name = "autoStart", .type = SLU_FIELD_BOOL, .fallback = "true"},
    {.name = "idlePauseAfterSeconds",
     .type = SLU_FIELD_INT,
     .min = 1,
     .max = DAY_SECONDS,
     .fallback = "180"},
    {.name = "idlePauseEnabled", .type = SLU_FIELD_BOOL, .fallback = "true"},
    {.name = "credential",
     .type = SLU_FIELD_OBJECT,
     .fallback = "{\"source\":\"none\"}",
     .fields = credential_fields,
     .mutability = SLU_IMMUTABLE},
    {.name = "providerConfig",
     .type = SLU_FIELD_ANY,
     .max = PROVIDER_CONFIG_SIZE_MAX,
     .fallback = "{}",
     .mutability = SLU_IMMUTABLE},
    {.name = "init", .type = SLU_FIELD_OBJECT, .fallback = "{}", .fields = init_fields},
    {0},
};

/* --- checkpoints, rewind
 * -------------------------------------------------------------------------- */

static const struct slu_field policy_fields[] = {
    {.name = "auto",
     .type = SLU_FIELD_ENUM,
     .names = automatic_checkpoints,
     .fallback = "\"before_pause\""},
    {.name = "keepLast", .type = SLU_FIELD_INT, .min = 1, .max = 100, .fallback = "10"},
    {.name = "maxAgeMs", .type = SLU_FIELD_INT, .min = 60000, .max = SLU_JSON_INT_MAX},
    {.name = "keepPinned", .type = SLU_FIELD_BOOL, .fallback = "true"},
    {.name = "pendingTimeoutMs",
     .type = SLU_FIELD_INT,
     .min = 1000,
     .max = DAY_MS,
     .fallback = "600000"},
    {0},
};

static const struct slu_field rewind_fields[] = {
    {.name = "checkpoint", .type = SLU_FIELD_NULLABLE_ID, .required = true},
    {.name = "mode", .type = SLU_FIELD_ENUM, .names = rewind_modes, .fallback = "\"restore\""},
    {.name = "token", .type = SLU_FIELD_TEXT, .required = true, .min = 1, .max = 128},
    {0},
};

/* --- profile, environment
 * ------------------------------------------------------------------------- */

static const struct slu_field profile_name_field = {.type = SLU_FIELD_TEXT, .min = 1, .max = 128};
static const struct slu_field profile_value_field = {.type = SLU_FIELD_TEXT, .max = 4096};

static bool
check_skill_env(const json_t *variables, const char *path, struct slu_refusal *ret)
{
    size_t sum = 0;
    json_t *lent = slu_json_lend(variables);
    for (void *at = json_object_iter(lent); at; at = json_object_iter_next(lent, at))
        sum += strlen(json_object_iter_key(at)) + json_string_length(json_object_iter_value(at));
    if (sum <= SKILL_ENV_SIZE_MAX)
        return true;
    return slu_refuse(ret, SLU_CODE_INVALID, path,
                      "%zu bytes in all are not allowed: names and values must be at most %d bytes "
                      "together",
                      sum, SKILL_ENV_SIZE_MAX);
}

/* --- the wish
 * ------------------------------------------------------------------------------------- */

static bool
check_sandbox(const json_t *spec, const char *path, struct slu_refusal *ret)
{
    static const char *const deadlines[] = {"ttlMs", "expiresAtMs", NULL};
    const int given = slu_count_members(spec, deadlines);
    if (given != 1) {
        return slu_refuse(ret, SLU_CODE_INVALID, slu_path_of(path, "ttlMs").text,
                          "%s: exactly one of ttlMs, expiresAtMs must be there",
                          given ? "both are there" : "missing");
    }

    const bool has_template = json_object_get(spec, "templateId");
    const bool has_version = json_object_get(spec, "templateVersion");
    if (has_template != has_version) {
        return slu_refuse(ret, SLU_CODE_INVALID, slu_path_of(path, "templateVersion").text,
                          has_template ? "missing: it must be there when templateId is"
                                       : "it must not be there without templateId");
    }
    if (has_template && json_object_get(spec, "snapshotId"))
        return slu_refuse(ret, SLU_CODE_INVALID, slu_path_of(path, "snapshotId").text,
                          "it must not be there together with templateId");
    return true;
}

const struct slu_field slu_sandbox_fields[] = {
    {.name = "provider", .type = SLU_FIELD_ID, .fallback = "\"e2b\"", .mutability = SLU_IMMUTABLE},
    {.name = "state",
     .type = SLU_FIELD_ENUM,
     .names = states,
     .fallback = "\"running\"",
     .mutability = SLU_BY_KIND},
    {.name = "placement",
     .type = SLU_FIELD_OBJECT,
     .required = true,
     .fields = placement_fields,
     .mutability = SLU_IMMUTABLE},
    {.name = "ttlMs", .type = SLU_FIELD_INT, .min = 1000, .max = YEAR_MS},
    {.name = "expiresAtMs", .type = SLU_FIELD_INT, .min = 1, .max = SLU_JSON_INT_MAX},
    {.name = "ttlPausedTimeCounts", .type = SLU_FIELD_BOOL, .fallback = "true"},
    {.name = "alias", .type = SLU_FIELD_TEXT, .min = 1, .max = 128, .check = slu_check_no_controls},
    {.name = "owners",
     .type = SLU_FIELD_ARRAY,
     .max = OWNERS_MAX,
     .unique = true,
     .fallback = "[]",
     .element = &slu_owner_field},
    {.name = "profile",
     .type = SLU_FIELD_MAP,
     .max = 64,
     .fallback = "{}",
     .key = &profile_name_field,
     .element = &profile_value_field,
     .mutability = SLU_IMMUTABLE},
    {.name = "resources",
     .type = SLU_FIELD_OBJECT,
     .fields = slu_resources_fields,
     .mutability = SLU_MUTABLE_BY_CAPABILITY,
     .capability = "resize"},
    {.name = "egressRules",
     .type = SLU_FIELD_ARRAY,
     .max = 256,
     .unique = true,
     .element = &egress_field,
     .mutability = SLU_MUTABLE_BY_CAPABILITY,
     .capability = "egress_update"},
    {.name = "snapshotId", .type = SLU_FIELD_ID, .mutability = SLU_IMMUTABLE},
    {.name = "templateId", .type = SLU_FIELD_ID, .mutability = SLU_IMMUTABLE},
    {.name = "templateVersion", .type = SLU_FIELD_ID, .mutability = SLU_IMMUTABLE},
    {.name = "delegationId", .type = SLU_FIELD_ID, .mutability = SLU_IMMUTABLE},
    {.name = "mounts",
     .type = SLU_FIELD_ARRAY,
     .max = 32,
     .fallback = "[]",
     .element = &mount_field,
     .mutability = SLU_IMMUTABLE,
     .check = check_mounts},
    {.name = "session", .type = SLU_FIELD_OBJECT, .fields = session_fields},
    {.name = "checkpoints", .type = SLU_FIELD_OBJECT, .fallback = "{}", .fields = policy_fields},
    {.name = "recovery", .type = SLU_FIELD_ENUM, .names = recoveries, .fallback = "\"replace\""},
    {.name = "rewind", .type = SLU_FIELD_OBJECT, .fields = rewind_fields},
    {.name = "resumeOnUse", .type = SLU_FIELD_BOOL, .fallback = "false"},
    {.name = "keepCheckpoints", .type = SLU_FIELD_BOOL, .fallback = "false"},
    {.name = "skillEnv",
     .type = SLU_FIELD_MAP,
     .max = 128,
     .fallback = "{}",
     .key = &slu_env_name_field,
     .element = &slu_env_value_field,
     .check = check_skill_env},
    {.name = "providerLeaseSeconds",
     .type = SLU_FIELD_INT,
     .min = 60,
     .max = DAY_SECONDS,
     .fallback = "1200"},
    {.check = check_sandbox},
};
