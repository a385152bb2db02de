/* SPDX-License-Identifier: Apache-2.0 */
/* Filling in errors. A message that does not fit is cut, never inside a character: messages end up
 * in JSON. Nothing here can fail. */
#include "slu/base/status.h"

#include "slu/base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum slu_status
slu_fail(struct slu_error *reterr, enum slu_status status, const char *format, ...)
{
    if (!reterr)
        return status;

    reterr->code = 0;
    reterr->retry_after_ms = 0;

    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reterr->message, sizeof(reterr->message), format, arguments);
    va_end(arguments);
    slu_utf8_trim(reterr->message);
    return status;
}

void
slu_error_prefix(struct slu_error *error, const char *format, ...)
{
    if (!error)
        return;

    char before[sizeof(error->message)];
    memcpy(before, error->message, sizeof(before));

    va_list arguments;
    va_start(arguments, format);
    const int written = vsnprintf(error->message, sizeof(error->message), format, arguments);
    va_end(arguments);

    const size_t used = written < 0 ? 0 : (size_t) written;
    if (used < sizeof(error->message))
        snprintf(error->message + used, sizeof(error->message) - used, ": %s", before);
    slu_utf8_trim(error->message);
}
