/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that succeeds or ends the process. */
#include "slu/base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *
or_abort(void *memory, size_t size)
{
    if (!memory) {
        fprintf(stderr, "out of memory asking for %zu bytes\n", size);
        abort();
    }
    return memory;
}

void *
slu_alloc(size_t size)
{
    const size_t at_least_one = size ? size : 1; /* calloc(0) may give NULL and mean success. */
    return or_abort(calloc(1, at_least_one), at_least_one);
}

void *
slu_realloc(void *memory, size_t size)
{
    const size_t at_least_one = size ? size : 1;
    return or_abort(realloc(memory, at_least_one), at_least_one);
}

char *
slu_strdup(const char *text)
{
    return slu_memdup(text, strlen(text));
}

void *
slu_memdup(const void *bytes, size_t size)
{
    if (size == SIZE_MAX)
        or_abort(NULL, size);

    char *copy = or_abort(malloc(size + 1), size + 1);
    if (size)
        memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

void
slu_free_ptr(void *pointer_to_pointer)
{
    void *pointer;
    memcpy(&pointer, pointer_to_pointer, sizeof(pointer)); /* Of any object pointer type. */
    free(pointer);
    pointer = NULL;
    memcpy(pointer_to_pointer, &pointer, sizeof(pointer));
}
