/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes that only tell bytes apart (nothing here is for security). */
#ifndef SLU_BASE_HASH_H
#define SLU_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 128 bits of XXH3 over raw bytes: decides "the same document again" without parsing it. */
struct slu_hash128 {
    uint64_t low, high;
};

struct slu_hash128 slu_hash128(const void *bytes, size_t size);
bool slu_hash128_equal(struct slu_hash128 a, struct slu_hash128 b);
uint64_t slu_hash64(const void *bytes, size_t size);

/* murmur2 as Kafka's default partitioner computes it, already made positive. */
uint32_t slu_murmur2(const void *bytes, size_t size);

enum {
    SLU_SHA256_HEX_SIZE = 65
};

/* Lower-case hex of SHA-256 over the bytes (libsodium), NUL-terminated. */
void slu_sha256_hex(const void *bytes, size_t size, char ret_hex[SLU_SHA256_HEX_SIZE]);

#endif
