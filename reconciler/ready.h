/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this replica can do its job now, and what is missing where it cannot. */
#ifndef SLU_RECONCILER_READY_H
#define SLU_RECONCILER_READY_H

#include "replica.h"

/* Appends a JSON object: {"ready":…,"kafka":…,"redis":…,"shards":{…},"providers":{…}}. A replica
 * without shards is ready: it stands by. */
bool slu_ready_write(const struct slu_replica *replica, struct slu_buffer *out);

#endif
