/* SPDX-License-Identifier: Apache-2.0 */
/* Freezing all of a sandbox at once: by the control group freezer where there is one, else by
 * SIGSTOP from the init, which reaches every process of its namespace. Blocks; for jobs. */
#ifndef SLU_HOST_FREEZE_H
#define SLU_HOST_FREEZE_H

#include "spawn.h"

enum slu_status slu_host_freeze(const struct slu_spawner *spawner,
                                const char *id,
                                const char *folder,
                                bool frozen,
                                struct slu_error *reterr);

#endif
