/* SPDX-License-Identifier: Apache-2.0 */
/* Provider type `local`: sluice-host on some machine. It speaks the E2B API, takes sizes at create,
 * and keeps the highest epoch it has seen on disk, so every call carries the leader's fence. */
#include "e2b.h"
#include "provider_list.h"

static const char *const capabilities[] = {
    "exec", "fences", "idempotent_create", "pause", "pause_memory", "resume_same_id", NULL,
};

static const struct slu_e2b_dialect dialect = {
    .fences = true,
    .sized = true,
    .every_life = true,
    .one_address = true,
};

static enum slu_status
request(const struct slu_provider_instance *instance,
        const struct slu_call *call,
        const struct slu_exchange *exchange,
        struct slu_http_request *ret_request,
        struct slu_error *reterr)
{
    return slu_e2b_request(&dialect, instance, call, exchange, ret_request, reterr);
}

static enum slu_more
response(const struct slu_provider_instance *instance,
         const struct slu_call *call,
         struct slu_exchange *exchange,
         const struct slu_http_response *http_response)
{
    return slu_e2b_response(&dialect, instance, call, exchange, http_response);
}

const struct slu_provider slu_provider_local = {
    .type = "local",
    .capabilities = capabilities,
    .request = request,
    .response = response,
};
