/* SPDX-License-Identifier: Apache-2.0 */
/* A growing run of bytes, always with a NUL after the last one (not counted in `size`).
 * Zero-initialised is empty and valid. Growth that fails aborts (memory.h). */
#ifndef SLU_BASE_BUFFER_H
#define SLU_BASE_BUFFER_H

#include "slu/base/macros.h"

#include <stddef.h>
#include <stdint.h>

struct slu_buffer {
    char *data; /* NULL while nothing was ever appended. */
    size_t size;
    size_t capacity;
};

void slu_buffer_append(struct slu_buffer *buffer, const void *bytes, size_t size);
void slu_buffer_puts(struct slu_buffer *buffer, const char *text);
void slu_buffer_putc(struct slu_buffer *buffer, char c);
void slu_buffer_printf(struct slu_buffer *buffer, const char *format, ...) SLU_PRINTF(2, 3);
void slu_buffer_reset(struct slu_buffer *buffer); /* Empty, memory kept. */
void slu_buffer_done(struct slu_buffer *buffer);  /* Memory given back. */
char *slu_buffer_take(struct slu_buffer *buffer); /* The caller frees; never NULL. */

enum {
    SLU_INT_TEXT_SIZE = sizeof("-9223372036854775808")
};

/* Decimal, faster than printf. slu_int_write ends with a NUL and returns the length before it. */
size_t slu_int_write(int64_t number, char ret_text[SLU_INT_TEXT_SIZE]);
void slu_buffer_int(struct slu_buffer *buffer, int64_t number);

/* JSON text, appended: for hot paths where building a tree costs too much. Strings must be valid
 * UTF-8; they are quoted and escaped. */
void slu_buffer_json_string(struct slu_buffer *buffer, const char *text);
void slu_buffer_json_bytes(struct slu_buffer *buffer, const char *bytes, size_t size);

#define SLU_AUTO_BUFFER SLU_AUTO(slu_buffer_done)

#endif
