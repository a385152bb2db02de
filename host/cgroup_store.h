/* SPDX-License-Identifier: Apache-2.0 */
/* Which control groups this state folder uses, kept on disk: a host that is started again from
 * another group of the machine must find the groups of the sandboxes that still run. */
#ifndef SLU_HOST_CGROUP_STORE_H
#define SLU_HOST_CGROUP_STORE_H

#include "cgroup.h"

/* False when nothing is kept, or what is kept is gone (the machine was started anew). */
bool slu_cgroups_recall(const char *state_dir, struct slu_cgroups *ret_cgroups);
enum slu_status slu_cgroups_remember(const char *state_dir,
                                     const struct slu_cgroups *cgroups,
                                     struct slu_error *reterr);

#endif
