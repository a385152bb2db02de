/* SPDX-License-Identifier: Apache-2.0 */
/* The few macros that every file may use. */
#ifndef SLU_BASE_MACROS_H
#define SLU_BASE_MACROS_H

#include <stddef.h>

#define SLU_MUST_CHECK              [[nodiscard]]
#define SLU_PRINTF(position, first) __attribute__((format(printf, position, first)))
#define SLU_COUNT(array)            (sizeof(array) / sizeof((array)[0]))

/* Runs `drop(&variable)` when the variable leaves its scope, by whatever path. */
#define SLU_AUTO(drop) __attribute__((cleanup(drop)))

/* Gives the pointer to a new owner, and disarms the old one. */
#define slu_steal(pointer)                       \
    __extension__({                              \
        __typeof__(pointer) stolen_ = (pointer); \
        (pointer) = NULL;                        \
        stolen_;                                 \
    })

#endif
