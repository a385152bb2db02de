/* SPDX-License-Identifier: Apache-2.0 */
/* The envelope of desired documents, and which table belongs to which kind (contract-map §3.0). */
#include "fields_internal.h"
#include "fields_kinds.h"

/* `kind` is looked at before the others, so that a kind of the contract that is not served yet is
 * named as such (document.c). */
static const char *const served_kinds[] = {"Sandbox", "Checkpoint", "Activity", "Snapshot", NULL};

const struct slu_field slu_envelope_fields[] = {
    {.name = "kind", .type = SLU_FIELD_ENUM, .required = true, .names = served_kinds},
    {.name = "id", .type = SLU_FIELD_ID, .required = true, .mutability = SLU_IMMUTABLE},
    {.name = "scope",
     .type = SLU_FIELD_OBJECT,
     .required = true,
     .fields = slu_scope_fields,
     .mutability = SLU_IMMUTABLE},
    {.name = "generation", .type = SLU_FIELD_INT, .min = 1, .max = SLU_JSON_INT_MAX},
    {.name = "ifGeneration", .type = SLU_FIELD_INT, .min = 0, .max = SLU_JSON_INT_MAX},
    {.name = "actor", .type = SLU_FIELD_OBJECT, .fields = slu_principal_fields},
    {.name = "spec", .type = SLU_FIELD_OBJECT, .required = true},
    {0},
};

static const struct slu_field *const spec_tables[SLU_KIND_COUNT] = {
    [SLU_KIND_SANDBOX] = slu_sandbox_fields,
    [SLU_KIND_CHECKPOINT] = slu_checkpoint_fields,
    [SLU_KIND_ACTIVITY] = slu_activity_fields,
    [SLU_KIND_SNAPSHOT] = slu_snapshot_fields,
};

const struct slu_field *
slu_spec_fields(enum slu_kind kind)
{
    return kind < SLU_KIND_COUNT ? spec_tables[kind] : NULL;
}
