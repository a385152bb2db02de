/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a provider type by its name. The list is explicit and const: nothing registers itself at
 * run time, so that reading this file tells everything there is. */
#include "provider_list.h"
#include "slu/provider/provider.h"

#include <string.h>

static const struct slu_provider *const providers[] = {
    &slu_provider_e2b,
    &slu_provider_local,
};

const struct slu_provider *
slu_provider_find(const char *type)
{
    for (size_t i = 0; i < SLU_COUNT(providers); i++) {
        if (strcmp(providers[i]->type, type) == 0)
            return providers[i];
    }
    return NULL;
}

bool
slu_provider_has(const struct slu_provider *provider, const char *capability)
{
    for (const char *const *word = provider->capabilities; *word; word++) {
        if (strcmp(*word, capability) == 0)
            return true;
    }
    return false;
}
