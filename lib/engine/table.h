/* SPDX-License-Identifier: Apache-2.0 */
/* The entities of a shard by key (open addressing, linear probing), and the ones that have
 * something due by time (a binary heap). Private to lib/engine. Both keep pointers; neither owns
 * entities. */
#ifndef SLU_ENGINE_TABLE_H
#define SLU_ENGINE_TABLE_H

#include "entity.h"

struct slu_table {
    struct slu_entity **slots; /* NULL: free. */
    uint32_t *hashes;          /* Of the keys in the slots: a probe reads no entity but its own. */
    size_t capacity;           /* A power of two, or 0; at most 2^32. */
    size_t count;
};

struct slu_entity *slu_table_find(const struct slu_table *table, const char *key, size_t size);
void slu_table_add(struct slu_table *table, struct slu_entity *entity); /* Not there yet. */
void slu_table_remove(struct slu_table *table, const struct slu_entity *entity);
void slu_table_done(struct slu_table *table);

struct slu_due {
    struct slu_entity **heap; /* From index 1. */
    size_t count, capacity;
};

/* Puts the entity at `at_ms`, earlier or later than it was; INT64_MAX takes it out. */
void slu_due_set(struct slu_due *due, struct slu_entity *entity, int64_t at_ms);
struct slu_entity *slu_due_first(const struct slu_due *due); /* NULL when empty. */
void slu_due_done(struct slu_due *due);

#endif
