/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a Connect stream (providers.md §2.4): one flag byte, four bytes of big-endian length,
 * the payload. Knows nothing of what the payload means. */
#ifndef SLU_LIB_PROVIDER_CONNECT_FRAMES_H
#define SLU_LIB_PROVIDER_CONNECT_FRAMES_H

#include "slu/base/buffer.h"

#include <stddef.h>

enum slu_connect_kind {
    SLU_CONNECT_MESSAGE,
    SLU_CONNECT_END,       /* The stream's own last frame: `{}` or `{"error":{…}}`. */
    SLU_CONNECT_TRUNCATED, /* The bytes end inside a frame, or before the end frame. */
    SLU_CONNECT_BAD,       /* Compressed, or flags of no known meaning. */
};

struct slu_connect_frame {
    enum slu_connect_kind kind;
    const char *payload; /* Inside the bytes that were given. */
    size_t size;
};

/* The frame at `*offset`, which moves behind it. After anything but SLU_CONNECT_MESSAGE there is
 * nothing more to read. */
struct slu_connect_frame slu_connect_next(const char *bytes, size_t size, size_t *offset);

/* Appends one message frame. */
void slu_connect_write(struct slu_buffer *out, const char *payload, size_t size);

#endif
