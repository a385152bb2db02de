/* SPDX-License-Identifier: Apache-2.0 */
/* The sandboxes of the stub provider: records in memory, no processes. One thread. */
#ifndef SLU_STUB_WORLD_H
#define SLU_STUB_WORLD_H

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STUB_TEXT_MAX = 256
};

struct stub_sandbox {
    char id[24];
    int64_t number; /* Order of creation: pages go by it. */
    bool paused;
    bool auto_pause;
    int64_t made_at_ms;   /* Unix. */
    int64_t lease_end_ms; /* Unix; of a running one. */
    int64_t listed_at_ms; /* Lists show it from here on: they lag. */
    json_t *metadata;
    char owner[STUB_TEXT_MAX]; /* "<cluster> <key>" of its labels; "" without. */
    struct stub_sandbox *next_of_id, *next_of_owner, *newer, *older;
};

struct stub_counters {
    int64_t requests, creates, repeated_creates, resumes, pauses, deletes, extends, looks, lists,
        inits;
    int64_t alive, doubles; /* `doubles`: creates that made a second live sandbox for one owner. */
    int64_t lost, refused, failed, hung, fenced;
};

struct stub_world;

struct stub_world *stub_world_new(void);
void stub_world_free(struct stub_world *world);
struct stub_counters *stub_world_counters(struct stub_world *world);

/* Lends; NULL when there is none (any more). Leases that have run out act here. */
struct stub_sandbox *stub_world_find(struct stub_world *world, const char *id, int64_t now_ms);
struct stub_sandbox *stub_world_add(
    struct stub_world *world, json_t *metadata, int64_t lease_ms, bool auto_pause, int64_t now_ms);
void stub_world_remove(struct stub_world *world, struct stub_sandbox *sandbox);

/* The sandbox made under an idempotency key, with the hash of its body; false when the key is new.
 */
bool stub_world_key_find(const struct stub_world *world,
                         const char *key,
                         uint64_t *ret_hash,
                         char ret_id[24]);
void stub_world_key_set(struct stub_world *world, const char *text, uint64_t hash, const char *id);

/* False when a higher epoch of this (cluster, shard) was seen. */
bool
stub_world_fence(struct stub_world *world, const char *cluster, const char *shard, int64_t epoch);

/* Walks in order of creation from the first with a number above `after`; only those of `owner` when
 * it is not NULL. */
struct stub_sandbox *stub_world_next(struct stub_world *world, const char *owner, int64_t after);

#endif
