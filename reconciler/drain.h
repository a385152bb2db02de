/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping on request (design.md §7): no new calls, at most 5 s for those in flight, commit what
 * was decided, leave the group, close everything. */
#ifndef SLU_RECONCILER_DRAIN_H
#define SLU_RECONCILER_DRAIN_H

#include "replica.h"

/* Watches SIGTERM and SIGINT; a second one ends the process at once. */
void slu_drain_watch(struct slu_replica *replica);

#endif
