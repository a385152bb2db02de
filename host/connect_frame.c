/* SPDX-License-Identifier: Apache-2.0 */
/* Envelopes: one byte of flags, four bytes of length (big end first), the payload. */
#include "connect_frame.h"

#include "slu/base/memory.h"

#include <sodium.h>

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *code;
    unsigned status;
} statuses[] = {
    {"canceled", 499},           {"invalid_argument", 400},  {"failed_precondition", 400},
    {"out_of_range", 400},       {"deadline_exceeded", 504}, {"not_found", 404},
    {"already_exists", 409},     {"aborted", 409},           {"permission_denied", 403},
    {"resource_exhausted", 429}, {"unimplemented", 501},     {"unavailable", 503},
    {"unauthenticated", 401},
};

void
slu_connect_frame(struct slu_buffer *out, uint8_t flags, const char *payload, size_t size)
{
    const uint8_t header[SLU_CONNECT_HEADER_SIZE] = {
        flags,          (uint8_t) (size >> 24), (uint8_t) (size >> 16), (uint8_t) (size >> 8),
        (uint8_t) size,
    };
    slu_buffer_append(out, header, sizeof(header));
    slu_buffer_append(out, payload, size);
}

void
slu_connect_frame_json(struct slu_buffer *out, const json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    slu_connect_frame(out, 0, text, strlen(text));
    free(text);
}

void
slu_connect_end(struct slu_buffer *out, const char *code, const char *message)
{
    SLU_AUTO_BUFFER struct slu_buffer payload = {0};
    if (!code) {
        slu_connect_frame(out, SLU_CONNECT_END, "{}", 2);
        return;
    }
    slu_buffer_puts(&payload, "{\"error\":{\"code\":");
    slu_buffer_json_string(&payload, code);
    slu_buffer_puts(&payload, ",\"message\":");
    slu_buffer_json_string(&payload, message);
    slu_buffer_puts(&payload, "}}");
    slu_connect_frame(out, SLU_CONNECT_END, payload.data, payload.size);
}

enum slu_status
slu_connect_read_one(const char *body, size_t size, json_t **ret_message, struct slu_error *reterr)
{
    if (size < SLU_CONNECT_HEADER_SIZE)
        return slu_fail(reterr, SLU_INVALID, "the body has %zu bytes, an envelope begins with 5",
                        size);
    const uint8_t *header = (const uint8_t *) body;
    const size_t length =
        (size_t) header[1] << 24 | (size_t) header[2] << 16 | (size_t) header[3] << 8 | header[4];
    if (header[0] & SLU_CONNECT_COMPRESSED)
        return slu_fail(reterr, SLU_INVALID, "the envelope is compressed, which was not offered");
    if (length > SLU_CONNECT_MESSAGE_MAX)
        return slu_fail(reterr, SLU_INVALID, "a message of %zu bytes is above the limit of %d",
                        length, SLU_CONNECT_MESSAGE_MAX);
    if (length > size - SLU_CONNECT_HEADER_SIZE)
        return slu_fail(reterr, SLU_INVALID, "the envelope promises %zu bytes, %zu are there",
                        length, size - SLU_CONNECT_HEADER_SIZE);

    json_error_t where;
    json_t *message = json_loadb(body + SLU_CONNECT_HEADER_SIZE, length, 0, &where);
    if (!json_is_object(message)) {
        json_decref(message);
        return slu_fail(reterr, SLU_INVALID, "the message is no JSON object: %s",
                        message ? "another value" : where.text);
    }
    *ret_message = message;
    return SLU_OK;
}

unsigned
slu_connect_status(const char *code)
{
    for (size_t i = 0; i < SLU_COUNT(statuses); i++) {
        if (strcmp(statuses[i].code, code) == 0)
            return statuses[i].status;
    }
    return 500;
}

void
slu_base64_append(struct slu_buffer *out, const char *bytes, size_t size)
{
    const size_t encoded = sodium_base64_encoded_len(size, sodium_base64_VARIANT_ORIGINAL);
    SLU_AUTO_FREE char *text = slu_alloc(encoded);
    sodium_bin2base64(text, encoded, (const unsigned char *) bytes, size,
                      sodium_base64_VARIANT_ORIGINAL);
    slu_buffer_puts(out, text);
}
