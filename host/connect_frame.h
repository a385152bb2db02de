/* SPDX-License-Identifier: Apache-2.0 */
/* The Connect protocol's envelopes and error words. Pure. */
#ifndef SLU_HOST_CONNECT_FRAME_H
#define SLU_HOST_CONNECT_FRAME_H

#include "slu/base/buffer.h"
#include "slu/base/status.h"

#include <jansson.h>

#include <stddef.h>
#include <stdint.h>

enum {
    SLU_CONNECT_HEADER_SIZE = 5,
    SLU_CONNECT_COMPRESSED = 0x01,
    SLU_CONNECT_END = 0x02,
    SLU_CONNECT_MESSAGE_MAX = 1024 * 1024,
};

void slu_connect_frame(struct slu_buffer *out, uint8_t flags, const char *payload, size_t size);
void slu_connect_frame_json(struct slu_buffer *out, const json_t *message);

/* The last frame of a stream: `{}`, or an error. */
void slu_connect_end(struct slu_buffer *out, const char *code, const char *message);

/* The one message of a streaming request: an object. The caller derefs. */
enum slu_status
slu_connect_read_one(const char *body, size_t size, json_t **ret_message, struct slu_error *reterr);

/* "not_found" → 404; what is no such word → 500. */
unsigned slu_connect_status(const char *code);

/* Standard base64, padded. */
void slu_base64_append(struct slu_buffer *out, const char *bytes, size_t size);

#endif
