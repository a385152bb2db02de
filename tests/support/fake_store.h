/* SPDX-License-Identifier: Apache-2.0 */
/* The store port in memory. Stores opened with one URL share one backend, as replicas share one
 * Redis; the functions below do to the backend what operators and accidents do to Redis. */
#ifndef SLU_TESTS_FAKE_STORE_H
#define SLU_TESTS_FAKE_STORE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    FAKE_STORE_SHARDS = 64
};

void fake_store_down(bool down); /* Applies to every backend. */
void fake_store_wipe(const char *url);
void fake_store_remember(const char *url); /* Keeps a copy; roll_back restores it. */
void fake_store_roll_back(const char *url);
void fake_store_forget_all(void); /* Frees every backend. */

/* The view behind the pointer. NULL / −1 when there is none. Lent. */
const char *fake_store_status(const char *url, int shard, const char *key);
int fake_store_count(const char *url, int shard);
void fake_store_each(const char *url,
                     int shard,
                     void (*visit)(void *context, const char *key, const char *status),
                     void *context);

/* Removes one status behind everyone's back. */
void fake_store_damage(const char *url, int shard, const char *key);

#endif
