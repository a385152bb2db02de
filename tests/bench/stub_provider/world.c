/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include "slu/base/hash.h"
#include "slu/base/memory.h"

#include <stdio.h>
#include <string.h>

enum {
    BUCKETS = 1 << 17,
    FENCES_MAX = 256
};

struct key {
    char text[STUB_TEXT_MAX];
    char id[24];
    uint64_t hash;
    struct key *next;
};

struct fence {
    char name[STUB_TEXT_MAX];
    int64_t epoch;
};

struct stub_world {
    struct stub_sandbox *by_id[BUCKETS];
    struct stub_sandbox *by_owner[BUCKETS];
    struct key *keys[BUCKETS];
    struct stub_sandbox *oldest, *newest;
    struct fence fences[FENCES_MAX];
    int fence_count;
    int64_t last_number;
    struct stub_counters counters;
};

static size_t
bucket(const char *text)
{
    return slu_hash64(text, strlen(text)) % BUCKETS;
}

struct stub_world *
stub_world_new(void)
{
    return slu_alloc(sizeof(struct stub_world));
}

static void
free_sandbox(struct stub_sandbox *sandbox)
{
    json_decref(sandbox->metadata);
    slu_free_ptr(&sandbox);
}

void
stub_world_free(struct stub_world *world)
{
    while (world->oldest)
        stub_world_remove(world, world->oldest);
    for (size_t i = 0; i < BUCKETS; i++) {
        while (world->keys[i]) {
            struct key *key = world->keys[i];
            world->keys[i] = key->next;
            slu_free_ptr(&key);
        }
    }
    slu_free_ptr(&world);
}

struct stub_counters *
stub_world_counters(struct stub_world *world)
{
    return &world->counters;
}

struct stub_sandbox *
stub_world_find(struct stub_world *world, const char *id, int64_t now_ms)
{
    struct stub_sandbox *sandbox = world->by_id[bucket(id)];
    while (sandbox && strcmp(sandbox->id, id) != 0)
        sandbox = sandbox->next_of_id;
    if (!sandbox || sandbox->paused || sandbox->lease_end_ms > now_ms)
        return sandbox;
    if (sandbox->auto_pause) {
        sandbox->paused = true;
        return sandbox;
    }
    stub_world_remove(world, sandbox);
    return NULL;
}

static void
read_owner(struct stub_sandbox *sandbox)
{
    const char *cluster = json_string_value(json_object_get(sandbox->metadata, "sluice.cluster"));
    const char *key = json_string_value(json_object_get(sandbox->metadata, "sluice.key"));
    if (cluster && key)
        snprintf(sandbox->owner, sizeof(sandbox->owner), "%s %s", cluster, key);
}

struct stub_sandbox *
stub_world_add(
    struct stub_world *world, json_t *metadata, int64_t lease_ms, bool auto_pause, int64_t now_ms)
{
    struct stub_sandbox *sandbox = slu_alloc(sizeof(*sandbox));
    sandbox->number = ++world->last_number;
    snprintf(sandbox->id, sizeof(sandbox->id), "i%018lld", (long long) sandbox->number);
    sandbox->auto_pause = auto_pause;
    sandbox->made_at_ms = now_ms;
    sandbox->lease_end_ms = now_ms + lease_ms;
    sandbox->metadata = json_incref(metadata);
    read_owner(sandbox);

    struct stub_sandbox **ids = &world->by_id[bucket(sandbox->id)];
    sandbox->next_of_id = *ids;
    *ids = sandbox;
    struct stub_sandbox **owners = &world->by_owner[bucket(sandbox->owner)];
    for (struct stub_sandbox *other = *owners; other && sandbox->owner[0];
         other = other->next_of_owner)
        world->counters.doubles += strcmp(other->owner, sandbox->owner) == 0;
    sandbox->next_of_owner = *owners;
    *owners = sandbox;

    sandbox->older = world->newest;
    *(world->newest ? &world->newest->newer : &world->oldest) = sandbox;
    world->newest = sandbox;
    world->counters.alive++;
    return sandbox;
}

void
stub_world_remove(struct stub_world *world, struct stub_sandbox *sandbox)
{
    struct stub_sandbox **ids = &world->by_id[bucket(sandbox->id)];
    while (*ids != sandbox)
        ids = &(*ids)->next_of_id;
    *ids = sandbox->next_of_id;
    struct stub_sandbox **owners = &world->by_owner[bucket(sandbox->owner)];
    while (*owners != sandbox)
        owners = &(*owners)->next_of_owner;
    *owners = sandbox->next_of_owner;

    *(sandbox->older ? &sandbox->older->newer : &world->oldest) = sandbox->newer;
    *(sandbox->newer ? &sandbox->newer->older : &world->newest) = sandbox->older;
    world->counters.alive--;
    free_sandbox(sandbox);
}

bool
stub_world_key_find(const struct stub_world *world,
                    const char *text,
                    uint64_t *ret_hash,
                    char ret_id[24])
{
    for (const struct key *key = world->keys[bucket(text)]; key; key = key->next) {
        if (strcmp(key->text, text) == 0) {
            *ret_hash = key->hash;
            memcpy(ret_id, key->id, sizeof(key->id));
            return true;
        }
    }
    return false;
}

void
stub_world_key_set(struct stub_world *world, const char *text, uint64_t hash, const char *id)
{
    struct key *key = slu_alloc(sizeof(*key));
    snprintf(key->text, sizeof(key->text), "%s", text);
    snprintf(key->id, sizeof(key->id), "%s", id);
    key->hash = hash;
    struct key **head = &world->keys[bucket(text)];
    key->next = *head;
    *head = key;
}

bool
stub_world_fence(struct stub_world *world, const char *cluster, const char *shard, int64_t epoch)
{
    char name[STUB_TEXT_MAX];
    snprintf(name, sizeof(name), "%s/%s", cluster, shard);
    for (int i = 0; i < world->fence_count; i++) {
        struct fence *fence = &world->fences[i];
        if (strcmp(fence->name, name) != 0)
            continue;
        if (epoch < fence->epoch)
            return false;
        fence->epoch = epoch;
        return true;
    }
    if (world->fence_count < FENCES_MAX) {
        struct fence *fence = &world->fences[world->fence_count++];
        memcpy(fence->name, name, sizeof(name));
        fence->epoch = epoch;
    }
    return true;
}

struct stub_sandbox *
stub_world_next(struct stub_world *world, const char *owner, int64_t after)
{
    struct stub_sandbox *best = NULL;
    if (!owner) {
        struct stub_sandbox *sandbox = world->oldest;
        while (sandbox && sandbox->number <= after)
            sandbox = sandbox->newer;
        return sandbox;
    }
    for (struct stub_sandbox *at = world->by_owner[bucket(owner)]; at; at = at->next_of_owner) {
        if (at->number > after && strcmp(at->owner, owner) == 0 &&
            (!best || at->number < best->number))
            best = at;
    }
    return best;
}
