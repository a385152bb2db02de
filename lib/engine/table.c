/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include "slu/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_CAPACITY = 64
};

static uint32_t
hash_of(const char *key, size_t size)
{
    return (uint32_t) slu_hash64(key, size);
}

static bool
has_key(const struct slu_entity *entity, const char *key, size_t size)
{
    return slu_entity_text_size(entity, SLU_TEXT_KEY) == size &&
           memcmp(slu_entity_text(entity, SLU_TEXT_KEY), key, size) == 0;
}

struct slu_entity *
slu_table_find(const struct slu_table *table, const char *key, size_t size)
{
    if (!table->capacity)
        return NULL;
    const size_t mask = table->capacity - 1;
    const uint32_t hash = hash_of(key, size);
    for (size_t i = hash & mask; table->slots[i]; i = (i + 1) & mask) {
        if (table->hashes[i] == hash && has_key(table->slots[i], key, size))
            return table->slots[i];
    }
    return NULL;
}

static void
place(struct slu_table *table, struct slu_entity *entity, uint32_t hash)
{
    const size_t mask = table->capacity - 1;
    size_t i = hash & mask;
    while (table->slots[i])
        i = (i + 1) & mask;
    table->slots[i] = entity;
    table->hashes[i] = hash;
}

static void
grow(struct slu_table *table)
{
    struct slu_table next = {.capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY,
                             .count = table->count};
    next.slots = slu_alloc(next.capacity * sizeof(struct slu_entity *));
    next.hashes = slu_alloc(next.capacity * sizeof(*next.hashes));
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->slots[i])
            place(&next, table->slots[i], table->hashes[i]);
    }
    struct slu_table old = *table;
    *table = next;
    slu_table_done(&old);
}

static uint32_t
entity_hash(const struct slu_entity *entity)
{
    return hash_of(slu_entity_text(entity, SLU_TEXT_KEY),
                   slu_entity_text_size(entity, SLU_TEXT_KEY));
}

void
slu_table_add(struct slu_table *table, struct slu_entity *entity)
{
    if ((table->count + 1) * 3 > table->capacity * 2)
        grow(table);
    place(table, entity, entity_hash(entity));
    table->count++;
}

/* Backward shift: what probed past the freed slot moves up, so that no tombstones are needed. */
static void
close_gap(struct slu_table *table, size_t gap)
{
    const size_t mask = table->capacity - 1;
    for (size_t i = (gap + 1) & mask; table->slots[i]; i = (i + 1) & mask) {
        const size_t home = table->hashes[i] & mask;
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            table->slots[gap] = table->slots[i];
            table->hashes[gap] = table->hashes[i];
            table->slots[i] = NULL;
            gap = i;
        }
    }
}

void
slu_table_remove(struct slu_table *table, const struct slu_entity *entity)
{
    const size_t mask = table->capacity - 1;
    size_t i = entity_hash(entity) & mask;
    while (table->slots[i] != entity) {
        assert(table->slots[i]);
        i = (i + 1) & mask;
    }
    table->slots[i] = NULL;
    table->count--;
    close_gap(table, i);
}

void
slu_table_done(struct slu_table *table)
{
    free(table->slots);
    free(table->hashes);
    *table = (struct slu_table){0};
}

static void
put(struct slu_due *due, size_t index, struct slu_entity *entity)
{
    due->heap[index] = entity;
    entity->due_index = (uint32_t) index;
}

static void
sift_up(struct slu_due *due, size_t index, struct slu_entity *entity)
{
    while (index > 1 && due->heap[index / 2]->due_at_ms > entity->due_at_ms) {
        put(due, index, due->heap[index / 2]);
        index /= 2;
    }
    put(due, index, entity);
}

static void
sift_down(struct slu_due *due, size_t index, struct slu_entity *entity)
{
    for (;;) {
        size_t child = index * 2;
        if (child > due->count)
            break;
        if (child < due->count && due->heap[child + 1]->due_at_ms < due->heap[child]->due_at_ms)
            child++;
        if (due->heap[child]->due_at_ms >= entity->due_at_ms)
            break;
        put(due, index, due->heap[child]);
        index = child;
    }
    put(due, index, entity);
}

static void
take_out(struct slu_due *due, struct slu_entity *entity)
{
    const size_t index = entity->due_index;
    entity->due_index = 0;
    struct slu_entity *last = due->heap[due->count--];
    if (last == entity)
        return;
    if (index > 1 && due->heap[index / 2]->due_at_ms > last->due_at_ms)
        sift_up(due, index, last);
    else
        sift_down(due, index, last);
}

void
slu_due_set(struct slu_due *due, struct slu_entity *entity, int64_t at_ms)
{
    const int64_t before_ms = entity->due_at_ms;
    entity->due_at_ms = at_ms;
    if (at_ms == INT64_MAX) {
        if (entity->due_index)
            take_out(due, entity);
        return;
    }
    if (!entity->due_index) {
        if (due->count + 1 >= due->capacity) {
            due->capacity = due->capacity ? due->capacity * 2 : FIRST_CAPACITY;
            due->heap = slu_realloc(due->heap, due->capacity * sizeof(struct slu_entity *));
        }
        sift_up(due, ++due->count, entity);
    } else if (at_ms < before_ms) {
        sift_up(due, entity->due_index, entity);
    } else {
        sift_down(due, entity->due_index, entity);
    }
}

struct slu_entity *
slu_due_first(const struct slu_due *due)
{
    return due->count ? due->heap[1] : NULL;
}

void
slu_due_done(struct slu_due *due)
{
    free(due->heap);
    *due = (struct slu_due){0};
}
