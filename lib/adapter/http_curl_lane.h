/* SPDX-License-Identifier: Apache-2.0 */
/* Who is next: a lane of waiting jobs, served in turn between tenants, and a bucket of starts per
 * second. Pure: time comes in. */
#ifndef SLU_ADAPTER_HTTP_CURL_LANE_H
#define SLU_ADAPTER_HTTP_CURL_LANE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

enum {
    SLU_HTTP_LANE_BUCKETS = 1024
};

/* Embedded in what waits. */
struct slu_http_waiting {
    STAILQ_ENTRY(slu_http_waiting) next;
};

struct slu_http_tenant;

struct slu_http_lane {
    TAILQ_HEAD(, slu_http_tenant) turn;                         /* Those with something waiting. */
    SLIST_HEAD(, slu_http_tenant) known[SLU_HTTP_LANE_BUCKETS]; /* The same, by hash of the name. */
    int count;
};

void slu_http_lane_init(struct slu_http_lane *lane);
void
slu_http_lane_put(struct slu_http_lane *lane, const char *tenant, struct slu_http_waiting *one);
struct slu_http_waiting *slu_http_lane_take(struct slu_http_lane *lane); /* NULL: empty. */

/* Starts are spread: at most a tenth of a second's worth at once. */
struct slu_http_bucket {
    int64_t per_second; /* ≤ 0: no limit. */
    int64_t thousandths;
    int64_t filled_at_ms;
};

void slu_http_bucket_limit(struct slu_http_bucket *bucket, int per_second, int64_t now_ms);

/* How long until a start is allowed; 0: now. */
int64_t slu_http_bucket_wait_ms(struct slu_http_bucket *bucket, int64_t now_ms);
void slu_http_bucket_take(struct slu_http_bucket *bucket);

#endif
