/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes over bytes. murmur2 is Kafka's own variant, so that any producer's default partitioner and
 * ours agree on the partition of a key. */
#include "slu/base/hash.h"

#include <sodium.h>

#include <assert.h>
#include <xxhash.h>

struct slu_hash128
slu_hash128(const void *bytes, size_t size)
{
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);
    return (struct slu_hash128){.low = hash.low64, .high = hash.high64};
}

bool
slu_hash128_equal(struct slu_hash128 a, struct slu_hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

uint64_t
slu_hash64(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

uint32_t
slu_murmur2(const void *bytes, size_t size)
{
    const uint32_t seed = 0x9747b28c;
    const uint32_t multiplier = 0x5bd1e995;
    const unsigned char *data = bytes;
    uint32_t hash = seed ^ (uint32_t) size;

    for (; size >= 4; data += 4, size -= 4) {
        uint32_t word = (uint32_t) data[0] | (uint32_t) data[1] << 8 | (uint32_t) data[2] << 16 |
                        (uint32_t) data[3] << 24;
        word *= multiplier;
        word ^= word >> 24;
        word *= multiplier;
        hash *= multiplier;
        hash ^= word;
    }

    if (size == 3)
        hash ^= (uint32_t) data[2] << 16;
    if (size >= 2)
        hash ^= (uint32_t) data[1] << 8;
    if (size >= 1) {
        hash ^= data[0];
        hash *= multiplier;
    }

    hash ^= hash >> 13;
    hash *= multiplier;
    hash ^= hash >> 15;
    return hash & 0x7fffffff; /* As toPositive() of the Java client. */
}

void
slu_sha256_hex(const void *bytes, size_t size, char ret_hex[SLU_SHA256_HEX_SIZE])
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    static_assert(sizeof(digest) * 2 + 1 == SLU_SHA256_HEX_SIZE);

    crypto_hash_sha256(digest, bytes, size);
    sodium_bin2hex(ret_hex, SLU_SHA256_HEX_SIZE, digest, sizeof(digest));
}
