/* SPDX-License-Identifier: Apache-2.0 */
/* The contract's error codes and the refusal of a document (behaviour.md §8, contract-map §2.12).
 */
#ifndef SLU_MODEL_CODE_H
#define SLU_MODEL_CODE_H

#include "slu/base/macros.h"

#include <stdbool.h>

enum slu_code {
    SLU_CODE_NONE,
    SLU_CODE_INVALID,
    SLU_CODE_NOT_FOUND,
    SLU_CODE_FORBIDDEN,
    SLU_CODE_CONFLICT,
    SLU_CODE_INVALID_STATE,
    SLU_CODE_ARTIFACT_UNAVAILABLE,
    SLU_CODE_CAPABILITY_UNSUPPORTED,
    SLU_CODE_TICKET_EXPIRED,
    SLU_CODE_LEASE_REQUIRED,
    SLU_CODE_STALE_FENCING_TOKEN,
    SLU_CODE_REVISION_CONFLICT,
    SLU_CODE_RATE_LIMITED,
    SLU_CODE_UNAVAILABLE,
    SLU_CODE_UNAUTHENTICATED,
    SLU_CODE_COUNT,
};

extern const char *const slu_code_names[SLU_CODE_COUNT]; /* "INVALID", … */
int slu_code_http_status(enum slu_code code);

enum {
    SLU_REFUSAL_PATH_MAX = 255,
    SLU_REFUSAL_MESSAGE_MAX = 767,
};

/* Why a document was refused. The message names field, value and what would be right; values of
 * fields whose name says token, secret, password or key are never repeated (contract-map X50). */
struct slu_refusal {
    enum slu_code code;
    char path[SLU_REFUSAL_PATH_MAX + 1]; /* "spec.resources.cpuCount"; "" when of no field. */
    char message[SLU_REFUSAL_MESSAGE_MAX + 1];
};

/* Fills `ret` and returns false, so that a refusal is one line. `path` may be NULL or "". The
 * message begins with "<path>: "; `format` goes on from there. */
bool
slu_refuse(struct slu_refusal *ret, enum slu_code code, const char *path, const char *format, ...)
    SLU_PRINTF(4, 5);

#endif
