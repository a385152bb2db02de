/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON as a provider instance of the settings: what is taken keeps its bounds. */
#include "codec.h"
#include "slu/model/instance.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *value = json_loadb((const char *) data, size, JSON_REJECT_DUPLICATES, NULL);
    if (!value)
        return 0;

    struct slu_provider_instance instance;
    struct slu_error error;
    if (!slu_instance_read("local", value, &instance, &error)) {
        assert(instance.type[0] && instance.url[0]);
        assert(instance.pool_count >= 1 && instance.pool_count <= 16);
        assert(instance.concurrent >= 1 && instance.per_second >= 1 && instance.resync_ms >= 1000);
        assert(instance.timeout_ms[SLU_ACTION_CREATE] >= 100);
        slu_instance_done(&instance);
    } else {
        assert(error.message[0]);
    }
    json_decref(value);
    return 0;
}
