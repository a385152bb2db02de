/* SPDX-License-Identifier: Apache-2.0 */
/* Provider type `e2b`: E2B's own service, or any server that speaks its API. */
#include "e2b.h"

#include "provider_list.h"

/* What this version says to E2B; what E2B could do beyond it is not claimed. */
static const char *const capabilities[] = {
    "egress_rules", "exec", "idempotent_create", "pause", "pause_memory", "resume_same_id", NULL,
};

static const struct slu_e2b_dialect dialect = {.egress = true};

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

const struct slu_provider slu_provider_e2b = {
    .type = "e2b",
    .capabilities = capabilities,
    .request = request,
    .response = response,
};
