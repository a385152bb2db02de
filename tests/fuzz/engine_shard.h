/* SPDX-License-Identifier: Apache-2.0 */
/* An engine with one provider, and the statuses it holds: what the engine targets share. */
#ifndef SLU_TESTS_FUZZ_ENGINE_SHARD_H
#define SLU_TESTS_FUZZ_ENGINE_SHARD_H

#include "slu/base/memory.h"
#include "slu/engine/engine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const char *const shard_capabilities[] = {
    "checkpoint", "egress_rules", "egress_update", "exec", "fences", "idempotent_create", "pause",
    "rewind", "snapshot", NULL,
};

/* clang-format on */
static char shard_pool[] = "default";
static const struct slu_provider_instance shard_instance = {
    .name = "local",
    .type = "local",
    .pools = {shard_pool},
    .pool_count = 1,
    .capabilities = shard_capabilities,
};

static inline struct slu_engine *
shard_engine(void)
{
    const struct slu_engine_config config = {.shard_count = 2,
                                             .cluster = "",
                                             .owner_url = "http://h:1",
                                             .instances = &shard_instance,
                                             .instance_count = 1,
                                             .default_provider = "local",
                                             .seed = 7};
    return slu_engine_new(&config);
}

static inline void
shard_claim(struct slu_engine *engine)
{
    const struct slu_shard_record last = {.cluster = "c0ffee", .shard_count = 2};
    struct slu_error error;
    const enum slu_status status = slu_engine_claim(engine, &last, &error);
    assert(!status);
}

/* Every status by its key; the order of the table is nobody's business. */
struct shard_statuses {
    struct shard_status {
        char *key;
        char *text;
    } * list;

    size_t count;
};

static inline void
keep_status(void *context, const char *key, const char *status, size_t size)
{
    struct shard_statuses *statuses = context;
    statuses->list = slu_realloc(statuses->list, (statuses->count + 1) * sizeof(*statuses->list));
    statuses->list[statuses->count++] =
        (struct shard_status){slu_strdup(key), slu_memdup(status, size)};
}

static inline int
by_key(const void *left, const void *right)
{
    return strcmp(((const struct shard_status *) left)->key,
                  ((const struct shard_status *) right)->key);
}

static inline struct shard_statuses
shard_statuses(struct slu_engine *engine)
{
    struct shard_statuses statuses = {0};
    slu_engine_each_status(engine, keep_status, &statuses);
    if (statuses.count)
        qsort(statuses.list, statuses.count, sizeof(*statuses.list), by_key);
    return statuses;
}

static inline void
shard_statuses_done(struct shard_statuses *statuses)
{
    for (size_t i = 0; i < statuses->count; i++) {
        free(statuses->list[i].key);
        free(statuses->list[i].text);
    }
    free(statuses->list);
}

/* Byte for byte. */
static inline void
assert_same_statuses(struct slu_engine *left, struct slu_engine *right)
{
    struct shard_statuses first = shard_statuses(left);
    struct shard_statuses second = shard_statuses(right);
    bool same = first.count == second.count;
    for (size_t i = 0; same && i < first.count; i++) {
        same = strcmp(first.list[i].key, second.list[i].key) == 0 &&
               strcmp(first.list[i].text, second.list[i].text) == 0;
        if (!same)
            fprintf(stderr, "%s\n%s\n", first.list[i].text, second.list[i].text);
    }
    assert(same);
    shard_statuses_done(&first);
    shard_statuses_done(&second);
}

/* What was written to sluice.status, read by the next leader. */
static inline void
restore_output(struct slu_engine *engine, const struct slu_output *output)
{
    struct slu_record record = {.partition = output->partition,
                                .key = output->key,
                                .key_size = output->key_size,
                                .value = output->value,
                                .value_size = output->value_size,
                                .header_count = output->header_count};
    for (size_t i = 0; i < output->header_count; i++)
        record.headers[i] = (struct slu_header){output->headers[i].name, output->headers[i].value,
                                                strlen(output->headers[i].value)};
    struct slu_error error;
    const enum slu_status status = slu_engine_restore(engine, &record, &error);
    if (status)
        fprintf(stderr, "%s\n", error.message);
    assert(!status);
}

#endif
