/* SPDX-License-Identifier: Apache-2.0 */
/* The wish for a snapshot, field by field (contract-map §2.3, §2.4, §3.4, §3.15). */
#include "fields_internal.h"
#include "fields_kinds.h"

#include <string.h>

enum {
    BUILD_SIZE_MAX = 256 * 1024,
    FILE_SIZE_MAX = 64 * 1024,
    FILE_TEXT_MAX = (FILE_SIZE_MAX + 2) / 3 * 4, /* Of so many bytes in base64. */
    RUN_SIZE_MAX = 128 * 1024,                   /* As a command at the owner's door. */
    COMMAND_MAX = 16 * 1024,
};

static const char *const visibilities[] = {"private", "project", "tenant", "public", NULL};
static const char *const states[] = {"ready", "deleted", NULL};
static const char *const source_kinds[] = {"build", "computer", "sandbox", "space", NULL};

#define PATH_ROW(row_name)                                                                        \
    {                                                                                             \
        .name = (row_name), .type = SLU_FIELD_TEXT, .required = true, .in_bytes = true, .min = 1, \
        .max = SLU_PATH_SIZE_MAX, .check = slu_check_path                                         \
    }

/* --- steps
 * ---------------------------------------------------------------------------------------- */

static const struct slu_field copy_fields[] = {
    {.name = "fromSnapshotId", .type = SLU_FIELD_ID, .required = true},
    PATH_ROW("from"),
    PATH_ROW("to"),
    {0},
};

/* The value of a base64 digit, −1 for any other byte. */
static int
base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int) (at - digits) : -1;
}

/* The strict standard form: padded, no white space, unused bits zero (contract-map N8). */
static bool
is_base64(const char *text, size_t size)
{
    if (size % 4 != 0)
        return false;
    size_t digits = size;
    while (digits > 0 && size - digits < 2 && text[digits - 1] == '=')
        digits--;
    for (size_t i = 0; i < digits; i++) {
        if (base64_digit(text[i]) < 0)
            return false;
    }
    const int unused_bits = size - digits == 2 ? 0xf : size - digits == 1 ? 0x3 : 0;
    return digits == 0 || (base64_digit(text[digits - 1]) & unused_bits) == 0;
}

static bool
check_content(const json_t *content, const char *path, struct slu_refusal *ret)
{
    const char *text = json_string_value(content);
    const size_t size = json_string_length(content);
    if (!is_base64(text, size)) {
        return slu_refuse(
            ret, SLU_CODE_INVALID, path,
            "it must be base64 of the standard alphabet with padding and nothing else");
    }

    size_t padding = 0;
    while (padding < size && text[size - 1 - padding] == '=')
        padding++;
    const size_t decoded = size / 4 * 3 - padding;
    if (decoded > FILE_SIZE_MAX) {
        return slu_refuse(ret, SLU_CODE_INVALID, path,
                          "a file of %zu bytes is not allowed: it must be at most %d bytes",
                          decoded, FILE_SIZE_MAX);
    }
    return true;
}

static bool
check_file_mode(const json_t *mode, const char *path, struct slu_refusal *ret)
{
    if (strspn(json_string_value(mode), "01234567") == 4)
        return true;
    return slu_refuse_value(ret, path, mode, "4 octal digits, such as 0644");
}

static const struct slu_field file_fields[] = {
    PATH_ROW("path"),
    {.name = "content",
     .type = SLU_FIELD_TEXT,
     .required = true,
     .in_bytes = true,
     .max = FILE_TEXT_MAX,
     .check = check_content},
    {.name = "mode",
     .type = SLU_FIELD_TEXT,
     .min = 4,
     .max = 4,
     .fallback = "\"0644\"",
     .check = check_file_mode},
    {0},
};

static bool
check_step(const json_t *step, const char *path, struct slu_refusal *ret)
{
    if (json_object_size(step) == 1)
        return true;
    return slu_refuse(
        ret, SLU_CODE_INVALID, path,
        "it has %zu members: exactly one of run, copy, file, env, workdir, user must be "
        "there",
        json_object_size(step));
}

static const struct slu_field step_fields[] = {
    {.name = "run", .type = SLU_FIELD_TEXT, .in_bytes = true, .min = 1, .max = RUN_SIZE_MAX},
    {.name = "copy", .type = SLU_FIELD_OBJECT, .fields = copy_fields},
    {.name = "file", .type = SLU_FIELD_OBJECT, .fields = file_fields},
    {.name = "env",
     .type = SLU_FIELD_MAP,
     .min = 1,
     .max = 64,
     .key = &slu_env_name_field,
     .element = &slu_env_value_field},
    {.name = "workdir",
     .type = SLU_FIELD_TEXT,
     .in_bytes = true,
     .min = 1,
     .max = SLU_PATH_SIZE_MAX},
    {.name = "user", .type = SLU_FIELD_TEXT, .min = 1, .max = 64},
    {.check = check_step},
};

static const struct slu_field step_field = {.type = SLU_FIELD_OBJECT, .fields = step_fields};

/* --- build
 * ---------------------------------------------------------------------------------------- */

static bool
check_build(const json_t *build, const char *path, struct slu_refusal *ret)
{
    static const char *const bases[] = {"baseImage", "baseSnapshotId", NULL};
    if (slu_count_members(build, bases) > 1)
        return slu_refuse(ret, SLU_CODE_INVALID, slu_path_of(path, "baseImage").text,
                          "at most one of baseImage, baseSnapshotId may be there");

    const size_t size = json_dumpb(build, NULL, 0, JSON_COMPACT);
    if (size > BUILD_SIZE_MAX) {
        return slu_refuse(ret, SLU_CODE_INVALID, path,
                          "%zu bytes are not allowed: a build must be at most %d bytes", size,
                          BUILD_SIZE_MAX);
    }
    return true;
}

static const struct slu_field build_fields[] = {
    {.name = "baseImage", .type = SLU_FIELD_TEXT, .min = 1, .max = 512},
    {.name = "baseSnapshotId", .type = SLU_FIELD_ID},
    {.name = "steps",
     .type = SLU_FIELD_ARRAY,
     .max = 256,
     .fallback = "[]",
     .element = &step_field},
    {.name = "startCommand", .type = SLU_FIELD_TEXT, .min = 1, .max = COMMAND_MAX},
    {.name = "readyCommand", .type = SLU_FIELD_TEXT, .min = 1, .max = COMMAND_MAX},
    {.name = "resources", .type = SLU_FIELD_OBJECT, .fields = slu_resources_fields},
    {.name = "force", .type = SLU_FIELD_BOOL, .fallback = "false"},
    {.check = check_build},
};

/* --- source
 * --------------------------------------------------------------------------------------- */

/* `kind` says which one other member must be there. */
static bool
check_snapshot_source(const json_t *source, const char *path, struct slu_refusal *ret)
{
    static const char *const members[] = {"spec", "computer_id", "sandbox_id", "space_id"};
    const char *kind = json_string_value(json_object_get(source, "kind"));

    for (size_t i = 0; i < SLU_COUNT(members); i++) {
        const bool wanted = strcmp(kind, source_kinds[i]) == 0;
        if (wanted == (json_object_get(source, members[i]) != NULL))
            continue;
        return slu_refuse(ret, SLU_CODE_INVALID, slu_path_of(path, members[i]).text,
                          wanted ? "missing: it must be there when kind is %s"
                                 : "it must not be there when kind is %s",
                          kind);
    }
    return true;
}

static const struct slu_field source_fields[] = {
    {.name = "kind", .type = SLU_FIELD_ENUM, .required = true, .names = source_kinds},
    {.name = "spec", .type = SLU_FIELD_OBJECT, .fields = build_fields},
    {.name = "computer_id", .type = SLU_FIELD_ID},
    {.name = "sandbox_id", .type = SLU_FIELD_ID},
    {.name = "space_id", .type = SLU_FIELD_ID},
    {.check = check_snapshot_source},
};

/* --- the wish
 * ------------------------------------------------------------------------------------- */

static bool
check_build_key(const json_t *build_key, const char *path, struct slu_refusal *ret)
{
    const char *text = json_string_value(build_key);
    for (size_t i = 0; i < json_string_length(build_key); i++) {
        if (text[i] < 0x20 || text[i] > 0x7e)
            return slu_refuse_value(ret, path, build_key, "printable ASCII");
    }
    return true;
}

static bool
check_snapshot(const json_t *spec, const char *path, struct slu_refusal *ret)
{
    const json_t *source = json_object_get(spec, "source");
    const bool is_build = strcmp(json_string_value(json_object_get(source, "kind")), "build") == 0;
    if (is_build || json_string_length(json_object_get(spec, "buildKey")) == 0)
        return true;
    return slu_refuse(ret, SLU_CODE_INVALID, slu_path_of(path, "buildKey").text,
                      "it must not be there unless source.kind is build");
}

const struct slu_field slu_snapshot_fields[] = {
    {.name = "provider", .type = SLU_FIELD_ID, .fallback = "\"e2b\"", .mutability = SLU_IMMUTABLE},
    {.name = "alias", .type = SLU_FIELD_TEXT, .min = 1, .max = 128, .check = slu_check_no_controls},
    {.name = "visibility",
     .type = SLU_FIELD_ENUM,
     .names = visibilities,
     .fallback = "\"private\""},
    {.name = "owners",
     .type = SLU_FIELD_ARRAY,
     .max = 64,
     .unique = true,
     .fallback = "[]",
     .element = &slu_owner_field},
    {.name = "builtin", .type = SLU_FIELD_BOOL, .fallback = "false", .mutability = SLU_IMMUTABLE},
    {.name = "createdBy",
     .type = SLU_FIELD_OBJECT,
     .required = true,
     .fields = slu_principal_fields,
     .mutability = SLU_IMMUTABLE},
    {.name = "source",
     .type = SLU_FIELD_OBJECT,
     .required = true,
     .fields = source_fields,
     .mutability = SLU_BY_KIND},
    {.name = "buildKey",
     .type = SLU_FIELD_TEXT,
     .max = 256,
     .fallback = "\"\"",
     .mutability = SLU_IMMUTABLE,
     .check = check_build_key},
    {.name = "state",
     .type = SLU_FIELD_ENUM,
     .names = states,
     .fallback = "\"ready\"",
     .mutability = SLU_BY_KIND},
    {.check = check_snapshot},
};
