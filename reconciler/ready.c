/* SPDX-License-Identifier: Apache-2.0 */
#include "ready.h"

#include "slu/port/clock.h"

static void
write_part(struct slu_buffer *out, const char *name, bool up, const char *trouble)
{
    slu_buffer_json_string(out, name);
    slu_buffer_puts(out, ":");
    slu_buffer_json_string(out, up ? "up" : trouble);
}

/* Ours, and not active yet: being read, taken, or to be tried again. */
static bool
is_missing(const struct slu_shard *shard)
{
    return shard->state != SLU_SHARD_IS_IDLE && shard->state != SLU_SHARD_IS_ACTIVE;
}

static bool
write_shards(const struct slu_replica *replica, struct slu_buffer *out)
{
    int active = 0, missing = 0;
    slu_buffer_puts(out, "\"shards\":{\"restoring\":[");
    for (int i = 0; i < replica->shard_count; i++) {
        active += replica->shards[i].state == SLU_SHARD_IS_ACTIVE;
        if (is_missing(&replica->shards[i]))
            slu_buffer_printf(out, "%s%d", missing++ > 0 ? "," : "", i);
    }
    slu_buffer_printf(out, "],\"leading\":%d,\"of\":%d}", active, replica->shard_count);
    return missing == 0;
}

static bool
write_providers(const struct slu_replica *replica, struct slu_buffer *out)
{
    bool up = replica->provider_count > 0;
    slu_buffer_puts(out, "\"providers\":{");
    for (int i = 0; i < replica->provider_count; i++) {
        const struct slu_provider_slot *slot = &replica->providers[i];
        if (i > 0)
            slu_buffer_putc(out, ',');
        write_part(out, slot->instance->name, slot->answers, slot->trouble);
        up = up && slot->answers;
    }
    slu_buffer_putc(out, '}');
    return up;
}

/* Before the group's first word nobody knows which shards will be ours. A standby is given none: it
 * is ready once the members that may have died before it are certainly out. */
static bool
is_group_known(const struct slu_replica *replica)
{
    enum {
        STANDBY_AFTER_MS = 15000
    };

    return replica->was_candidate ||
           (replica->log_opened_boottime_ms &&
            slu_clock_boottime_ms() - replica->log_opened_boottime_ms >= STANDBY_AFTER_MS);
}

bool
slu_ready_write(const struct slu_replica *replica, struct slu_buffer *out)
{
    SLU_AUTO_BUFFER struct slu_buffer parts = {0};
    const bool redis_up = slu_store_up(replica->store);
    bool ready = replica->stage == SLU_STAGE_RUNNING && replica->kafka_up && redis_up;

    write_part(&parts, "kafka", replica->kafka_up, replica->kafka_trouble);
    slu_buffer_putc(&parts, ',');
    write_part(&parts, "redis", redis_up, slu_store_trouble(replica->store));
    slu_buffer_putc(&parts, ',');
    ready = write_shards(replica, &parts) && ready;
    if (!is_group_known(replica)) {
        slu_buffer_puts(&parts, ",\"group\":\"joining\"");
        ready = false;
    }
    slu_buffer_putc(&parts, ',');
    ready = write_providers(replica, &parts) && ready;
    if (replica->stage != SLU_STAGE_RUNNING)
        slu_buffer_puts(&parts, ",\"stopping\":true");

    slu_buffer_printf(out, "{\"ready\":%s,%s}\n", ready ? "true" : "false", parts.data);
    return ready;
}
