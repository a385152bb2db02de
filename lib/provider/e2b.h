/* SPDX-License-Identifier: Apache-2.0 */
/* The E2B protocol, shared by the provider types that speak it (providers.md §1, §2). The files
 * e2b_*.c hold one idea each; this header is what they know of each other. Everything is pure:
 * bytes out, bytes in, no clock. */
#ifndef SLU_LIB_PROVIDER_E2B_H
#define SLU_LIB_PROVIDER_E2B_H

#include "slu/provider/provider.h"

#include <jansson.h>

/* What differs between the servers that speak this protocol. */
struct slu_e2b_dialect {
    bool fences;     /* Each call carries the leader's cluster, shard and epoch. */
    bool sized;      /* CREATE may ask for CPUs, memory and disk; elsewhere the template decides. */
    bool every_life; /* `state` may be any life word, not only running and paused. */
    bool one_address; /* envd answers at the control URL. */
    bool egress;      /* Rules for the network are kept, and set again after a resume. */
};

/* The exchanges of a call. Most have one; the others follow from what the first one answered. */
enum slu_e2b_step {
    SLU_E2B_FIRST,
    SLU_E2B_OLD_ROUTE, /* The server knows no /v2 route: the same on the older one. */
    SLU_E2B_CHECK,     /* "Already so" or "not found": a look says which. */
    SLU_E2B_NETWORK,   /* RESUME: the network's rules are set again (behaviour.md rule 7). */
    SLU_E2B_START,     /* INIT: the command, now that the sandbox and its token are known. */
};

enum {
    SLU_E2B_PAGE_ITEMS = 100,
    SLU_E2B_PAGES_MAX = 20, /* A list for one key that goes on longer than this is not filtered. */
    SLU_E2B_RETRY_AFTER_MAX_S = 3600,
};

/* --- e2b_request.c, e2b_response.c --- */
enum slu_status slu_e2b_request(const struct slu_e2b_dialect *dialect,
                                const struct slu_provider_instance *instance,
                                const struct slu_call *call,
                                const struct slu_exchange *exchange,
                                struct slu_http_request *ret_request,
                                struct slu_error *reterr);
enum slu_more slu_e2b_response(const struct slu_e2b_dialect *dialect,
                               const struct slu_provider_instance *instance,
                               const struct slu_call *call,
                               struct slu_exchange *exchange,
                               const struct slu_http_response *response);

/* --- e2b_create.c: the body of CREATE. The same call gives the same bytes: one incarnation has one
 * frozen body (design.md §6). SLU_INVALID: the spec wishes what this provider cannot do. --- */
enum slu_status slu_e2b_create_body(const struct slu_e2b_dialect *dialect,
                                    const struct slu_provider_instance *instance,
                                    const struct slu_call *call,
                                    bool old_route,
                                    struct slu_buffer *out,
                                    struct slu_error *reterr);

/* --- e2b_egress.c: egressRules → the protocol's network members (contract-map §2.2). --- */

/* Puts `network` and `allow_internet_access` into a CREATE body. */
void slu_e2b_egress_create(const json_t *rules, json_t *body);

/* Body of PUT …/network, or NULL when the spec says nothing about the network. */
json_t *slu_e2b_egress_update(const json_t *rules);

/* --- e2b_labels.c: our labels as the provider's `metadata` (design.md §6). --- */
json_t *slu_e2b_labels(const struct slu_call *call);

/* The value of the list's query parameter `metadata`, escaped for the URL. */
void slu_e2b_labels_filter(const struct slu_call *call, struct slu_buffer *out);

/* Copies our labels into `seen`; leaves them empty when they are absent, malformed, or of another
 * cluster. */
void slu_e2b_labels_read(const json_t *metadata, const char *cluster, struct slu_seen *seen);

/* --- e2b_seen.c: what one JSON sandbox shows. --- */

/* False when `sandbox` is no sandbox of the protocol. An unknown state is life unknown. */
bool slu_e2b_seen(const struct slu_e2b_dialect *dialect,
                  const struct slu_call *call,
                  const json_t *sandbox,
                  struct slu_seen *ret_seen);

/* Whether both name one sandbox: the form `<id>-<client id>` is the older spelling of `<id>`. */
bool slu_e2b_same_id(const char *one, const char *other);

/* The JSON of a 2xx or error answer; NULL when its type or its text is not JSON. */
json_t *slu_e2b_json(const struct slu_http_response *response);

/* --- e2b_list.c: one page of the look by labels. --- */
enum slu_more slu_e2b_list_page(const struct slu_e2b_dialect *dialect,
                                const struct slu_call *call,
                                struct slu_exchange *exchange,
                                const struct slu_http_response *response);

/* --- e2b_outcome.c: the error taxonomy (providers.md §6). --- */

/* Sets outcome, message and retry_after_ms for an answer that is no success. */
void slu_e2b_fail(const struct slu_provider_instance *instance,
                  const struct slu_call *call,
                  struct slu_facts *facts,
                  const struct slu_http_response *response);

/* True for a 404 that says itself in its body that the sandbox is not there. */
bool slu_e2b_says_gone(const struct slu_http_response *response);

/* --- e2b_init.c: INIT through envd's process service. --- */
void slu_e2b_init_request(const struct slu_e2b_dialect *dialect,
                          const struct slu_provider_instance *instance,
                          const struct slu_call *call,
                          const struct slu_exchange *exchange,
                          const char *command,
                          struct slu_http_request *ret_request);

/* Takes the token and the address out of the look that precedes the command. */
void slu_e2b_init_address(const json_t *sandbox, struct slu_exchange *exchange);
void slu_e2b_init_response(const struct slu_provider_instance *instance,
                           const struct slu_call *call,
                           struct slu_facts *facts,
                           const struct slu_http_response *response);

/* Command number `call->init_index` of a decoded spec; NULL when it has no such command. */
const char *slu_e2b_init_command(const json_t *spec, int32_t index);

#endif
