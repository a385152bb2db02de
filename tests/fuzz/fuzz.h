/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share: the entry that libFuzzer and the replay both call. */
#ifndef SLU_TESTS_FUZZ_H
#define SLU_TESTS_FUZZ_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming) */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
