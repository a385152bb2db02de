/* SPDX-License-Identifier: Apache-2.0 */
/* Filters and cursors of lists. Clients encode metadata three times over; a filter that cannot be
 * read is an error, never "everything". */
#include "metadata_filter.h"

#include "slu/base/buffer.h"
#include "slu/base/memory.h"
#include "slu/model/time.h"
#include "uri.h"

#include <sodium.h>

#include <stdio.h>
#include <string.h>

enum {
    CURSOR_MAX = 256
};

static enum slu_status
add_pair(json_t *pairs, const char *text, size_t size, struct slu_error *reterr)
{
    const char *equals = memchr(text, '=', size);
    const size_t name_size = equals ? (size_t) (equals - text) : 0;
    const char *rest = equals ? equals + 1 : text;
    const size_t rest_size = equals ? size - name_size - 1 : 0;
    SLU_AUTO_FREE char *name = NULL;
    SLU_AUTO_FREE char *value = NULL;

    if (!equals || memchr(rest, '=', rest_size) || name_size == 0)
        return slu_fail(reterr, SLU_INVALID, "metadata: '%.*s' is not one key=value",
                        (int) (size > 100 ? 100 : size), text);
    if (!slu_host_uri_decode(text, name_size, true, &name) ||
        !slu_host_uri_decode(rest, rest_size, true, &value))
        return slu_fail(reterr, SLU_INVALID, "metadata: '%.*s' is badly escaped",
                        (int) (size > 100 ? 100 : size), text);
    json_t *string = json_string(value);
    if (!string || json_object_set_new(pairs, name, string) != 0)
        return slu_fail(reterr, SLU_INVALID, "metadata: no valid UTF-8");
    return SLU_OK;
}

enum slu_status
slu_host_metadata_parse(const char *text, json_t **ret_pairs, struct slu_error *reterr)
{
    SLU_AUTO_FREE char *decoded = NULL;
    json_t *pairs = json_object();
    enum slu_status status = SLU_OK;
    if (!slu_host_uri_decode(text, strlen(text), true, &decoded))
        status = slu_fail(reterr, SLU_INVALID, "metadata: '%.100s' is badly escaped", text);

    const char *at = decoded;
    while (!status && *at) {
        const size_t size = strcspn(at, "&");
        status = add_pair(pairs, at, size, reterr);
        at += size + (at[size] == '&');
    }
    if (status)
        json_decref(pairs);
    else
        *ret_pairs = pairs;
    return status;
}

bool
slu_host_metadata_matches(const json_t *metadata, json_t *pairs)
{
    const char *name;
    json_t *value;
    json_object_foreach(pairs, name, value)
    {
        if (!json_equal(json_object_get(metadata, name), value))
            return false;
    }
    return true;
}

char *
slu_host_cursor_encode(const struct slu_host_cursor *cursor)
{
    char text[CURSOR_MAX], moment[SLU_TIME_TEXT_SIZE];
    slu_time_write(cursor->created_at_ms, moment);
    snprintf(text, sizeof(text), "%s__%s%s", moment, cursor->id, cursor->ascending ? "__asc" : "");
    const size_t size =
        sodium_base64_encoded_len(strlen(text), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *encoded = slu_alloc(size);
    sodium_bin2base64(encoded, size, (const unsigned char *) text, strlen(text),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return encoded;
}

enum slu_status
slu_host_cursor_decode(const char *text,
                       struct slu_host_cursor *ret_cursor,
                       struct slu_error *reterr)
{
    char decoded[CURSOR_MAX];
    size_t size = 0;
    size_t text_size = strlen(text);
    while (text_size > 0 && text[text_size - 1] == '=')
        text_size--;
    struct slu_host_cursor cursor = {0};
    if (sodium_base642bin((unsigned char *) decoded, sizeof(decoded) - 1, text, text_size, NULL,
                          &size, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0)
        return slu_fail(reterr, SLU_INVALID, "nextToken '%.100s' is none of ours", text);
    decoded[size] = '\0';

    char *id = strstr(decoded, "__");
    char *order = id ? strstr(id + 2, "__") : NULL;
    if (id)
        *id = '\0';
    if (order)
        *order = '\0';
    if (!id || strlen(id + 2) >= sizeof(cursor.id) || (order && strcmp(order + 2, "asc") != 0) ||
        !slu_time_read(decoded, &cursor.created_at_ms))
        return slu_fail(reterr, SLU_INVALID, "nextToken '%.100s' is none of ours", text);
    snprintf(cursor.id, sizeof(cursor.id), "%s", id + 2);
    cursor.ascending = order != NULL;
    *ret_cursor = cursor;
    return SLU_OK;
}
