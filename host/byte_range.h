/* SPDX-License-Identifier: Apache-2.0 */
/* The Range header, one range only. Pure. */
#ifndef SLU_HOST_BYTE_RANGE_H
#define SLU_HOST_BYTE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct slu_byte_range {
    int64_t start;
    int64_t size;
};

/* Without a header, or with one of a kind we do not serve, the whole. False: nothing of it lies
 * within the size (416). */
bool slu_byte_range_parse(const char *header, int64_t size, struct slu_byte_range *ret_range);

#endif
