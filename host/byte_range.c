/* SPDX-License-Identifier: Apache-2.0 */
/* `bytes=a-b`, `bytes=a-`, `bytes=-n`. Several ranges at once get the whole, as the standard
 * allows. */
#include "byte_range.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool
read_number(const char **at, int64_t *ret_number)
{
    if (**at < '0' || **at > '9')
        return false;
    char *end;
    *ret_number = strtoll(*at, &end, 10); /* Saturates, which is as good as any other end. */
    *at = end;
    return true;
}

bool
slu_byte_range_parse(const char *header, int64_t size, struct slu_byte_range *ret_range)
{
    int64_t first = 0, last = 0;
    *ret_range = (struct slu_byte_range){.start = 0, .size = size};
    if (!header || strncmp(header, "bytes=", 6) != 0 || strchr(header, ','))
        return true;

    const char *at = header + 6;
    const bool has_first = read_number(&at, &first);
    if (*at++ != '-')
        return true;
    const bool has_last = read_number(&at, &last);
    if (*at || (!has_first && !has_last) || (has_first && has_last && last < first))
        return true;

    if (!has_first) {
        first = last < size ? size - last : 0;
        last = size - 1;
    }
    if (!has_last || last >= size)
        last = size - 1;
    if (first > last)
        return false;
    *ret_range = (struct slu_byte_range){.start = first, .size = last - first + 1};
    return true;
}
