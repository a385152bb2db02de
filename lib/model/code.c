/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the error codes, their HTTP status, and how a refusal is put together. */
#include "slu/model/code.h"

#include "slu/base/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const slu_code_names[SLU_CODE_COUNT] = {
    [SLU_CODE_NONE] = "",
    [SLU_CODE_INVALID] = "INVALID",
    [SLU_CODE_NOT_FOUND] = "NOT_FOUND",
    [SLU_CODE_FORBIDDEN] = "FORBIDDEN",
    [SLU_CODE_CONFLICT] = "CONFLICT",
    [SLU_CODE_INVALID_STATE] = "INVALID_STATE",
    [SLU_CODE_ARTIFACT_UNAVAILABLE] = "ARTIFACT_UNAVAILABLE",
    [SLU_CODE_CAPABILITY_UNSUPPORTED] = "CAPABILITY_UNSUPPORTED",
    [SLU_CODE_TICKET_EXPIRED] = "TICKET_EXPIRED",
    [SLU_CODE_LEASE_REQUIRED] = "LEASE_REQUIRED",
    [SLU_CODE_STALE_FENCING_TOKEN] = "STALE_FENCING_TOKEN",
    [SLU_CODE_REVISION_CONFLICT] = "REVISION_CONFLICT",
    [SLU_CODE_RATE_LIMITED] = "RATE_LIMITED",
    [SLU_CODE_UNAVAILABLE] = "UNAVAILABLE",
    [SLU_CODE_UNAUTHENTICATED] = "UNAUTHENTICATED",
};

static const int http_statuses[SLU_CODE_COUNT] = {
    [SLU_CODE_NONE] = 200,
    [SLU_CODE_INVALID] = 400,
    [SLU_CODE_NOT_FOUND] = 404,
    [SLU_CODE_FORBIDDEN] = 403,
    [SLU_CODE_CONFLICT] = 409,
    [SLU_CODE_INVALID_STATE] = 409,
    [SLU_CODE_ARTIFACT_UNAVAILABLE] = 409,
    [SLU_CODE_CAPABILITY_UNSUPPORTED] = 422,
    [SLU_CODE_TICKET_EXPIRED] = 401,
    [SLU_CODE_LEASE_REQUIRED] = 428,
    [SLU_CODE_STALE_FENCING_TOKEN] = 409,
    [SLU_CODE_REVISION_CONFLICT] = 412,
    [SLU_CODE_RATE_LIMITED] = 429,
    [SLU_CODE_UNAVAILABLE] = 503,
    [SLU_CODE_UNAUTHENTICATED] = 401,
};

static_assert(SLU_CODE_COUNT == 15, "a new code needs a name and a status");

int
slu_code_http_status(enum slu_code code)
{
    assert(code < SLU_CODE_COUNT);
    return http_statuses[code];
}

bool
slu_refuse(struct slu_refusal *ret, enum slu_code code, const char *path, const char *format, ...)
{
    const bool has_path = path && path[0];
    char kept[sizeof(ret->path)];
    snprintf(kept, sizeof(kept), "%s", has_path ? path : ""); /* `path` may lie inside `ret`. */

    ret->code = code;
    memcpy(ret->path, kept, sizeof(kept));

    const int prefix = has_path ? snprintf(ret->message, sizeof(ret->message), "%s: ", kept) : 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ret->message + prefix, sizeof(ret->message) - (size_t) prefix, format, arguments);
    va_end(arguments);
    slu_utf8_trim(ret->message); /* What is cut stays valid: it goes into events. */
    return false;
}
