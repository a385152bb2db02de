/* SPDX-License-Identifier: Apache-2.0 */
#include "http_curl_lane.h"

#include "slu/base/hash.h"
#include "slu/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    THOUSANDTHS = 1000
};

/* Exists while something of it waits, so that memory follows the queue, not the history. */
struct slu_http_tenant {
    TAILQ_ENTRY(slu_http_tenant) turn;
    SLIST_ENTRY(slu_http_tenant) known;
    STAILQ_HEAD(, slu_http_waiting) waiting;
    char *name;
};

void
slu_http_lane_init(struct slu_http_lane *lane)
{
    *lane = (struct slu_http_lane){0};
    TAILQ_INIT(&lane->turn);
}

static size_t
bucket_of(const char *tenant)
{
    return slu_hash64(tenant, strlen(tenant)) % SLU_HTTP_LANE_BUCKETS;
}

static struct slu_http_tenant *
tenant_named(struct slu_http_lane *lane, const char *name)
{
    const size_t bucket = bucket_of(name);
    struct slu_http_tenant *tenant;
    SLIST_FOREACH(tenant, &lane->known[bucket], known)
    {
        if (strcmp(tenant->name, name) == 0)
            return tenant;
    }
    tenant = slu_alloc(sizeof(*tenant));
    tenant->name = slu_strdup(name);
    STAILQ_INIT(&tenant->waiting);
    SLIST_INSERT_HEAD(&lane->known[bucket], tenant, known);
    TAILQ_INSERT_TAIL(&lane->turn, tenant, turn);
    return tenant;
}

void
slu_http_lane_put(struct slu_http_lane *lane, const char *tenant, struct slu_http_waiting *one)
{
    STAILQ_INSERT_TAIL(&tenant_named(lane, tenant)->waiting, one, next);
    lane->count++;
}

struct slu_http_waiting *
slu_http_lane_take(struct slu_http_lane *lane)
{
    struct slu_http_tenant *tenant = TAILQ_FIRST(&lane->turn);
    if (!tenant)
        return NULL;
    struct slu_http_waiting *one = STAILQ_FIRST(&tenant->waiting);
    STAILQ_REMOVE_HEAD(&tenant->waiting, next);
    TAILQ_REMOVE(&lane->turn, tenant, turn);
    lane->count--;
    if (!STAILQ_EMPTY(&tenant->waiting)) {
        TAILQ_INSERT_TAIL(&lane->turn, tenant, turn);
        return one;
    }
    SLIST_REMOVE(&lane->known[bucket_of(tenant->name)], tenant, slu_http_tenant, known);
    free(tenant->name);
    free(tenant);
    return one;
}

static int64_t
capacity(const struct slu_http_bucket *bucket)
{
    const int64_t starts = bucket->per_second / 10;
    return (starts > 1 ? starts : 1) * THOUSANDTHS;
}

static void
refill(struct slu_http_bucket *bucket, int64_t now_ms)
{
    const int64_t passed_ms = now_ms - bucket->filled_at_ms;
    bucket->filled_at_ms = now_ms;
    if (passed_ms >= THOUSANDTHS) /* A second fills it from empty; larger factors could overflow. */
        bucket->thousandths = capacity(bucket);
    else
        bucket->thousandths += passed_ms * bucket->per_second;
    if (bucket->thousandths > capacity(bucket))
        bucket->thousandths = capacity(bucket);
}

void
slu_http_bucket_limit(struct slu_http_bucket *bucket, int per_second, int64_t now_ms)
{
    if (bucket->per_second > 0)
        refill(bucket, now_ms);
    const bool was_unlimited = bucket->per_second <= 0;
    bucket->per_second = per_second;
    if (was_unlimited || bucket->thousandths > capacity(bucket))
        bucket->thousandths = capacity(bucket);
    bucket->filled_at_ms = now_ms;
}

int64_t
slu_http_bucket_wait_ms(struct slu_http_bucket *bucket, int64_t now_ms)
{
    if (bucket->per_second <= 0)
        return 0;
    refill(bucket, now_ms);
    const int64_t missing = THOUSANDTHS - bucket->thousandths;
    return missing <= 0 ? 0 : (missing + bucket->per_second - 1) / bucket->per_second;
}

void
slu_http_bucket_take(struct slu_http_bucket *bucket)
{
    if (bucket->per_second <= 0)
        return;
    assert(bucket->thousandths >= THOUSANDTHS);
    bucket->thousandths -= THOUSANDTHS;
}
