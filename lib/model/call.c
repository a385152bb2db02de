/* SPDX-License-Identifier: Apache-2.0 */
/* Owning calls. */
#include "slu/model/call.h"

#include "slu/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const slu_outcome_names[SLU_OUTCOME_COUNT] = {
    [SLU_OUTCOME_DONE] = "done",           [SLU_OUTCOME_GONE] = "gone",
    [SLU_OUTCOME_BUSY] = "busy",           [SLU_OUTCOME_NEVER_SENT] = "never_sent",
    [SLU_OUTCOME_AMBIGUOUS] = "ambiguous", [SLU_OUTCOME_CAPACITY] = "capacity",
    [SLU_OUTCOME_PERMANENT] = "permanent", [SLU_OUTCOME_REJECTED] = "rejected",
};

static_assert(SLU_OUTCOME_COUNT == 8, "a new outcome needs its word");

static char *
copy_text(const char *text)
{
    return text ? slu_strdup(text) : NULL;
}

struct slu_call *
slu_call_copy(const struct slu_call *call)
{
    struct slu_call *copy = slu_memdup(call, sizeof(*call));
    copy->provider = copy_text(call->provider);
    copy->key = copy_text(call->key);
    copy->external_id = copy_text(call->external_id);
    copy->tenant = copy_text(call->tenant);
    copy->project = copy_text(call->project);
    copy->session_id = copy_text(call->session_id);
    copy->cluster = copy_text(call->cluster);
    copy->spec = copy_text(call->spec);
    return copy;
}

void
slu_call_free(struct slu_call *call)
{
    if (!call)
        return;
    free(call->provider);
    free(call->key);
    free(call->external_id);
    free(call->tenant);
    free(call->project);
    free(call->session_id);
    free(call->cluster);
    free(call->spec);
    free(call);
}
