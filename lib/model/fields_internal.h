/* SPDX-License-Identifier: Apache-2.0 */
/* What the field tables share: nested objects that several kinds use, rules that more than one row
 * needs, and the one way to say that a value is wrong. */
#ifndef SLU_LIB_MODEL_FIELDS_INTERNAL_H
#define SLU_LIB_MODEL_FIELDS_INTERNAL_H

#include "slu/base/buffer.h"
#include "slu/model/fields.h"

/* 2^53 − 1: the largest integer that every JSON reader keeps (contract-map N6). */
#define SLU_JSON_INT_MAX 9007199254740991

enum {
    SLU_ENV_VALUE_MAX = 32 * 1024,
    SLU_PATH_SIZE_MAX = 4096,
};

extern const struct slu_field slu_scope_fields[];
extern const struct slu_field slu_principal_fields[];
extern const struct slu_field slu_resources_fields[];
extern const struct slu_field slu_owner_field;    /* A member of `owners`. */
extern const struct slu_field slu_env_name_field; /* Name of an environment variable. */
extern const struct slu_field slu_env_value_field;
extern const char *const slu_principal_kinds[];

/* Checks for rows: see struct slu_field. */
bool slu_check_no_controls(const json_t *value, const char *path, struct slu_refusal *ret);
bool slu_check_path(const json_t *value, const char *path, struct slu_refusal *ret);
bool slu_check_egress_target(const json_t *value, const char *path, struct slu_refusal *ret);

/* "<path>: <value> is not allowed: <name> must be <rule>". The value is cut to 64 characters, and
 * left out where the path says that it may be a secret. */
bool slu_refuse_value(struct slu_refusal *ret,
                      const char *path,
                      const json_t *value,
                      const char *format,
                      ...) SLU_PRINTF(4, 5);

/* Appends `value` as a message shows it. */
void slu_show_value(const json_t *value, struct slu_buffer *out);

/* "<path>.<member>", or "<member>" when the path is empty. */
struct slu_member_path {
    char text[SLU_REFUSAL_PATH_MAX + 1];
};

struct slu_member_path slu_path_of(const char *path, const char *member);

/* How many of the named members an object has. */
int slu_count_members(const json_t *object, const char *const *names);

/* jansson's readers take no const where they change nothing but reference counts. */
json_t *slu_json_lend(const json_t *json);

#endif
