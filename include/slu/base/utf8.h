/* SPDX-License-Identifier: Apache-2.0 */
/* Where characters begin and end in UTF-8. Knows nothing of what they mean. */
#ifndef SLU_BASE_UTF8_H
#define SLU_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the character that starts here; 0 when no valid one does (overlong forms, surrogates and
 * anything above U+10FFFF are not valid). */
size_t slu_utf8_length(const char *bytes, size_t size);

/* The longest length ≤ `limit` that cuts no character of valid text in two. */
size_t slu_utf8_cut(const char *bytes, size_t size, size_t limit);

/* Takes away an incomplete character at the end: what cutting by bytes leaves behind. */
void slu_utf8_trim(char *text);

/* Characters in valid text. */
size_t slu_utf8_count(const char *bytes, size_t size);

#endif
