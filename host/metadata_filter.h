/* SPDX-License-Identifier: Apache-2.0 */
/* Which sandboxes a list shows, and in what pages. Pure. */
#ifndef SLU_HOST_METADATA_FILTER_H
#define SLU_HOST_METADATA_FILTER_H

#include "slu/base/status.h"

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

/* The `metadata` parameter, URL-decoded once already: decoded again, split at `&`, each part
 * exactly `k=v`, both decoded a third time. Gives an object of strings; the caller derefs. */
enum slu_status
slu_host_metadata_parse(const char *text, json_t **ret_pairs, struct slu_error *reterr);

/* Every pair of the filter is there, exactly. */
bool slu_host_metadata_matches(const json_t *metadata, json_t *pairs);

/* A place in a list ordered by (created, id). */
struct slu_host_cursor {
    int64_t created_at_ms;
    char id[64];
    bool ascending;
};

/* base64url of `<RFC 3339>__<id>`, with `__asc` behind it for the ascending order. */
char *slu_host_cursor_encode(const struct slu_host_cursor *cursor); /* The caller frees. */
enum slu_status slu_host_cursor_decode(const char *text,
                                       struct slu_host_cursor *ret_cursor,
                                       struct slu_error *reterr);

#endif
