/* SPDX-License-Identifier: Apache-2.0 */
#include "alarm.h"

#include "replica.h"
#include "slu/base/log.h"

void
slu_alarm(struct slu_replica *replica, const char *reason, int shard, const char *message)
{
    slu_metrics_alarm(&replica->metrics, reason);
    SLU_LOG(ERROR, "alarm", SLU_TEXT("reason", reason), SLU_INT("shard", shard),
            SLU_TEXT("message", message));
}
