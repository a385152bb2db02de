/* SPDX-License-Identifier: Apache-2.0 */
/* Request targets and header values as clients may send them: routes, queries, paths, ranges,
 * fences. A path that is taken lies under / and has nothing left to resolve. */
#include "../../host/byte_range.h"
#include "../../host/fence.h"
#include "../../host/uri.h"
#include "fuzz.h"
#include "slu/base/memory.h"

#include <stdlib.h>
#include <string.h>

static void
check_path(const char *text)
{
    char path[SLU_HOST_PATH_MAX];
    char again[SLU_HOST_PATH_MAX];
    if (!slu_host_uri_sandbox_path(text, path))
        return;
    const size_t size = strlen(path);
    assert(path[0] == '/' && !strstr(path, "//") && !strstr(path, "/../") && !strstr(path, "/./"));
    assert(size < 3 || strcmp(path + size - 3, "/..") != 0);
    assert(slu_host_uri_sandbox_path(path, again) && strcmp(path, again) == 0);
}

static void
check_range(const char *text)
{
    static const int64_t sizes[] = {0, 1, 4096, INT64_MAX};
    for (size_t i = 0; i < SLU_COUNT(sizes); i++) {
        struct slu_byte_range range;
        if (slu_byte_range_parse(text, sizes[i], &range))
            assert(range.start >= 0 && range.size >= 0 && range.start <= sizes[i] - range.size);
    }
}

static void
check_fence(const char *text)
{
    struct slu_host_fence fence;
    struct slu_error error;
    if (!slu_host_fence_parse(text, text, text, &fence, &error))
        assert(fence.shard >= 0 && fence.epoch >= 0 && fence.cluster[0]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SLU_AUTO_FREE char *text = slu_memdup(data ? (const void *) data : "", size);
    SLU_AUTO_FREE char *segment = NULL;
    SLU_AUTO_FREE char *decoded = NULL;
    if (slu_host_uri_match("/sandboxes/{id}/pause", text, size, &segment))
        assert(segment);
    if (slu_host_uri_decode(text, size, true, &decoded)) {
        assert(strlen(decoded) <= size);
        check_path(decoded);
    }
    SLU_AUTO_FREE char *value = slu_host_uri_query(text, "path");
    if (value)
        check_path(value);
    check_path(text);
    check_range(text);
    check_fence(text);
    return 0;
}
