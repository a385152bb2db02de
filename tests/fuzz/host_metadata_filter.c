/* SPDX-License-Identifier: Apache-2.0 */
/* The `metadata` parameter and the cursor of a list. A filter matches itself; a cursor that is
 * taken is given out again as the same place. */
#include "../../host/metadata_filter.h"
#include "fuzz.h"
#include "slu/base/memory.h"

#include <stdlib.h>
#include <string.h>

static void
check_filter(const char *text)
{
    json_t *pairs;
    struct slu_error error;
    if (slu_host_metadata_parse(text, &pairs, &error)) {
        assert(error.message[0]);
        return;
    }
    assert(json_is_object(pairs));
    assert(slu_host_metadata_matches(pairs, pairs));
    json_decref(pairs);
}

static void
check_cursor(const char *text)
{
    struct slu_host_cursor first;
    struct slu_host_cursor second;
    struct slu_error error;
    if (slu_host_cursor_decode(text, &first, &error)) {
        assert(error.message[0]);
        return;
    }
    SLU_AUTO_FREE char *again = slu_host_cursor_encode(&first);
    const enum slu_status status = slu_host_cursor_decode(again, &second, &error);
    assert(!status);
    assert(first.created_at_ms == second.created_at_ms && first.ascending == second.ascending);
    assert(strcmp(first.id, second.id) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SLU_AUTO_FREE char *text = slu_memdup(data ? (const void *) data : "", size);
    check_filter(text);
    check_cursor(text);
    return 0;
}
