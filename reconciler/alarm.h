/* SPDX-License-Identifier: Apache-2.0 */
/* A person should look: one ERROR line and the metric sluice_alarm{reason}. */
#ifndef SLU_RECONCILER_ALARM_H
#define SLU_RECONCILER_ALARM_H

struct slu_replica;

/* `reason` is a literal in snake_case; `shard` −1 when none is meant. */
void slu_alarm(struct slu_replica *replica, const char *reason, int shard, const char *message);

#endif
