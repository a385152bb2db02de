/* SPDX-License-Identifier: Apache-2.0 */
/* Request targets and paths as text. Nothing here looks at a file system: what a path means is for
 * the sandbox to say. */
#include "uri.h"

#include "slu/base/memory.h"

#include <stdio.h>
#include <string.h>

static const char home[] = "/home/user";

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool
slu_host_uri_decode(const char *text, size_t size, bool plus, char **ret_text)
{
    char *decoded = slu_alloc(size + 1);
    size_t used = 0;

    for (size_t i = 0; i < size; i++) {
        if (text[i] != '%') {
            decoded[used++] = plus && text[i] == '+' ? ' ' : text[i];
            continue;
        }
        const bool whole = size - i > 2;
        const int high = whole ? hex_digit(text[i + 1]) : -1;
        const int low = whole ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0 || high * 16 + low == 0) {
            slu_free_ptr(&decoded);
            return false;
        }
        decoded[used++] = (char) (high * 16 + low);
        i += 2;
    }
    decoded[used] = '\0';
    *ret_text = decoded;
    return true;
}

bool
slu_host_uri_match(const char *pattern, const char *path, size_t path_size, char **ret_segment)
{
    const char *end = path + path_size;
    const char *segment = NULL;
    size_t segment_size = 0;

    while (*pattern && path < end) {
        if (*pattern == '{') {
            segment = path;
            while (path < end && *path != '/')
                path++;
            segment_size = (size_t) (path - segment);
            pattern = strchr(pattern, '}') + 1;
            if (segment_size == 0)
                return false;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    if (*pattern || path < end)
        return false;
    *ret_segment = NULL;
    return !segment || slu_host_uri_decode(segment, segment_size, false, ret_segment);
}

char *
slu_host_uri_query(const char *query, const char *name)
{
    const size_t name_size = strlen(name);
    while (query && *query) {
        const size_t size = strcspn(query, "&");
        if (size > name_size && memcmp(query, name, name_size) == 0 && query[name_size] == '=') {
            char *value = NULL;
            const size_t at = name_size + 1;
            return slu_host_uri_decode(query + at, size - at, true, &value) ? value : NULL;
        }
        query += size + (query[size] == '&');
    }
    return NULL;
}

/* Appends one segment to an absolute path, resolving `.` and `..`. */
static bool
descend(char path[SLU_HOST_PATH_MAX], const char *segment, size_t size)
{
    if (size == 0 || (size == 1 && segment[0] == '.'))
        return true;
    if (size == 2 && memcmp(segment, "..", 2) == 0) {
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
        return true;
    }
    const size_t used = strlen(path);
    if (used + 1 + size >= SLU_HOST_PATH_MAX)
        return false;
    path[used] = '/';
    memcpy(path + used + 1, segment, size);
    path[used + 1 + size] = '\0';
    return true;
}

bool
slu_host_uri_sandbox_path(const char *path, char ret_path[SLU_HOST_PATH_MAX])
{
    if (path[0] == '\0')
        return false;
    if (path[0] == '~' && (path[1] == '/' || path[1] == '\0')) {
        snprintf(ret_path, SLU_HOST_PATH_MAX, "%s", home);
        path++;
    } else {
        snprintf(ret_path, SLU_HOST_PATH_MAX, "%s", path[0] == '/' ? "" : home);
    }

    while (*path) {
        const size_t size = strcspn(path, "/");
        if (!descend(ret_path, path, size))
            return false;
        path += size + (path[size] == '/');
    }
    if (ret_path[0] == '\0')
        snprintf(ret_path, SLU_HOST_PATH_MAX, "/");
    return true;
}
