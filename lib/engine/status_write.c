/* SPDX-License-Identifier: Apache-2.0 */
#include "conditions.h"
#include "json_put.h"
#include "slu/model/time.h"
#include "status_text.h"

#include <stdio.h>
#include <string.h>

static void
put_bool(struct slu_buffer *out, const char *member, bool value)
{
    slu_put_name(out, member);
    slu_buffer_puts(out, value ? "true" : "false");
}

static void
put_time(struct slu_buffer *out, const char *member, int64_t at_ms)
{
    char text[SLU_TIME_TEXT_SIZE];
    slu_time_write(at_ms, text);
    slu_put_text(out, member, text);
}

static void
open_object(struct slu_buffer *out, const char *member)
{
    slu_put_name(out, member);
    slu_buffer_putc(out, '{');
}

static void
close_object(struct slu_buffer *out)
{
    slu_buffer_putc(out, '}');
}

/* A member of the spec, as it stands there; nothing when the spec lacks it. */
static void
put_from_spec(struct slu_buffer *out,
              const struct slu_entity *entity,
              const char *from,
              const char *to)
{
    const struct slu_slice value = slu_slice_member(slu_entity_spec(entity), from);
    if (!value.text)
        return;
    slu_put_name(out, to);
    slu_buffer_append(out, value.text, value.size);
}

static void
put_from_spec_or(struct slu_buffer *out,
                 const struct slu_entity *entity,
                 const char *member,
                 const char *otherwise)
{
    const struct slu_slice value = slu_slice_member(slu_entity_spec(entity), member);
    slu_put_name(out, member);
    if (value.text)
        slu_buffer_append(out, value.text, value.size);
    else
        slu_buffer_puts(out, otherwise);
}

static void
put_scope(struct slu_buffer *out, const struct slu_entity *entity)
{
    open_object(out, "scope");
    slu_put_text(out, "tenantId", entity->scope->tenant);
    slu_put_text(out, "projectId", entity->scope->project);
    close_object(out);
}

static void
put_created(struct slu_buffer *out, const struct slu_entity *entity)
{
    char hex[65];
    slu_entity_created_hex(entity, hex);
    open_object(out, "created");
    if (slu_entity_text_size(entity, SLU_TEXT_CE_ID))
        slu_put_text(out, "ceId", slu_entity_text(entity, SLU_TEXT_CE_ID));
    slu_put_text(out, "sha256", hex);
    close_object(out);
}

static void
put_waiting(struct slu_buffer *out,
            const struct slu_entity *entity,
            const struct slu_waiting *waiting)
{
    if (!waiting->action)
        return;
    if (out->data[out->size - 1] != '[')
        slu_buffer_putc(out, ',');
    slu_buffer_putc(out, '{');
    slu_put_text(out, "action", slu_action_names[waiting->action]);
    slu_put_int(out, "call", waiting->call);
    slu_put_int(out, "sinceMs", waiting->since_ms);
    if (waiting->action == SLU_ACTION_CREATE && entity->motion->body_sha256[0])
        slu_put_text(out, "bodySha256", entity->motion->body_sha256);
    close_object(out);
}

static void
put_pending(struct slu_buffer *out, const struct slu_entity *entity)
{
    const struct slu_motion *motion = entity->motion;
    if (!motion || (!motion->main.action && !motion->side.action))
        return;
    slu_put_name(out, "pending");
    slu_buffer_putc(out, '[');
    put_waiting(out, entity, &motion->main);
    put_waiting(out, entity, &motion->side);
    slu_buffer_putc(out, ']');
}

static void
put_condition(struct slu_buffer *out, const struct slu_entity *entity, enum slu_condition condition)
{
    const struct slu_condition_value value = slu_condition_of(entity, condition);
    if (value.truth == SLU_TRUTH_UNSET)
        return;
    if (out->data[out->size - 1] != '[')
        slu_buffer_putc(out, ',');
    slu_buffer_putc(out, '{');
    slu_put_text(out, "type", slu_condition_names[condition]);
    slu_put_text(out, "status", slu_truth_names[value.truth]);
    slu_put_text(out, "reason", value.reason);
    slu_put_text(out, "message", value.message);
    slu_put_int(out, "observedGeneration", entity->generation);
    slu_put_int(out, "lastTransitionAtMs", entity->condition_at_ms[condition]);
    close_object(out);
}

static void
put_conditions(struct slu_buffer *out, const struct slu_entity *entity)
{
    slu_put_name(out, "conditions");
    slu_buffer_putc(out, '[');
    for (int i = 0; i < SLU_CONDITION_COUNT; i++)
        put_condition(out, entity, (enum slu_condition) i);
    slu_buffer_putc(out, ']');
}

static const struct slu_provider_instance *
instance_of(const struct slu_entity *entity, const struct slu_status_frame *frame)
{
    const bool known = entity->provider >= 0 && entity->provider < frame->instance_count;
    return known ? &frame->instances[entity->provider] : NULL;
}

static void
put_capabilities(struct slu_buffer *out, const struct slu_provider_instance *instance)
{
    open_object(out, "capabilities");
    slu_put_name(out, "capabilities");
    slu_buffer_putc(out, '[');
    for (int i = 0; instance && instance->capabilities && instance->capabilities[i]; i++) {
        if (i)
            slu_buffer_putc(out, ',');
        slu_buffer_json_string(out, instance->capabilities[i]);
    }
    slu_buffer_puts(out, "]}");
}

/* Request > setting of the instance > contract (contract-map §2.8). */
static void
put_resources(struct slu_buffer *out,
              const struct slu_entity *entity,
              const struct slu_provider_instance *instance)
{
    const struct slu_slice wished = slu_slice_member(slu_entity_spec(entity), "resources");
    slu_put_name(out, "resources");
    if (wished.text) {
        slu_buffer_append(out, wished.text, wished.size);
        return;
    }
    slu_buffer_putc(out, '{');
    slu_put_int(out, "cpuCount",
                instance && instance->default_cpu_count ? instance->default_cpu_count : 1);
    slu_put_int(out, "memoryMb",
                instance && instance->default_memory_mb ? instance->default_memory_mb : 1024);
    slu_put_int(out, "diskMb",
                instance && instance->default_disk_mb ? instance->default_disk_mb : 2048);
    close_object(out);
}

static const char *
lifecycle_of(const struct slu_entity *entity)
{
    if (entity->phase == SLU_PHASE_STOPPED)
        return "stopped";
    return entity->phase == SLU_PHASE_EXPIRED ? "expired" : "ready";
}

/* Exactly the contract's SandboxRecord: its readers deny unknown members. */
static void
put_record(struct slu_buffer *out,
           const struct slu_entity *entity,
           const struct slu_status_frame *frame,
           const char *id)
{
    if (!entity->session_created_at_ms)
        return; /* Not usable yet (X18). */
    const struct slu_provider_instance *instance = instance_of(entity, frame);
    open_object(out, "record");
    slu_put_text(out, "id", id);
    put_from_spec(out, entity, "alias", "alias");
    put_scope(out, entity);
    open_object(out, "providerRef");
    put_from_spec(out, entity, "provider", "provider");
    slu_put_text(out, "externalId", slu_entity_text(entity, SLU_TEXT_EXTERNAL_ID));
    close_object(out);
    put_resources(out, entity, instance);
    put_from_spec(out, entity, "placement", "placement");
    slu_put_text(out, "lifecycle", lifecycle_of(entity));
    put_from_spec_or(out, entity, "owners", "[]");
    put_from_spec(out, entity, "delegationId", "accessDelegationId");
    put_capabilities(out, instance);
    put_from_spec_or(out, entity, "mounts", "[]");
    slu_put_int(out, "expiresAtMs", entity->expires_at_ms);
    slu_put_int(out, "version", entity->generation);
    const struct slu_slice env = slu_slice_member(slu_entity_spec(entity), "skillEnv");
    if (env.text && !slu_slice_is(env, "{}"))
        put_from_spec(out, entity, "skillEnv", "skillEnv");
    slu_put_int(out, "createdAtMs", entity->created_at_ms);
    slu_put_int(out, "updatedAtMs", entity->updated_at_ms);
    close_object(out);
}

static const char *
session_status_of(const struct slu_entity *entity)
{
    if (entity->session_status == SLU_LIFE_GONE)
        return "lost";
    return entity->session_status == SLU_LIFE_PAUSED ? "paused" : "running";
}

static void
put_session(struct slu_buffer *out, const struct slu_entity *entity)
{
    if (!entity->session_created_at_ms)
        return;
    const bool bound = slu_entity_has_instance(entity);
    open_object(out, "session");
    put_from_spec(out, entity, "provider", "provider");
    slu_put_text(out, "status", session_status_of(entity));
    open_object(out, "instance");
    slu_put_text(out, "externalId",
                 bound || !entity->motion ? slu_entity_text(entity, SLU_TEXT_EXTERNAL_ID)
                                          : entity->motion->lost_external_id);
    if (slu_entity_text_size(entity, SLU_TEXT_WORKSPACE))
        slu_put_text(out, "workspacePath", slu_entity_text(entity, SLU_TEXT_WORKSPACE));
    slu_buffer_puts(out, ",\"providerState\":null,\"metadata\":null}");
    if (entity->init_completed_at_ms)
        put_time(out, "initCompletedAt", entity->init_completed_at_ms);
    if (slu_entity_text_size(entity, SLU_TEXT_INIT_ERROR))
        slu_put_text(out, "lastInitError", slu_entity_text(entity, SLU_TEXT_INIT_ERROR));
    put_time(out, "createdAt", entity->session_created_at_ms);
    put_time(out, "updatedAt", entity->updated_at_ms);
    close_object(out);
}

int64_t
slu_entity_idle_deadline_ms(const struct slu_entity *entity)
{
    const bool counts = entity->kind == SLU_KIND_SANDBOX && entity->idle_pause && !entity->idle &&
                        entity->wish == SLU_WISH_RUNNING && entity->phase == SLU_PHASE_RUNNING &&
                        entity->last_active_at_ms;
    if (!counts)
        return 0;
    const int64_t from_ms = entity->active_until_ms > entity->last_active_at_ms
                                ? entity->active_until_ms
                                : entity->last_active_at_ms;
    return from_ms + (int64_t) entity->idle_pause_after_seconds * 1000;
}

static void
put_activity(struct slu_buffer *out, const struct slu_entity *entity)
{
    open_object(out, "activity");
    put_bool(out, "active", entity->active_until_ms > 0);
    slu_put_int(out, "lastActiveAtMs", entity->last_active_at_ms);
    if (entity->active_until_ms)
        slu_put_int(out, "busyUntilMs", entity->active_until_ms);
    close_object(out);
    if (slu_entity_idle_deadline_ms(entity))
        slu_put_int(out, "idleDeadlineAtMs", slu_entity_idle_deadline_ms(entity));
}

static void
put_lease(struct slu_buffer *out, const struct slu_entity *entity)
{
    if (!entity->lease_refreshed_at_ms || !entity->lease_given_seconds)
        return;
    open_object(out, "lease");
    slu_put_int(out, "durationSeconds", entity->lease_given_seconds);
    slu_put_int(out, "refreshedAtMs", entity->lease_refreshed_at_ms);
    slu_put_int(out, "expiresAtMs",
                entity->lease_refreshed_at_ms + (int64_t) entity->lease_given_seconds * 1000);
    close_object(out);
}

static void
put_init(struct slu_buffer *out, const struct slu_entity *entity)
{
    if (!entity->init_hash && !entity->init_done_hash)
        return;
    char hash[17];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long) entity->init_done_hash);
    open_object(out, "init");
    slu_put_text(out, "commandsHash", hash);
    slu_put_int(out, "incarnation", entity->init_incarnation);
    if (entity->init_completed_at_ms)
        slu_put_int(out, "completedAtMs", entity->init_completed_at_ms);
    slu_put_int(out, "attempts", entity->init_attempts);
    if (entity->init_failed_command)
        slu_put_int(out, "failedCommand", entity->init_failed_command);
    close_object(out);
}

static void
put_trouble(struct slu_buffer *out, const struct slu_motion *motion)
{
    if (motion->lost_at_ms) {
        open_object(out, "lastLoss");
        slu_put_text(out, "externalId", motion->lost_external_id);
        slu_put_int(out, "incarnation", motion->lost_incarnation);
        slu_put_int(out, "atMs", motion->lost_at_ms);
        close_object(out);
    }
    if (motion->parked_until_ms) {
        open_object(out, "parked");
        slu_put_text(out, "action", slu_action_names[motion->failed_action]);
        slu_put_text(out, "reason", motion->parked_reason);
        slu_put_int(out, "retryAtMs", motion->parked_until_ms);
        close_object(out);
    }
}

static void
put_detail(struct slu_buffer *out, const struct slu_entity *entity)
{
    open_object(out, "detail");
    if (slu_entity_has_instance(entity)) {
        open_object(out, "instance");
        slu_put_text(out, "externalId", slu_entity_text(entity, SLU_TEXT_EXTERNAL_ID));
        slu_put_int(out, "incarnation", entity->instance_incarnation);
        close_object(out);
    }
    if (entity->idle)
        put_bool(out, "idle", true);
    if (entity->started)
        put_bool(out, "started", true);
    put_activity(out, entity);
    put_lease(out, entity);
    put_init(out, entity);
    if (entity->motion)
        put_trouble(out, entity->motion);
    close_object(out);
}

static void
put_fence(struct slu_buffer *out, const struct slu_entity *entity, int shard)
{
    open_object(out, "fence");
    slu_put_int(out, "shard", shard);
    slu_put_int(out, "epoch", entity->fence_epoch);
    slu_put_int(out, "desiredOffset", entity->fence_offset);
    close_object(out);
}

/* Other kinds have words of their own; none is driven yet. */
static const char *
phase_word(const struct slu_entity *entity)
{
    if (entity->kind != SLU_KIND_SANDBOX && entity->phase == SLU_PHASE_PENDING)
        return "creating";
    return slu_phase_names[entity->phase];
}

void
slu_status_write(const struct slu_entity *entity,
                 const struct slu_status_frame *frame,
                 struct slu_buffer *out)
{
    const char *key = slu_entity_text(entity, SLU_TEXT_KEY);
    const char *id = strrchr(key, '/') + 1;
    char uid[SLU_UID_SIZE];
    slu_entity_uid(entity, uid);

    slu_buffer_putc(out, '{');
    slu_put_text(out, "kind", slu_kinds[entity->kind].document_word);
    slu_put_text(out, "id", id);
    put_scope(out, entity);
    slu_put_text(out, "uid", uid);
    put_created(out, entity);
    slu_put_int(out, "observedGeneration", entity->generation);
    slu_put_text(out, "phase", phase_word(entity));
    if (entity->kind == SLU_KIND_SANDBOX)
        slu_put_int(out, "incarnation", entity->incarnation);
    slu_put_int(out, "transition", entity->transition);
    slu_put_int(out, "call", entity->call);
    put_pending(out, entity);
    put_conditions(out, entity);
    slu_put_name(out, "spec");
    slu_buffer_append(out, slu_entity_text(entity, SLU_TEXT_SPEC),
                      slu_entity_text_size(entity, SLU_TEXT_SPEC));
    if (entity->kind == SLU_KIND_SANDBOX) {
        put_record(out, entity, frame, id);
        put_session(out, entity);
        put_detail(out, entity);
    }
    put_fence(out, entity, frame->shard);
    slu_buffer_puts(out, slu_entity_text(entity, SLU_TEXT_UNKNOWN));
    slu_buffer_putc(out, '}');
}

static int64_t
next_deadline_ms(const struct slu_entity *entity, const struct slu_status_frame *frame)
{
    if (entity->phase == SLU_PHASE_DELETED)
        return entity->updated_at_ms + frame->deleted_retention_ms;
    const int64_t idle_ms = slu_entity_idle_deadline_ms(entity);
    const int64_t expires_ms = entity->expires_at_ms;
    if (!idle_ms || !expires_ms)
        return idle_ms ? idle_ms : expires_ms;
    return idle_ms < expires_ms ? idle_ms : expires_ms;
}

void
slu_status_headers(const struct slu_entity *entity,
                   const struct slu_status_frame *frame,
                   struct slu_output *output)
{
    const struct slu_motion *motion = entity->motion;
    char uid[SLU_UID_SIZE];
    slu_entity_uid(entity, uid);
    slu_output_header_int(output, "slu-generation", entity->generation);
    slu_output_header_text(output, "slu-phase", phase_word(entity));
    slu_output_header_int(output, "slu-incarnation", entity->incarnation);
    slu_output_header_int(output, "slu-epoch", entity->fence_epoch);
    slu_output_header_text(output, "slu-uid", uid);
    slu_output_header_int(output, "slu-due", next_deadline_ms(entity, frame));
    slu_output_header_int(output, "slu-pending",
                          motion && (motion->main.action || motion->side.action));
    slu_output_header_int(output, "slu-appended", entity->origin_ms);
    if (entity->raw_is_plain) {
        slu_output_header(output, "slu-hash", "%016llx%016llx",
                          (unsigned long long) entity->raw_hash.high,
                          (unsigned long long) entity->raw_hash.low);
    }
}
