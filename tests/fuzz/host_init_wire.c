/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the host and the init of a sandbox: whatever comes, reading stays inside it, and
 * what is read and put again is the same message. */
#include "../../host/init_wire.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void
put_again(struct slu_init_reader reader, const char *message, size_t size)
{
    SLU_AUTO_BUFFER struct slu_buffer out = {0};
    const size_t position = slu_init_begin(&out, reader.type);
    const char *at = reader.at;
    struct slu_init_value value;
    while (slu_init_next(&reader, &value)) {
        assert(value.bytes >= at && value.bytes + value.size <= message + size);
        (void) slu_init_value_number(&value, -1);
        slu_init_put(&out, value.field, value.bytes, value.size);
    }
    slu_init_end(&out, position);
    if (reader.at == reader.end) /* Nothing broken was left unread. */
        assert(out.size == size && memcmp(out.data, message, size) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *) data;
    const int64_t whole = slu_init_whole(bytes, size, SLU_INIT_REQUEST_MAX);
    assert(whole >= -1 && whole <= (int64_t) size);
    if (whole <= 0)
        return 0;
    const struct slu_init_reader reader = slu_init_read(bytes, (size_t) whole);
    struct slu_init_value value;
    (void) slu_init_number(reader, SLU_INIT_F_PID, -1);
    (void) slu_init_find(reader, SLU_INIT_F_BYTES, &value);
    free(slu_init_text(reader, SLU_INIT_F_COMMAND));
    put_again(reader, bytes, (size_t) whole);
    return 0;
}
