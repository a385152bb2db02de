/* SPDX-License-Identifier: Apache-2.0 */
/* Reading request targets: percent-decoding, route patterns, queries, and the paths that clients
 * write inside a sandbox. Pure; every byte is hostile. */
#ifndef SLU_HOST_URI_H
#define SLU_HOST_URI_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SLU_HOST_PATH_MAX = 4096
};

/* Decodes %xx, and `+` to a space when `plus`. False on a broken escape or an encoded NUL. The
 * caller frees. */
bool slu_host_uri_decode(const char *text, size_t size, bool plus, char **ret_text);

/* Matches a raw path (no query) against `/sandboxes/{id}/pause`; `{id}` takes one segment, which
 * comes back decoded and is the caller's. NULL pattern segment: none. */
bool
slu_host_uri_match(const char *pattern, const char *path, size_t path_size, char **ret_segment);

/* The first value of `name` in a raw query, decoded; NULL when absent or broken. The caller frees.
 */
char *slu_host_uri_query(const char *query, const char *name);

/* The absolute path a client means: `~` and relative paths start in the home folder; `.`, `..` and
 * doubled slashes are resolved by their text. False when it is empty or too long. */
bool slu_host_uri_sandbox_path(const char *path, char ret_path[SLU_HOST_PATH_MAX]);

#endif
