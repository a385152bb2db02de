/* SPDX-License-Identifier: Apache-2.0 */
/* The wish for a checkpoint, field by field (contract-map §3.2). */
#include "fields_internal.h"
#include "fields_kinds.h"

static const char *const types[] = {"portable_workspace", "provider_native", NULL};
static const char *const settlings[] = {"settled", "pending", "interrupted", NULL};
static const char *const states[] = {"ready", "deleted", NULL};

static bool
check_source(const json_t *source, const char *path, struct slu_refusal *ret)
{
    if (json_object_size(source) > 0)
        return true;
    return slu_refuse(ret, SLU_CODE_INVALID, path,
                      "it is empty: at least one of turnId, toolCallId must be there");
}

static const struct slu_field source_fields[] = {
    {.name = "turnId", .type = SLU_FIELD_TEXT, .min = 1, .max = 256},
    {.name = "toolCallId", .type = SLU_FIELD_TEXT, .min = 1, .max = 256},
    {.check = check_source},
};

const struct slu_field slu_checkpoint_fields[] = {
    {.name = "sandboxId", .type = SLU_FIELD_ID, .required = true, .mutability = SLU_IMMUTABLE},
    {.name = "type",
     .type = SLU_FIELD_ENUM,
     .names = types,
     .fallback = "\"portable_workspace\"",
     .mutability = SLU_IMMUTABLE},
    {.name = "source",
     .type = SLU_FIELD_OBJECT,
     .fields = source_fields,
     .mutability = SLU_SET_ONCE},
    {.name = "settled",
     .type = SLU_FIELD_ENUM,
     .names = settlings,
     .fallback = "\"settled\"",
     .mutability = SLU_BY_KIND},
    {.name = "pinned", .type = SLU_FIELD_BOOL, .fallback = "false"},
    {.name = "state",
     .type = SLU_FIELD_ENUM,
     .names = states,
     .fallback = "\"ready\"",
     .mutability = SLU_BY_KIND},
    {0},
};
