/* SPDX-License-Identifier: Apache-2.0 */
/* Heap memory that is there or ends the process (style.md 5.4): a small allocation that fails
 * aborts; Kafka delivers again and the restart path is tested every day. Sizes that come from
 * outside are bounded before they reach these functions. */
#ifndef SLU_BASE_MEMORY_H
#define SLU_BASE_MEMORY_H

#include "slu/base/macros.h"

#include <stddef.h>

void *slu_alloc(size_t size); /* Zeroed. */
void *slu_realloc(void *memory, size_t size);
char *slu_strdup(const char *text);
void *slu_memdup(const void *bytes, size_t size); /* With a NUL after the last byte. */

/* For SLU_AUTO(slu_free_ptr) on a `char *` or `void *` variable. */
void slu_free_ptr(void *pointer_to_pointer);

#define SLU_AUTO_FREE SLU_AUTO(slu_free_ptr)

#endif
