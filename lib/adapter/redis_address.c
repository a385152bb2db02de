/* SPDX-License-Identifier: Apache-2.0 */
/* A password has no place in a URL, which shows in process lists and logs: it comes from a file. */
#include "slu/adapter/redis_address.h"

#include "slu/base/macros.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
read_number(const char *text, size_t size, long max, int *ret_number)
{
    char digits[8];
    if (size == 0 || size >= sizeof(digits) || strspn(text, "0123456789") < size)
        return false;
    snprintf(digits, sizeof(digits), "%.*s", (int) size, text);
    const long number = strtol(digits, NULL, 10);
    *ret_number = (int) number;
    return number <= max;
}

/* "host", "host:port", "[v6]:port". */
static bool
read_place(const char *text, size_t size, struct slu_redis_address *ret)
{
    const char *host = text;
    const char *end = memchr(text, ':', size);
    const char *after = end ? end : text + size;
    if (size > 0 && *text == '[') {
        host = text + 1;
        end = memchr(text, ']', size);
        if (!end)
            return false;
        after = end + 1;
    } else if (!end) {
        end = text + size;
    }
    const size_t host_size = (size_t) (end - host);
    if (host_size == 0 || host_size >= sizeof(ret->host))
        return false;
    snprintf(ret->host, sizeof(ret->host), "%.*s", (int) host_size, host);
    if (after == text + size)
        return true;
    return *after == ':' &&
           read_number(after + 1, (size_t) (text + size - after - 1), 65535, &ret->port) &&
           ret->port > 0;
}

enum slu_status
slu_redis_address_read(const char *url, struct slu_redis_address *ret, struct slu_error *reterr)
{
    static const char scheme[] = "redis://";
    static const char form[] = "expected redis://[user@]host[:port][/database]";

    *ret = (struct slu_redis_address){.port = 6379};
    if (strncmp(url, scheme, sizeof(scheme) - 1) != 0)
        return slu_fail(reterr, SLU_INVALID, "the Redis URL does not start with redis://; %s",
                        form);

    const char *rest = url + sizeof(scheme) - 1;
    const char *slash = strchr(rest, '/');
    const size_t authority = slash ? (size_t) (slash - rest) : strlen(rest);
    const char *at = memrchr(rest, '@', authority);
    if (at) {
        const size_t user = (size_t) (at - rest);
        if (memchr(rest, ':', user)) {
            return slu_fail(reterr, SLU_INVALID,
                            "the Redis URL holds a password; put it into a file and name that in "
                            "--redis-password-file");
        }
        if (user >= sizeof(ret->user))
            return slu_fail(reterr, SLU_INVALID, "the user in the Redis URL is too long");
        snprintf(ret->user, sizeof(ret->user), "%.*s", (int) user, rest);
    }
    const char *place = at ? at + 1 : rest;
    if (!read_place(place, (size_t) (rest + authority - place), ret))
        return slu_fail(reterr, SLU_INVALID, "Redis URL '%s': no host and port; %s", url, form);
    if (slash && slash[1] && !read_number(slash + 1, strlen(slash + 1), 9999, &ret->database))
        return slu_fail(reterr, SLU_INVALID, "Redis URL '%s': no database number; %s", url, form);
    return SLU_OK;
}
