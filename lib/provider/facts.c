/* SPDX-License-Identifier: Apache-2.0 */
#include "facts.h"

#include "slu/base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
slu_facts_end(struct slu_facts *facts, enum slu_outcome outcome, const char *format, ...)
{
    facts->outcome = outcome;

    char text[SLU_FACTS_MESSAGE_MAX + 5]; /* Room for one character more than is kept. */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);

    const size_t size = strlen(text);
    size_t kept = 0;
    for (size_t at = 0; at < size && kept < SLU_FACTS_MESSAGE_MAX;) {
        const size_t length = slu_utf8_length(text + at, size - at);
        if (length == 0) {
            at++; /* A byte of no character, or one that the end of `text` cut in two. */
            continue;
        }
        if (kept + length > SLU_FACTS_MESSAGE_MAX)
            break;
        const bool control = length == 1 && ((unsigned char) text[at] < 0x20 || text[at] == 0x7f);
        if (control)
            facts->message[kept] = ' ';
        else
            memcpy(facts->message + kept, text + at, length);
        kept += length;
        at += length;
    }
    facts->message[kept] = '\0';
}
