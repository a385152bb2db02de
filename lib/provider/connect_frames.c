/* SPDX-License-Identifier: Apache-2.0 */
#include "connect_frames.h"

#include <assert.h>
#include <stdint.h>

enum {
    HEADER_SIZE = 5,
    FLAG_END = 0x02, /* Bit 0 would be "compressed", which we never ask for. */
};

static uint32_t
read_length(const unsigned char *header)
{
    return (uint32_t) header[1] << 24 | (uint32_t) header[2] << 16 | (uint32_t) header[3] << 8 |
           header[4];
}

struct slu_connect_frame
slu_connect_next(const char *bytes, size_t size, size_t *offset)
{
    assert(*offset <= size);
    if (size - *offset < HEADER_SIZE)
        return (struct slu_connect_frame){.kind = SLU_CONNECT_TRUNCATED};

    const unsigned char *header = (const unsigned char *) bytes + *offset;
    const uint32_t length = read_length(header);
    if (header[0] != 0 && header[0] != FLAG_END)
        return (struct slu_connect_frame){.kind = SLU_CONNECT_BAD};
    if (length > size - *offset - HEADER_SIZE)
        return (struct slu_connect_frame){.kind = SLU_CONNECT_TRUNCATED};

    const struct slu_connect_frame frame = {
        .kind = header[0] == FLAG_END ? SLU_CONNECT_END : SLU_CONNECT_MESSAGE,
        .payload = bytes + *offset + HEADER_SIZE,
        .size = length,
    };
    *offset += HEADER_SIZE + length;
    return frame;
}

void
slu_connect_write(struct slu_buffer *out, const char *payload, size_t size)
{
    const char header[HEADER_SIZE] = {0, (char) (size >> 24), (char) (size >> 16),
                                      (char) (size >> 8), (char) size};
    assert(size <= UINT32_MAX);
    slu_buffer_append(out, header, sizeof(header));
    slu_buffer_append(out, payload, size);
}
