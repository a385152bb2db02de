/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 3339 text of Unix milliseconds, UTC: `2026-11-30T02:45:12.000Z` (contract-map N7). */
#ifndef SLU_MODEL_TIME_H
#define SLU_MODEL_TIME_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SLU_TIME_TEXT_SIZE = 32
};

void slu_time_write(int64_t unix_ms, char ret_text[SLU_TIME_TEXT_SIZE]);

/* Takes fractions of any length and numeric offsets; false when the text is no such time. */
bool slu_time_read(const char *text, int64_t *ret_unix_ms);

#endif
