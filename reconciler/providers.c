/* SPDX-License-Identifier: Apache-2.0 */
#include "providers.h"

#include "slu/base/log.h"

#include <stdio.h>
#include <string.h>

enum {
    PROBE_TIMEOUT_MS = 3000
};

enum slu_status
slu_providers_open(struct slu_replica *replica, struct slu_error *reterr)
{
    const struct slu_settings *settings = &replica->settings;
    if (settings->instance_count > SLU_PROVIDERS_MAX)
        return slu_fail(reterr, SLU_INVALID, "providers: %d instances, at most %d are possible",
                        settings->instance_count, SLU_PROVIDERS_MAX);
    for (int i = 0; i < settings->instance_count; i++) {
        struct slu_provider_slot *slot = &replica->providers[replica->provider_count++];
        slot->replica = replica;
        slot->instance = &settings->instances[i];
        slot->provider = slu_provider_find(slot->instance->type);
        slot->queue = slu_http_queue_open(replica->http, slot->instance->name,
                                          slot->instance->concurrent, slot->instance->per_second);
        snprintf(slot->trouble, sizeof(slot->trouble), "not asked yet");
    }
    return SLU_OK;
}

int
slu_providers_find(const struct slu_replica *replica, const char *name)
{
    for (int i = 0; i < replica->provider_count; i++) {
        if (strcmp(replica->providers[i].instance->name, name) == 0)
            return i;
    }
    return -1;
}

void
slu_providers_heard(struct slu_replica *replica,
                    struct slu_provider_slot *slot,
                    const struct slu_http_response *response)
{
    if (replica->stage != SLU_STAGE_RUNNING)
        return;
    const bool answers = response->end == SLU_HTTP_ANSWERED;
    if (answers && !slot->answers) {
        SLU_LOG(INFO, "provider_up", SLU_TEXT("provider", slot->instance->name));
    } else if (!answers && (slot->answers || strcmp(slot->trouble, "not asked yet") == 0)) {
        SLU_LOG(WARN, "provider_down", SLU_TEXT("provider", slot->instance->name),
                SLU_TEXT("url", slot->instance->url), SLU_TEXT("message", response->error));
    }
    slot->answers = answers;
    snprintf(slot->trouble, sizeof(slot->trouble), "%s", answers ? "" : response->error);
}

static void
on_probe(void *context, const struct slu_http_response *response)
{
    struct slu_provider_slot *slot = context;
    slot->asked = false;
    slu_providers_heard(slot->replica, slot, response);
}

void
slu_providers_probe(struct slu_replica *replica)
{
    for (int i = 0; i < replica->provider_count; i++) {
        struct slu_provider_slot *slot = &replica->providers[i];
        if (slot->answers || slot->asked)
            continue;
        slot->asked = true;
        struct slu_http_job job = {.request.method = "GET",
                                   .request.timeout_ms = PROBE_TIMEOUT_MS,
                                   .tenant = "",
                                   .done = on_probe,
                                   .context = slot};
        slu_buffer_printf(&job.request.url, "%s/health", slot->instance->url);
        slu_http_submit(slot->queue, &job);
    }
}
