/* SPDX-License-Identifier: Apache-2.0 */
/* The frame reader stays inside its bytes, always moves on, and reads back what it is given. */
#include "../../lib/provider/connect_frames.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *) data;
    size_t offset = 0;
    for (;;) {
        const size_t before = offset;
        const struct slu_connect_frame frame = slu_connect_next(bytes, size, &offset);
        if (frame.kind != SLU_CONNECT_MESSAGE)
            return 0;
        assert(offset > before && offset <= size);
        assert(frame.payload >= bytes && frame.payload + frame.size <= bytes + size);
        SLU_AUTO_BUFFER struct slu_buffer out = {0};
        slu_connect_write(&out, frame.payload, frame.size);
        assert(out.size == offset - before);
    }
}
