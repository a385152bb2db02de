/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a shard over: every status record becomes an entity again, then the first transaction.
 * What an earlier leader had under way is unknown until a look of our own. */
#include "internal.h"
#include "slu/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct slu_scope *
slu_intern_scope(void *context, const char *tenant, const char *project)
{
    struct slu_engine *engine = context;
    /* The last ones first: status records of a scope tend to stand together. */
    for (size_t i = engine->scope_count; i > 0; i--) {
        const struct slu_scope *scope = engine->scopes[i - 1];
        if (strcmp(scope->tenant, tenant) == 0 && strcmp(scope->project, project) == 0)
            return scope;
    }
    if (engine->scope_count == engine->scope_capacity) {
        engine->scope_capacity = engine->scope_capacity ? engine->scope_capacity * 2 : 16;
        engine->scopes =
            slu_realloc(engine->scopes, engine->scope_capacity * sizeof(struct slu_scope *));
    }
    struct slu_scope *scope = slu_alloc(sizeof *scope);
    *scope = (struct slu_scope){slu_strdup(tenant), slu_strdup(project)};
    engine->scopes[engine->scope_count++] = scope;
    return scope;
}

static struct slu_entity *
remake(struct slu_engine *engine, const struct slu_record *record, const struct slu_key *key)
{
    struct slu_entity *before = slu_table_find(&engine->table, record->key, record->key_size);
    if (before)
        slu_forget_entity(engine, before);
    struct slu_entity *entity = slu_entity_new(record->key, record->key_size);
    entity->kind = (uint8_t) key->kind;
    slu_table_add(&engine->table, entity);
    return entity;
}

enum slu_status
slu_engine_restore(struct slu_engine *engine,
                   const struct slu_record *record,
                   struct slu_error *reterr)
{
    struct slu_key key;
    struct slu_refusal refusal;
    if (!record->key || !slu_key_parse(record->key, record->key_size, &key, &refusal)) {
        return slu_fail(reterr, SLU_INVALID, "status record at offset %lld has no resource key",
                        (long long) record->offset);
    }
    if (!record->value) {
        struct slu_entity *entity = slu_table_find(&engine->table, record->key, record->key_size);
        if (entity)
            slu_forget_entity(engine, entity);
        return SLU_OK;
    }
    struct slu_entity *entity = remake(engine, record, &key);
    enum slu_status status =
        slu_status_read(entity, record, &engine->frame, slu_intern_scope, engine, reterr);
    if (status)
        slu_forget_entity(engine, entity);
    return status;
}

/* Children stand beside their sandbox in the same topic, in any order: linked when all are read. */
static void
link_children(struct slu_engine *engine)
{
    for (size_t i = 0; i < engine->table.capacity; i++) {
        struct slu_entity *entity = engine->table.slots[i];
        if (!entity || entity->kind != SLU_KIND_CHECKPOINT)
            continue;
        struct slu_key key;
        struct slu_refusal refusal;
        char text[SLU_KEY_MAX + 1];
        if (!slu_key_parse(slu_entity_text(entity, SLU_TEXT_KEY),
                           slu_entity_text_size(entity, SLU_TEXT_KEY), &key, &refusal))
            continue;
        const int size = snprintf(text, sizeof text, "sandbox/%s", key.root_id);
        struct slu_entity *parent = slu_table_find(&engine->table, text, (size_t) size);
        if (!parent)
            continue;
        entity->parent = parent;
        entity->next_sibling = parent->first_child;
        parent->first_child = entity;
    }
}

enum slu_status
slu_engine_claim(struct slu_engine *engine,
                 const struct slu_shard_record *last,
                 struct slu_error *reterr)
{
    enum {
        TRIES_UNTIL_POISON = 3
    };

    if (last->shard_count != engine->config.shard_count) {
        return slu_fail(reterr, SLU_FATAL,
                        "shard %d was made for %d shards, the topics have %d: see `sluice topics "
                        "check`",
                        engine->config.shard, last->shard_count, engine->config.shard_count);
    }
    if (engine->cluster[0] && strcmp(engine->cluster, last->cluster) != 0) {
        return slu_fail(reterr, SLU_FATAL, "shard %d belongs to cluster %s, not %s",
                        engine->config.shard, last->cluster, engine->cluster);
    }
    slu_set_cluster(engine, last->cluster);
    engine->shard = *last;
    engine->shard.unknown = json_incref(last->unknown);
    if (last->tries >= TRIES_UNTIL_POISON)
        snprintf(engine->poison, sizeof engine->poison, "%s", last->trying);
    engine->shard.epoch++;
    engine->shard.claims++;
    snprintf(engine->shard.owner, sizeof engine->shard.owner, "%s", engine->owner_url);
    engine->committed_seq = last->seq;
    engine->shard_moved = true;
    engine->claimed = true;
    link_children(engine);
    return SLU_OK;
}
