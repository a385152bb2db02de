/* SPDX-License-Identifier: Apache-2.0 */
#include "entity.h"

#include "slu/base/buffer.h"
#include "slu/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *
slu_entity_text(const struct slu_entity *entity, enum slu_text text)
{
    return entity->texts->bytes + entity->texts->offset[text];
}

size_t
slu_entity_text_size(const struct slu_entity *entity, enum slu_text text)
{
    return entity->texts->offset[text + 1] - entity->texts->offset[text] - 1;
}

struct slu_slice
slu_entity_spec(const struct slu_entity *entity)
{
    return (struct slu_slice){slu_entity_text(entity, SLU_TEXT_SPEC),
                              slu_entity_text_size(entity, SLU_TEXT_SPEC)};
}

void
slu_entity_set_text(struct slu_entity *entity, enum slu_text text, const char *bytes, size_t size)
{
    const struct slu_texts *before = entity->texts;
    if (slu_entity_text_size(entity, text) == size &&
        (!size || memcmp(slu_entity_text(entity, text), bytes, size) == 0))
        return;
    const size_t total = before->offset[SLU_TEXT_COUNT] - slu_entity_text_size(entity, text) + size;
    struct slu_texts *after = slu_realloc(NULL, sizeof *after + total);
    uint32_t at = 0;
    for (int i = 0; i < SLU_TEXT_COUNT; i++) {
        const char *from = i == (int) text ? bytes : slu_entity_text(entity, (enum slu_text) i);
        const size_t length =
            i == (int) text ? size : slu_entity_text_size(entity, (enum slu_text) i);
        after->offset[i] = at;
        if (length)
            memcpy(after->bytes + at, from, length);
        after->bytes[at + length] = 0;
        at += (uint32_t) length + 1;
    }
    after->offset[SLU_TEXT_COUNT] = at;
    assert(at == total);
    free(entity->texts);
    entity->texts = after;
}

struct slu_entity *
slu_entity_new(const char *key, size_t key_size)
{
    struct slu_entity *entity = slu_alloc(sizeof *entity);
    struct slu_texts *texts = slu_alloc(sizeof *texts + SLU_TEXT_COUNT);
    for (uint32_t i = 0; i <= SLU_TEXT_COUNT; i++)
        texts->offset[i] = i;
    entity->texts = texts;
    entity->provider = -1;
    entity->due_at_ms = INT64_MAX;
    slu_entity_set_text(entity, SLU_TEXT_KEY, key, key_size);
    return entity;
}

void
slu_entity_free(struct slu_entity *entity)
{
    if (!entity)
        return;
    free(entity->motion);
    free(entity->texts);
    free(entity);
}

struct slu_motion *
slu_entity_motion(struct slu_entity *entity)
{
    if (!entity->motion)
        entity->motion = slu_alloc(sizeof *entity->motion);
    return entity->motion;
}

/* References to roots whose kinds are not driven yet: nothing may be made before they are. */
static bool
names_others(const json_t *spec)
{
    const json_t *placement = json_object_get(spec, "placement");
    return json_object_get(spec, "snapshotId") || json_object_get(spec, "templateId") ||
           json_object_get(spec, "delegationId") || json_object_get(placement, "computer") ||
           json_array_size(json_object_get(spec, "mounts")) > 0;
}

void
slu_entity_take_wish(struct slu_entity *entity, const json_t *spec)
{
    if (entity->kind != SLU_KIND_SANDBOX) {
        const char *state = json_string_value(json_object_get(spec, "state"));
        entity->wish = state && strcmp(state, "deleted") == 0 ? SLU_WISH_DELETED : SLU_WISH_RUNNING;
        return;
    }
    struct slu_sandbox_wish wish;
    slu_sandbox_wish_read(spec, &wish);
    entity->wish = (uint8_t) wish.state;
    entity->auto_start = wish.auto_start;
    entity->idle_pause = wish.idle_pause;
    entity->resume_on_use = wish.resume_on_use;
    entity->manual_recovery = wish.recovery == SLU_RECOVERY_MANUAL;
    entity->paused_time_counts = wish.ttl_paused_time_counts;
    entity->idle_pause_after_seconds = wish.idle_pause_after_seconds;
    entity->lease_seconds = wish.provider_lease_seconds;
    entity->init_count = (uint16_t) wish.init_count;
    entity->init_hash = wish.init_hash;
    entity->references = names_others(spec);
    entity->rewind_wished = json_object_get(spec, "rewind") != NULL;
    entity->expires_at_ms = wish.ttl_ms
                                ? entity->created_at_ms + wish.ttl_ms + entity->paused_total_ms
                                : wish.expires_at_ms;
}

static uint8_t
digit_of(char c)
{
    return (uint8_t) (c <= '9' ? c - '0' : c - 'a' + 10);
}

void
slu_entity_set_created_hex(struct slu_entity *entity, const char hex[65])
{
    for (size_t i = 0; i < sizeof entity->created_sha256; i++)
        entity->created_sha256[i] =
            (uint8_t) (digit_of(hex[2 * i]) << 4 | digit_of(hex[2 * i + 1]));
}

void
slu_entity_created_hex(const struct slu_entity *entity, char ret_hex[65])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof entity->created_sha256; i++) {
        ret_hex[2 * i] = digits[entity->created_sha256[i] >> 4];
        ret_hex[2 * i + 1] = digits[entity->created_sha256[i] & 0xf];
    }
    ret_hex[64] = 0;
}

void
slu_entity_uid(const struct slu_entity *entity, char ret_uid[SLU_UID_SIZE])
{
    static_assert(SLU_UID_SIZE >= sizeof("-2147483648-") + SLU_INT_TEXT_SIZE - 1, "a uid fits");
    const size_t size = slu_int_write(entity->uid_shard, ret_uid);
    ret_uid[size] = '-';
    slu_int_write(entity->uid_offset, ret_uid + size + 1);
}

bool
slu_entity_has_instance(const struct slu_entity *entity)
{
    return slu_entity_text_size(entity, SLU_TEXT_EXTERNAL_ID) > 0;
}
