/* SPDX-License-Identifier: Apache-2.0 */
/* What happened and why: the one error convention of every layer.
 *
 * `enum slu_status` says what the caller should do next, `struct slu_error` says why. Library code
 * returns both and never logs; the programs log an error once, where they react to it. */
#ifndef SLU_BASE_STATUS_H
#define SLU_BASE_STATUS_H

#include "slu/base/macros.h"

#include <stdint.h>

/* What the caller should do next. The type itself is must-check, so dropping a result does not
 * compile. Add a value only for a new reaction; causes go into slu_error. */
enum SLU_MUST_CHECK slu_status {
    SLU_OK = 0,
    SLU_RETRY,     /* Transient: the same call may succeed later. */
    SLU_CONFLICT,  /* Someone else wrote first: read again, then decide again. */
    SLU_NOT_FOUND, /* Absent. Often a good answer, so never logged as an error. */
    SLU_INVALID,   /* The input is wrong and will stay wrong. */
    SLU_FATAL,     /* This process, or this shard, cannot go on. */
};

enum {
    SLU_ERROR_MESSAGE_MAX = 511
};

/* Why it failed. Lives on the caller's stack and owns nothing, so failing cannot fail. */
struct slu_error {
    int code;               /* errno, HTTP status or library code; 0 when none applies. */
    int64_t retry_after_ms; /* The far side's hint; 0 when it gave none. */
    char message[SLU_ERROR_MESSAGE_MAX + 1];
};

/* Fills `reterr` and returns `status`, so that a failure is one line: return slu_fail(...).
 * `reterr` may be NULL when the caller does not care why. */
enum slu_status slu_fail(struct slu_error *reterr, enum slu_status status, const char *format, ...)
    SLU_PRINTF(3, 4);

/* Puts "<text>: " before the message that is there. */
void slu_error_prefix(struct slu_error *error, const char *format, ...) SLU_PRINTF(2, 3);

#endif
