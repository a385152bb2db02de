/* SPDX-License-Identifier: Apache-2.0 */
/* Where a request meets the fences. A call that raises an epoch is served only once the new epoch
 * is on disk and every older call of that shard has ended, so whoever got an answer under an epoch
 * knows that nothing older will happen any more. */
#ifndef SLU_HOST_FENCE_GATE_H
#define SLU_HOST_FENCE_GATE_H

#include "server.h"

/* Calls the route's handler at once, later, or (stale) never. */
void slu_host_fence_gate_enter(struct slu_host_request *request);

/* True, and answered, when a newer epoch has come since the request was let in. */
bool slu_host_fence_gate_refuse(struct slu_host_request *request);

/* The request can have no further effect. Harmless to repeat. */
void slu_host_fence_gate_release(struct slu_host_request *request);

struct slu_host_request *slu_host_requests_first(struct slu_host *host); /* server.c */

#endif
