/* SPDX-License-Identifier: Apache-2.0 */
/* A key that is taken is written back as it came, and its shard is one of the shards. */
#include "slu/model/key.h"

#include "fuzz.h"

#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slu_key key;
    struct slu_refusal refusal;
    if (!slu_key_parse(data, size, &key, &refusal)) {
        assert(refusal.code == SLU_CODE_INVALID && refusal.message[0]);
        return 0;
    }
    char text[SLU_KEY_MAX + 1];
    assert(slu_key_write(&key, text, sizeof(text)) == size);
    assert(memcmp(text, data, size) == 0);
    assert(slu_id_valid(key.id, strlen(key.id)) && slu_id_valid(key.root_id, strlen(key.root_id)));

    static const int counts[] = {1, 2, 16, 1000};
    for (size_t i = 0; i < SLU_COUNT(counts); i++) {
        const int shard = slu_key_shard(&key, counts[i]);
        assert(shard >= 0 && shard < counts[i]);
    }
    return 0;
}
