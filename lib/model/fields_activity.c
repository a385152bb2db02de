/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent session says about its activity, field by field (contract-map §3.3). */
#include "fields_internal.h"
#include "fields_kinds.h"

const struct slu_field slu_activity_fields[] = {
    {.name = "sandboxId", .type = SLU_FIELD_ID, .required = true, .mutability = SLU_IMMUTABLE},
    {.name = "active", .type = SLU_FIELD_BOOL, .required = true},
    {.name = "atMs", .type = SLU_FIELD_INT, .max = SLU_JSON_INT_MAX},
    {.name = "ttlMs", .type = SLU_FIELD_INT, .min = 1000, .max = 86400000, .fallback = "3600000"},
    {0},
};
