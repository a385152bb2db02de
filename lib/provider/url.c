/* SPDX-License-Identifier: Apache-2.0 */
#include "url.h"

#include <stdbool.h>
#include <string.h>

static bool
is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~", c) != NULL);
}

void
slu_url_escape(struct slu_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (is_unreserved(*text))
            slu_buffer_putc(out, *text);
        else
            slu_buffer_printf(out, "%%%02X", (unsigned) (unsigned char) *text);
    }
}
