/* SPDX-License-Identifier: Apache-2.0 */
/* The look by labels. Lists lie in known ways (providers.md §4, rows 21 and 23): filters that are
 * ignored, cursors that repeat, pages that come twice. Each is noticed and makes the list
 * incomplete, so that absence proves nothing; each item's labels are checked here again. */
#include "e2b.h"
#include "facts.h"
#include "json.h"
#include "slu/base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool
is_known(const struct slu_facts *facts, const char *external_id)
{
    for (int i = 0; i < facts->seen_count; i++) {
        if (strcmp(facts->seen[i].external_id, external_id) == 0)
            return true;
    }
    return false;
}

/* An item may come twice when it was resumed between two pages: once is enough. */
static void
take_item(const struct slu_e2b_dialect *dialect,
          const struct slu_call *call,
          const json_t *item,
          struct slu_facts *facts)
{
    struct slu_seen seen;
    if (!slu_e2b_seen(dialect, call, item, &seen) || strcmp(seen.key, call->key) != 0) {
        facts->incomplete = true; /* Unreadable, or the filter was not honoured. */
        return;
    }
    if (is_known(facts, seen.external_id))
        return;
    if (facts->seen_count == SLU_SEEN_MAX) {
        facts->incomplete = true;
        return;
    }
    facts->seen[facts->seen_count++] = seen;
}

/* exchange->token holds the hashes of the pages read so far, 16 hex digits each: a list needs no
 * token, and a repeated page of many keys is noticed at once. */
static bool
page_repeats(struct slu_exchange *exchange, const struct slu_buffer *body)
{
    char hash[17];
    snprintf(hash, sizeof(hash), "%016" PRIx64, slu_hash64(body->data, body->size));

    const size_t size = strlen(exchange->token);
    for (size_t at = 0; at + 16 <= size; at += 16) {
        if (strncmp(exchange->token + at, hash, 16) == 0)
            return true;
    }
    if (size + sizeof(hash) <= sizeof(exchange->token))
        memcpy(exchange->token + size, hash, sizeof(hash));
    return false;
}

/* Remembers the cursor of the next page; false when there is none worth asking for. */
static bool
take_cursor(struct slu_exchange *exchange, const struct slu_http_response *response)
{
    const char *cursor = slu_http_header_find(response, "x-next-token");
    if (!cursor || cursor[0] == '\0')
        return false;

    const bool usable = strlen(cursor) < sizeof(exchange->cursor) &&
                        strcmp(cursor, exchange->cursor) != 0 &&
                        exchange->page + 1 < SLU_E2B_PAGES_MAX;
    if (!usable) {
        exchange->facts.incomplete = true;
        return false;
    }
    memcpy(exchange->cursor, cursor, strlen(cursor) + 1);
    exchange->page++;
    return true;
}

enum slu_more
slu_e2b_list_page(const struct slu_e2b_dialect *dialect,
                  const struct slu_call *call,
                  struct slu_exchange *exchange,
                  const struct slu_http_response *response)
{
    struct slu_facts *facts = &exchange->facts;
    SLU_AUTO_JSON json_t *items = slu_e2b_json(response);
    if (!json_is_array(items)) {
        slu_facts_end(facts, SLU_OUTCOME_AMBIGUOUS, "the list of sandboxes is no JSON array");
        return SLU_LAST;
    }
    facts->outcome = SLU_OUTCOME_DONE;

    if (json_array_size(items) > 0 && page_repeats(exchange, &response->body)) {
        facts->incomplete = true;
        return SLU_LAST;
    }
    size_t i;
    json_t *item;
    json_array_foreach(items, i, item) take_item(dialect, call, item, facts);
    return take_cursor(exchange, response) ? SLU_MORE : SLU_LAST;
}
