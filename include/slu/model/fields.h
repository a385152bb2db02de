/* SPDX-License-Identifier: Apache-2.0 */
/* Strict decoding by table (contract-map §3). One table per object; a table row carries everything
 * the contract says of a field: type, default, bounds, members, and whether a later generation may
 * change it. The same rows decode, put in defaults, order the output, check changes and are
 * compared with schemas/ in both directions (tests/unit/model/test_schemas.c). */
#ifndef SLU_MODEL_FIELDS_H
#define SLU_MODEL_FIELDS_H

#include "slu/model/code.h"
#include "slu/model/key.h"

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slu_field_type {
    SLU_FIELD_TEXT, /* String, `min` … `max` characters (bytes when `in_bytes`). */
    SLU_FIELD_ID,   /* 1–128 of [A-Za-z0-9._-]. */
    SLU_FIELD_UUID,
    SLU_FIELD_INT, /* `min` … `max`, within 0 … 2^53−1; reals and strings refused. */
    SLU_FIELD_BOOL,
    SLU_FIELD_ENUM,   /* One of `names`, NULL-terminated. */
    SLU_FIELD_OBJECT, /* By `fields`; NULL: kept as it is. */
    SLU_FIELD_ARRAY,  /* `min` … `max` members, each as `element`. */
    SLU_FIELD_MAP, /* Object of text values; `min` … `max` entries; value bounds in `element`. */
    SLU_FIELD_ANY, /* Any JSON object, at most `max` bytes when written, depth ≤ 16. */
    SLU_FIELD_NULLABLE_ID, /* An id or an explicit null (Rewind.checkpoint). */
};

enum slu_mutability {
    SLU_MUTABLE,
    SLU_IMMUTABLE,
    SLU_MUTABLE_BY_CAPABILITY, /* Only where the provider has `capability`. */
    SLU_SET_ONCE,              /* Absent may become present, then fixed. */
    SLU_BY_KIND,               /* The kind's own rule in admission (states, settled). */
};

struct slu_field {
    const char *name; /* NULL ends a table. */
    enum slu_field_type type;
    bool required;
    bool in_bytes;
    bool unique; /* Arrays: equal members are refused. */
    int64_t min, max;
    const char *fallback; /* JSON text of the default; NULL: stays absent. */
    const char *const *names;
    const struct slu_field *fields;
    const struct slu_field *element;
    enum slu_mutability mutability;
    const char *capability;
    /* More than a row can say (host bits zero, exactly one of …): checks the decoded value. On the
     * row that ends a table it checks the whole object. Pure: may be asked twice. */
    bool (*check)(const json_t *value, const char *path, struct slu_refusal *ret);
    const struct slu_field *key; /* Maps: what a member's name must be; NULL: anything. */
};

/* Spec table of a served kind; NULL for the others. */
const struct slu_field *slu_spec_fields(enum slu_kind kind);
extern const struct slu_field slu_envelope_fields[]; /* Without `spec`'s own table. */

/* Decodes `value` by `fields`: a new object with every known member in table order and defaults put
 * in, or NULL with the refusal filled. `path` is the name of `value` itself ("spec"). Explicit null
 * counts as absent for members without default, and is refused for the others (N4). */
json_t *slu_fields_decode(const struct slu_field *fields,
                          const json_t *value,
                          const char *path,
                          struct slu_refusal *ret);

/* Whether `next` may follow `before`: both decoded by `fields`. False names the first field that
 * must not change. `has_capability` answers for SLU_MUTABLE_BY_CAPABILITY. */
bool slu_fields_may_follow(const struct slu_field *fields,
                           const json_t *before,
                           const json_t *next,
                           const char *path,
                           bool (*has_capability)(void *context, const char *capability),
                           void *context,
                           struct slu_refusal *ret);

#endif
