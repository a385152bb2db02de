/* SPDX-License-Identifier: Apache-2.0 */
/* Providers translate, and never talk: two pure functions and flags (design.md §10). The HTTP
 * client sends what `request` wrote and hands the answer to `response`. A call may take several
 * exchanges (a token first, then the command): `response` says so with SLU_MORE. */
#ifndef SLU_PROVIDER_PROVIDER_H
#define SLU_PROVIDER_PROVIDER_H

#include "slu/base/status.h"
#include "slu/model/call.h"
#include "slu/model/instance.h"
#include "slu/port/http.h"

#include <stdbool.h>
#include <stdint.h>

/* State between the exchanges of one call; belongs to the shell, wiped after the call. */
struct slu_exchange {
    int step;
    char token[512];
    char cursor[512];
    int page;
    struct slu_facts facts; /* Collected so far. */
};

enum slu_more {
    SLU_LAST,
    SLU_MORE
};

struct slu_provider {
    const char *type;                /* "e2b". */
    const char *const *capabilities; /* Words of contract-map §2.10, sorted, NULL-terminated. */

    /* Writes the next request of `call` into a zeroed `ret_request`. SLU_INVALID: this call cannot
     * be said to this provider (reterr tells why): outcome PERMANENT. */
    enum slu_status (*request)(const struct slu_provider_instance *instance,
                               const struct slu_call *call,
                               const struct slu_exchange *exchange,
                               struct slu_http_request *ret_request,
                               struct slu_error *reterr);

    /* Reads an answer (of any end) into exchange->facts. The bytes are hostile: tests/fuzz/ feeds
     * this function. Returns whether another request of the same call follows. */
    enum slu_more (*response)(const struct slu_provider_instance *instance,
                              const struct slu_call *call,
                              struct slu_exchange *exchange,
                              const struct slu_http_response *response);
};

/* NULL when no such type is built in. */
const struct slu_provider *slu_provider_find(const char *type);
bool slu_provider_has(const struct slu_provider *provider, const char *capability);

#endif
