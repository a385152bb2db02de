/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers over jansson, for reading what others wrote. */
#ifndef SLU_LIB_PROVIDER_JSON_H
#define SLU_LIB_PROVIDER_JSON_H

#include "slu/base/buffer.h"
#include "slu/base/macros.h"

#include <jansson.h>

static inline void
slu_json_done(json_t **json)
{
    json_decref(*json);
    *json = NULL;
}

#define SLU_AUTO_JSON SLU_AUTO(slu_json_done)

/* The text of a string member, or NULL. */
static inline const char *
slu_json_text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* Appends the compact text of `json`, members in the order they were put in. */
static inline int
slu_json_append(const char *bytes, size_t size, void *buffer)
{
    slu_buffer_append(buffer, bytes, size);
    return 0;
}

static inline void
slu_json_write(const json_t *json, struct slu_buffer *out)
{
    json_dump_callback(json, slu_json_append, out, JSON_COMPACT);
}

#endif
