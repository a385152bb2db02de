/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_store.h"
#include "slu/base/buffer.h"
#include "slu/base/memory.h"
#include "store_subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char url[] = "fake://store";

void
subject_start(void)
{
}

void
subject_stop(void)
{
    fake_store_forget_all();
}

const char *
subject_url(void)
{
    return url;
}

const char *
subject_dead_url(void)
{
    fake_store_down(true);
    return url;
}

void
subject_wipe(void)
{
    fake_store_wipe(url);
}

void
subject_crash(void)
{
    fake_store_down(true);
}

void
subject_revive(void)
{
    fake_store_wipe(url);
    fake_store_down(false);
}

void
subject_stall(void)
{
    fake_store_down(true);
}

void
subject_remember(void)
{
    fake_store_remember(url);
}

void
subject_roll_back(void)
{
    fake_store_roll_back(url);
    fake_store_down(false);
}

void
subject_damage(int shard, const char *key)
{
    fake_store_damage(url, shard, key);
}

char *
subject_status(int shard, const char *key)
{
    const char *status = fake_store_status(url, shard, key);
    return status ? slu_strdup(status) : NULL;
}

struct search {
    const char *kind_and_id;
    struct slu_buffer keys;
};

static void
match_id(void *context, const char *key, const char *status)
{
    (void) status;
    struct search *search = context;
    char name[512];
    snprintf(name, sizeof(name), "%.*s:%s", (int) strcspn(key, "/"), key, strrchr(key, '/') + 1);
    if (strcmp(name, search->kind_and_id) != 0)
        return;
    if (search->keys.size > 0 && strcmp(key, search->keys.data) < 0) {
        struct slu_buffer sorted = {0};
        slu_buffer_printf(&sorted, "%s %s", key, search->keys.data);
        slu_buffer_done(&search->keys);
        search->keys = sorted;
    } else {
        slu_buffer_printf(&search->keys, "%s%s", search->keys.size ? " " : "", key);
    }
}

char *
subject_id(int shard, const char *kind_and_id)
{
    struct search search = {.kind_and_id = kind_and_id};
    fake_store_each(url, shard, match_id, &search);
    return search.keys.data;
}

int
subject_count(int shard)
{
    return fake_store_count(url, shard);
}

bool
subject_indexed(int shard, const char *index, const char *key)
{
    const char *status = fake_store_status(url, shard, key);
    char tenant[64], project[64], scope[256];
    if (!status || sscanf(index, "%63[^/]/%63[^/]/", tenant, project) != 2)
        return false;
    snprintf(scope, sizeof(scope), "\"tenantId\":\"%s\",\"projectId\":\"%s\"", tenant, project);
    return strstr(status, scope) != NULL;
}

int
subject_leftovers(int shard)
{
    (void) shard;
    return 0;
}
