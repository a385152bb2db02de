/* SPDX-License-Identifier: Apache-2.0 */
/* A shard record that is taken comes back from what is written, byte for byte, unknown members
 * included. */
#include "slu/model/shard_record.h"

#include "fuzz.h"
#include "slu/base/buffer.h"

#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slu_shard_record first;
    struct slu_shard_record second;
    struct slu_error error;
    if (slu_shard_record_read(data, size, &first, &error)) {
        assert(error.message[0]);
        return 0;
    }
    SLU_AUTO_BUFFER struct slu_buffer written = {0};
    SLU_AUTO_BUFFER struct slu_buffer again = {0};
    slu_shard_record_write(&first, &written);
    const enum slu_status status =
        slu_shard_record_read(written.data, written.size, &second, &error);
    assert(!status);
    slu_shard_record_write(&second, &again);
    assert(again.size == written.size && memcmp(again.data, written.data, again.size) == 0);
    assert(second.admitted_count == first.admitted_count);
    slu_shard_record_done(&first);
    slu_shard_record_done(&second);
    return 0;
}
