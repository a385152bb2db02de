/* SPDX-License-Identifier: Apache-2.0 */
/* Records as text that people can write as seeds: a line with the key, lines `name: value` for the
 * headers, an empty line, the value; a line `--` ends a record. No empty line: a tombstone. */
#ifndef SLU_TESTS_FUZZ_RECORD_TEXT_H
#define SLU_TESTS_FUZZ_RECORD_TEXT_H

#include "slu/base/memory.h"
#include "slu/model/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct record_text {
    const char *at, *end;
    char *names[SLU_RECORD_HEADERS_MAX]; /* Of the record read last. */
    size_t name_count;
};

static inline void
record_text_done(struct record_text *text)
{
    for (size_t i = 0; i < text->name_count; i++)
        free(text->names[i]);
    text->name_count = 0;
}

/* Past the line that begins at `at`; its size without the line break. */
static inline const char *
next_line(const char *at, const char *end, size_t *ret_size)
{
    const char *stop = memchr(at, '\n', (size_t) (end - at));
    *ret_size = (size_t) ((stop ? stop : end) - at);
    return stop ? stop + 1 : end;
}

static inline void
read_header(struct record_text *text, struct slu_record *record, const char *line, size_t size)
{
    const char *colon = memchr(line, ':', size);
    if (!colon || record->header_count == SLU_RECORD_HEADERS_MAX)
        return;
    const char *value = colon + 1;
    if (value < line + size && *value == ' ')
        value++;
    char *name = slu_memdup(line, (size_t) (colon - line));
    text->names[text->name_count++] = name;
    record->headers[record->header_count++] =
        (struct slu_header){name, value, (size_t) (line + size - value)};
}

/* The next record; false at the end. It points into the text, until the next one is read. */
static inline bool
record_text_next(struct record_text *text, struct slu_record *ret_record)
{
    record_text_done(text);
    if (text->at >= text->end)
        return false;
    const char *stop = memmem(text->at, (size_t) (text->end - text->at), "\n--\n", 4);
    const char *end = stop ? stop : text->end;

    size_t size;
    const char *line = text->at;
    const char *next = next_line(line, end, &size);
    *ret_record = (struct slu_record){.key = line, .key_size = size};
    while (next < end) {
        line = next;
        next = next_line(line, end, &size);
        if (size == 0) {
            ret_record->value = next;
            ret_record->value_size = (size_t) (end - next);
            break;
        }
        read_header(text, ret_record, line, size);
    }
    text->at = stop ? stop + 4 : text->end;
    return true;
}

#endif
