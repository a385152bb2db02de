/* SPDX-License-Identifier: Apache-2.0 */
/* A create request that is taken lies within the host's bounds. */
#include "../../host/create_body.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct slu_create_defaults defaults = {
        .timeout_s = 15, .timeout_max_s = 86400, .cpu_count = 2, .memory_mb = 512, .disk_mb = 1024};
    struct slu_host_sandbox sandbox = {0};
    struct slu_error error;
    if (slu_create_body_read((const char *) data, size, &defaults, &sandbox, &error)) {
        assert(error.message[0]);
    } else {
        assert(json_is_object(sandbox.metadata) && json_is_object(sandbox.environment));
        assert(sandbox.timeout_s >= 0 && sandbox.timeout_s <= defaults.timeout_max_s);
        assert(sandbox.cpu_count >= 1 && sandbox.memory_mb >= 1 && sandbox.disk_mb >= 1);
    }
    json_decref(sandbox.metadata);
    json_decref(sandbox.environment);
    return 0;
}
