/* SPDX-License-Identifier: Apache-2.0 */
/* A status document back to its entity, by slices: a new leader reads a million of them. */
#include "conditions.h"
#include "slu/base/memory.h"
#include "slu/model/time.h"
#include "status_text.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct slu_entity *entity;
    const struct slu_status_frame *frame;
    slu_intern_fn *intern;
    void *context;
    struct slu_buffer unknown;
    const char *wrong; /* First member that could not be read. */
};

typedef void(read_member_fn)(struct reading *reading, struct slu_slice value);

struct member {
    const char *name;
    read_member_fn *read; /* NULL: written for others, derived by us. */
};

/* Hands each member of `object` to its row. Members without a row are kept when `keep` is set. */
static void
read_members(struct reading *reading,
             struct slu_slice object,
             const struct member *rows,
             size_t row_count,
             bool keep)
{
    struct slu_slices slices = slu_slices_of(object);
    struct slu_slice member;
    struct slu_slice value;
    while (slu_slices_next(&slices, &member, &value)) {
        size_t i = 0;
        while (i < row_count && !slu_slice_is(member, rows[i].name))
            i++;
        if (i < row_count && rows[i].read) {
            rows[i].read(reading, value);
        } else if (i == row_count && keep) {
            slu_buffer_puts(&reading->unknown, ",\"");
            slu_buffer_append(&reading->unknown, member.text, member.size);
            slu_buffer_puts(&reading->unknown, "\":");
            slu_buffer_append(&reading->unknown, value.text, value.size);
        }
    }
    if (slices.broken && !reading->wrong)
        reading->wrong = "a broken object";
}

#define READ(function) static void function(struct reading *reading, struct slu_slice value)

static int64_t
number(struct slu_slice value)
{
    return slu_slice_int(value, 0);
}

READ(read_scope)
{
    char tenant[SLU_ID_MAX + 1] = "";
    char project[SLU_ID_MAX + 1] = "";
    if (!slu_slice_copy(slu_slice_member(value, "tenantId"), tenant, sizeof tenant) ||
        !slu_slice_copy(slu_slice_member(value, "projectId"), project, sizeof project)) {
        reading->wrong = "scope";
        return;
    }
    reading->entity->scope = reading->intern(reading->context, tenant, project);
}

READ(read_uid)
{
    char uid[SLU_UID_SIZE];
    char *dash = NULL;
    if (!slu_slice_copy(value, uid, sizeof uid) || !(dash = strchr(uid, '-'))) {
        reading->wrong = "uid";
        return;
    }
    reading->entity->uid_shard = (int32_t) strtol(uid, NULL, 10);
    reading->entity->uid_offset = strtoll(dash + 1, NULL, 10);
}

READ(read_created)
{
    SLU_AUTO_FREE char *ce_id = slu_slice_strdup(slu_slice_member(value, "ceId"));
    slu_entity_set_text(reading->entity, SLU_TEXT_CE_ID, ce_id, strlen(ce_id));
    char hex[65];
    if (!slu_slice_copy(slu_slice_member(value, "sha256"), hex, sizeof hex) || strlen(hex) != 64 ||
        strspn(hex, "0123456789abcdef") != 64) {
        reading->wrong = "created.sha256";
        return;
    }
    slu_entity_set_created_hex(reading->entity, hex);
}

READ(read_generation)
{
    reading->entity->generation = number(value);
}

READ(read_phase)
{
    char word[24];
    int phase = -1;
    if (slu_slice_copy(value, word, sizeof word)) {
        const bool other_kind = strcmp(word, "creating") == 0;
        phase =
            other_kind ? SLU_PHASE_PENDING : slu_name_index(slu_phase_names, SLU_PHASE_COUNT, word);
    }
    if (phase < 0)
        reading->wrong = "phase";
    else
        reading->entity->phase = (uint8_t) phase;
}

READ(read_incarnation)
{
    reading->entity->incarnation = (uint32_t) number(value);
}

READ(read_transition)
{
    reading->entity->transition = (uint32_t) number(value);
}

READ(read_call)
{
    reading->entity->call = (uint32_t) number(value);
}

static void
read_waiting(struct reading *reading, struct slu_slice value, struct slu_waiting *waiting)
{
    char word[24];
    if (!slu_slice_copy(slu_slice_member(value, "action"), word, sizeof word))
        return;
    const int action = slu_name_index(slu_action_names, SLU_ACTION_COUNT, word);
    if (action <= SLU_ACTION_NONE)
        return;
    *waiting = (struct slu_waiting){
        .action = (uint8_t) action,
        .call = (uint32_t) number(slu_slice_member(value, "call")),
        .since_ms = number(slu_slice_member(value, "sinceMs")),
    };
    struct slu_motion *motion = slu_entity_motion(reading->entity);
    if (!slu_slice_copy(slu_slice_member(value, "bodySha256"), motion->body_sha256,
                        sizeof motion->body_sha256))
        motion->body_sha256[0] = 0;
}

READ(read_pending)
{
    struct slu_motion *motion = slu_entity_motion(reading->entity);
    struct slu_slices slices = slu_slices_of(value);
    struct slu_slice none;
    struct slu_slice item;
    if (slu_slices_next(&slices, &none, &item))
        read_waiting(reading, item, &motion->main);
    if (slu_slices_next(&slices, &none, &item))
        read_waiting(reading, item, &motion->side);
    /* An EXTEND alone stands first in the list, yet it is the one beside. */
    if (motion->main.action == SLU_ACTION_EXTEND && !motion->side.action) {
        motion->side = motion->main;
        motion->main = (struct slu_waiting){0};
    }
}

READ(read_conditions)
{
    struct slu_slices slices = slu_slices_of(value);
    struct slu_slice none;
    struct slu_slice item;
    while (slu_slices_next(&slices, &none, &item)) {
        static const char *const names[] = {"type", "status", "lastTransitionAtMs"};
        struct slu_slice members[SLU_COUNT(names)];
        char type[24];
        char status[16];
        slu_slice_members(item, names, SLU_COUNT(names), members);
        if (!slu_slice_copy(members[0], type, sizeof type) ||
            !slu_slice_copy(members[1], status, sizeof status))
            continue;
        const int condition = slu_name_index(slu_condition_names, SLU_CONDITION_COUNT, type);
        if (condition < 0)
            continue;
        reading->entity->condition[condition] = strcmp(status, "True") == 0    ? SLU_TRUTH_TRUE
                                                : strcmp(status, "False") == 0 ? SLU_TRUTH_FALSE
                                                                               : SLU_TRUTH_UNKNOWN;
        reading->entity->condition_at_ms[condition] = number(members[2]);
    }
}

READ(read_spec)
{
    slu_entity_set_text(reading->entity, SLU_TEXT_SPEC, value.text, value.size);
}

READ(read_record)
{
    reading->entity->expires_at_ms = number(slu_slice_member(value, "expiresAtMs"));
    reading->entity->updated_at_ms = number(slu_slice_member(value, "updatedAtMs"));
}

static int64_t
time_of(struct slu_slice value)
{
    char text[SLU_TIME_TEXT_SIZE];
    int64_t at_ms = 0;
    if (!slu_slice_copy(value, text, sizeof text) || !slu_time_read(text, &at_ms))
        return 0;
    return at_ms;
}

READ(read_session)
{
    struct slu_entity *entity = reading->entity;
    const struct slu_slice status = slu_slice_member(value, "status");
    entity->session_status = slu_slice_is(status, "\"lost\"")     ? SLU_LIFE_GONE
                             : slu_slice_is(status, "\"paused\"") ? SLU_LIFE_PAUSED
                                                                  : SLU_LIFE_RUNNING;
    entity->session_created_at_ms = time_of(slu_slice_member(value, "createdAt"));
    SLU_AUTO_FREE char *error = slu_slice_strdup(slu_slice_member(value, "lastInitError"));
    slu_entity_set_text(entity, SLU_TEXT_INIT_ERROR, error, strlen(error));
    SLU_AUTO_FREE char *path =
        slu_slice_strdup(slu_slice_member(slu_slice_member(value, "instance"), "workspacePath"));
    slu_entity_set_text(entity, SLU_TEXT_WORKSPACE, path, strlen(path));
}

READ(read_instance)
{
    SLU_AUTO_FREE char *id = slu_slice_strdup(slu_slice_member(value, "externalId"));
    slu_entity_set_text(reading->entity, SLU_TEXT_EXTERNAL_ID, id, strlen(id));
    reading->entity->instance_incarnation =
        (uint32_t) number(slu_slice_member(value, "incarnation"));
}

READ(read_idle)
{
    reading->entity->idle = slu_slice_bool(value, false);
}

READ(read_started)
{
    reading->entity->started = slu_slice_bool(value, false);
}

READ(read_activity)
{
    reading->entity->last_active_at_ms = number(slu_slice_member(value, "lastActiveAtMs"));
    reading->entity->active_until_ms = number(slu_slice_member(value, "busyUntilMs"));
    reading->entity->active_told_until_ms = reading->entity->active_until_ms;
}

READ(read_lease)
{
    reading->entity->lease_refreshed_at_ms = number(slu_slice_member(value, "refreshedAtMs"));
    reading->entity->lease_given_seconds =
        (int32_t) number(slu_slice_member(value, "durationSeconds"));
}

READ(read_init)
{
    struct slu_entity *entity = reading->entity;
    char hash[17];
    if (slu_slice_copy(slu_slice_member(value, "commandsHash"), hash, sizeof hash))
        entity->init_done_hash = strtoull(hash, NULL, 16);
    entity->init_incarnation = (uint32_t) number(slu_slice_member(value, "incarnation"));
    entity->init_completed_at_ms = number(slu_slice_member(value, "completedAtMs"));
    entity->init_attempts = (uint16_t) number(slu_slice_member(value, "attempts"));
    entity->init_failed_command = (int16_t) number(slu_slice_member(value, "failedCommand"));
}

READ(read_loss)
{
    struct slu_motion *motion = slu_entity_motion(reading->entity);
    motion->lost_at_ms = number(slu_slice_member(value, "atMs"));
    motion->lost_incarnation = (uint32_t) number(slu_slice_member(value, "incarnation"));
    if (!slu_slice_copy(slu_slice_member(value, "externalId"), motion->lost_external_id,
                        sizeof motion->lost_external_id))
        reading->wrong = "detail.lastLoss.externalId";
}

READ(read_parked)
{
    struct slu_motion *motion = slu_entity_motion(reading->entity);
    char word[24] = "";
    motion->parked_until_ms = number(slu_slice_member(value, "retryAtMs"));
    (void) slu_slice_copy(slu_slice_member(value, "action"), word, sizeof word);
    const int action = slu_name_index(slu_action_names, SLU_ACTION_COUNT, word);
    motion->failed_action = action > 0 ? (uint8_t) action : SLU_ACTION_NONE;
    if (!slu_slice_copy(slu_slice_member(value, "reason"), motion->parked_reason,
                        sizeof motion->parked_reason))
        motion->parked_reason[0] = 0;
}

static const struct member detail_members[] = {
    {"instance", read_instance}, {"idle", read_idle},     {"started", read_started},
    {"activity", read_activity}, {"lease", read_lease},   {"init", read_init},
    {"lastLoss", read_loss},     {"parked", read_parked}, {"idleDeadlineAtMs", NULL},
};

READ(read_detail)
{
    read_members(reading, value, detail_members, SLU_COUNT(detail_members), false);
}

READ(read_fence)
{
    reading->entity->fence_epoch = number(slu_slice_member(value, "epoch"));
    reading->entity->fence_offset = number(slu_slice_member(value, "desiredOffset"));
}

static const struct member status_members[] = {
    {"kind", NULL},
    {"id", NULL},
    {"scope", read_scope},
    {"uid", read_uid},
    {"created", read_created},
    {"observedGeneration", read_generation},
    {"phase", read_phase},
    {"incarnation", read_incarnation},
    {"transition", read_transition},
    {"call", read_call},
    {"pending", read_pending},
    {"conditions", read_conditions},
    {"spec", read_spec},
    {"record", read_record},
    {"session", read_session},
    {"detail", read_detail},
    {"fence", read_fence},
};

static void
take_provider(struct reading *reading)
{
    SLU_AUTO_FREE char *provider =
        slu_slice_strdup(slu_slice_member(slu_entity_spec(reading->entity), "provider"));
    for (int i = 0; i < reading->frame->instance_count; i++) {
        if (strcmp(reading->frame->instances[i].name, provider) == 0)
            reading->entity->provider = (int16_t) i;
    }
}

enum {
    SPEC_STATE,
    SPEC_SESSION,
    SPEC_RESUME_ON_USE,
    SPEC_RECOVERY,
    SPEC_PAUSED_TIME,
    SPEC_LEASE,
    SPEC_SNAPSHOT,
    SPEC_TEMPLATE,
    SPEC_DELEGATION,
    SPEC_PLACEMENT,
    SPEC_MOUNTS,
    SPEC_REWIND,
    SPEC_COUNT,
};

static const char *const spec_names[SPEC_COUNT] = {
    [SPEC_STATE] = "state",
    [SPEC_SESSION] = "session",
    [SPEC_RESUME_ON_USE] = "resumeOnUse",
    [SPEC_RECOVERY] = "recovery",
    [SPEC_PAUSED_TIME] = "ttlPausedTimeCounts",
    [SPEC_LEASE] = "providerLeaseSeconds",
    [SPEC_SNAPSHOT] = "snapshotId",
    [SPEC_TEMPLATE] = "templateId",
    [SPEC_DELEGATION] = "delegationId",
    [SPEC_PLACEMENT] = "placement",
    [SPEC_MOUNTS] = "mounts",
    [SPEC_REWIND] = "rewind",
};

enum {
    SESSION_AUTO_START,
    SESSION_IDLE_PAUSE,
    SESSION_IDLE_SECONDS,
    SESSION_INIT,
    SESSION_COUNT,
};

static const char *const session_names[SESSION_COUNT] = {
    [SESSION_AUTO_START] = "autoStart",
    [SESSION_IDLE_PAUSE] = "idlePauseEnabled",
    [SESSION_IDLE_SECONDS] = "idlePauseAfterSeconds",
    [SESSION_INIT] = "init",
};

/* What planning needs of the spec, without a tree. Mirrors slu_entity_take_wish, which
 * tests/unit/engine/test_status_text.c compares it with. */
static void
take_wish(struct slu_entity *entity)
{
    struct slu_slice spec[SPEC_COUNT];
    struct slu_slice session[SESSION_COUNT];
    slu_slice_members(slu_entity_spec(entity), spec_names, SPEC_COUNT, spec);
    char word[16] = "";
    (void) slu_slice_copy(spec[SPEC_STATE], word, sizeof word);
    const int wish = slu_name_index(slu_wish_names, SLU_WISH_COUNT, word);
    entity->wish = wish < 0 ? SLU_WISH_RUNNING : (uint8_t) wish;
    if (entity->kind != SLU_KIND_SANDBOX)
        return;

    slu_slice_members(spec[SPEC_SESSION], session_names, SESSION_COUNT, session);
    entity->auto_start = slu_slice_bool(session[SESSION_AUTO_START], true);
    entity->idle_pause =
        spec[SPEC_SESSION].text && slu_slice_bool(session[SESSION_IDLE_PAUSE], true);
    entity->idle_pause_after_seconds = (int32_t) slu_slice_int(session[SESSION_IDLE_SECONDS], 180);
    entity->resume_on_use = slu_slice_bool(spec[SPEC_RESUME_ON_USE], false);
    entity->manual_recovery = slu_slice_is(spec[SPEC_RECOVERY], "\"manual\"");
    entity->paused_time_counts = slu_slice_bool(spec[SPEC_PAUSED_TIME], true);
    entity->lease_seconds = (int32_t) slu_slice_int(spec[SPEC_LEASE], 1200);
    entity->references = spec[SPEC_SNAPSHOT].text || spec[SPEC_TEMPLATE].text ||
                         spec[SPEC_DELEGATION].text ||
                         slu_slice_member(spec[SPEC_PLACEMENT], "computer").text ||
                         (spec[SPEC_MOUNTS].text && !slu_slice_is(spec[SPEC_MOUNTS], "[]"));
    entity->rewind_wished = spec[SPEC_REWIND].text != NULL;

    const struct slu_slice commands = slu_slice_member(session[SESSION_INIT], "commands");
    struct slu_slices slices = slu_slices_of(commands);
    struct slu_slice none;
    struct slu_slice command;
    while (slu_slices_next(&slices, &none, &command))
        entity->init_count++;
    entity->init_hash = entity->init_count ? slu_hash64(commands.text, commands.size) : 0;
}

/* Deadline and paused time, from what the record showed: the document has one number for both. */
static void
take_deadline(struct slu_entity *entity)
{
    const struct slu_slice spec = slu_entity_spec(entity);
    const int64_t ttl_ms = slu_slice_int(slu_slice_member(spec, "ttlMs"), 0);
    const int64_t shown_ms = entity->expires_at_ms;
    entity->created_at_ms = entity->condition_at_ms[SLU_CONDITION_ACCEPTED];
    if (!ttl_ms) {
        entity->expires_at_ms = slu_slice_int(slu_slice_member(spec, "expiresAtMs"), 0);
    } else {
        entity->expires_at_ms = entity->created_at_ms + ttl_ms;
        if (shown_ms > entity->expires_at_ms && !entity->paused_time_counts)
            entity->paused_total_ms = shown_ms - entity->expires_at_ms;
        entity->expires_at_ms += entity->paused_total_ms;
    }
    if (entity->phase == SLU_PHASE_PAUSED)
        entity->paused_since_ms = entity->condition_at_ms[SLU_CONDITION_PROGRESSING];
    if (!entity->updated_at_ms)
        entity->updated_at_ms = entity->created_at_ms;
}

/* What follows from the rest and is not written. */
static void
derive(struct slu_entity *entity)
{
    const bool ends = entity->wish == SLU_WISH_STOPPED || entity->wish == SLU_WISH_DELETED;
    entity->expired =
        entity->phase == SLU_PHASE_EXPIRED || (entity->phase == SLU_PHASE_STOPPING && !ends);
    entity->retiring = slu_entity_has_instance(entity) && !ends &&
                       entity->instance_incarnation < entity->incarnation;
    if (entity->phase == SLU_PHASE_DELETING || entity->phase == SLU_PHASE_DELETED)
        entity->wish = SLU_WISH_DELETED;
    struct slu_motion *motion = entity->motion;
    if (entity->phase == SLU_PHASE_LOST)
        slu_entity_motion(entity)->lost_recorded = true;
    else if (motion && motion->lost_at_ms && entity->phase == SLU_PHASE_STARTING)
        motion->recovering = true;
}

static void
read_headers(struct slu_entity *entity, const struct slu_record *record)
{
    char text[40];
    const struct slu_header *hash = slu_record_header(record, "slu-hash");
    if (hash && hash->size == 32) {
        memcpy(text, hash->value, 32);
        text[32] = 0;
        entity->raw_hash.low = strtoull(text + 16, NULL, 16);
        text[16] = 0;
        entity->raw_hash.high = strtoull(text, NULL, 16);
        entity->raw_is_plain = true;
    }
    const struct slu_header *appended = slu_record_header(record, "slu-appended");
    if (appended)
        entity->origin_ms = slu_slice_int((struct slu_slice){appended->value, appended->size}, 0);
}

enum slu_status
slu_status_read(struct slu_entity *entity,
                const struct slu_record *record,
                const struct slu_status_frame *frame,
                slu_intern_fn *intern,
                void *context,
                struct slu_error *reterr)
{
    struct reading reading = {
        .entity = entity, .frame = frame, .intern = intern, .context = context};
    const struct slu_slice document = {record->value, record->value_size};
    read_members(&reading, document, status_members, SLU_COUNT(status_members), true);
    if (!reading.wrong && (!entity->scope || !slu_entity_text_size(entity, SLU_TEXT_SPEC)))
        reading.wrong = "scope or spec";
    if (reading.wrong) {
        slu_buffer_done(&reading.unknown);
        return slu_fail(
            reterr, SLU_INVALID,
            "status of '%.128s' at offset %lld is no status document of ours: %s cannot "
            "be read",
            slu_entity_text(entity, SLU_TEXT_KEY), (long long) record->offset, reading.wrong);
    }
    slu_entity_set_text(entity, SLU_TEXT_UNKNOWN, reading.unknown.data, reading.unknown.size);
    slu_buffer_done(&reading.unknown);
    read_headers(entity, record);
    take_provider(&reading);
    take_wish(entity);
    take_deadline(entity);
    derive(entity);
    return SLU_OK;
}
