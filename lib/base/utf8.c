/* SPDX-License-Identifier: Apache-2.0 */
/* The well-formed byte sequences of UTF-8 (Unicode, table 3-7). */
#include "slu/base/utf8.h"

#include <stdbool.h>
#include <string.h>

static bool
is_continuation(char byte)
{
    return ((unsigned char) byte & 0xc0) == 0x80;
}

/* Bytes a character needs by its first byte, and the bounds of its second; 0 when none starts so.
 */
static size_t
expected_length(unsigned char first, unsigned char *ret_second_min, unsigned char *ret_second_max)
{
    *ret_second_min = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    *ret_second_max = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef)
        return 3;
    if (first >= 0xf0 && first <= 0xf4)
        return 4;
    return 0;
}

size_t
slu_utf8_length(const char *bytes, size_t size)
{
    if (size == 0)
        return 0;

    unsigned char second_min, second_max;
    const size_t length = expected_length((unsigned char) bytes[0], &second_min, &second_max);
    if (length <= 1)
        return length;
    if (length > size)
        return 0;

    const unsigned char second = (unsigned char) bytes[1];
    if (second < second_min || second > second_max)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (!is_continuation(bytes[i]))
            return 0;
    }
    return length;
}

size_t
slu_utf8_cut(const char *bytes, size_t size, size_t limit)
{
    if (size <= limit)
        return size;

    size_t length = limit;
    while (length > 0 && is_continuation(bytes[length]))
        length--;
    return length;
}

void
slu_utf8_trim(char *text)
{
    const size_t size = strlen(text);
    size_t last = size;
    while (last > 0 && is_continuation(text[last - 1]))
        last--;
    if (last == 0)
        return;

    last--;
    const size_t length = slu_utf8_length(text + last, size - last);
    if (length == 0)
        text[last] = '\0';
}

size_t
slu_utf8_count(const char *bytes, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += !is_continuation(bytes[i]);
    return count;
}
