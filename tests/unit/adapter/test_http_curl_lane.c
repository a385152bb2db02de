/* SPDX-License-Identifier: Apache-2.0 */
#include "../../../lib/adapter/http_curl_lane.h"
#include "slu/base/macros.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Puts jobs "a1", "b1", … (tenant, number), takes all, and compares the order. */
static void
expect_order(const char *put, const char *expected)
{
    struct slu_http_lane lane;

    struct {
        struct slu_http_waiting waiting;
        char name[4];
    } jobs[32];

    slu_http_lane_init(&lane);
    size_t count = 0;
    for (const char *at = put; *at; at += 3, count++) {
        snprintf(jobs[count].name, sizeof(jobs[count].name), "%.2s", at);
        slu_http_lane_put(&lane, (char[]){at[0], '\0'}, &jobs[count].waiting);
    }
    assert_int_equal(lane.count, count);
    char order[128] = "";
    struct slu_http_waiting *one;
    while ((one = slu_http_lane_take(&lane))) {
        for (size_t i = 0; i < count; i++) {
            if (&jobs[i].waiting == one)
                snprintf(order + strlen(order), sizeof(order) - strlen(order), "%s ", jobs[i].name);
        }
    }
    assert_int_equal(lane.count, 0);
    assert_string_equal(order, expected);
}

static void
test_lane_serves_tenants_in_turn_and_each_in_its_order(void **state)
{
    (void) state;
    expect_order("a1 ", "a1 ");
    expect_order("a1 a2 a3 ", "a1 a2 a3 ");
    expect_order("a1 a2 a3 b1 ", "a1 b1 a2 a3 ");
    expect_order("a1 a2 b1 b2 c1 ", "a1 b1 c1 a2 b2 ");
}

static void
test_lane_keeps_a_tenants_turn_only_while_it_waits(void **state)
{
    (void) state;
    struct slu_http_lane lane;
    struct slu_http_waiting jobs[4];
    slu_http_lane_init(&lane);
    slu_http_lane_put(&lane, "a", &jobs[0]);
    slu_http_lane_put(&lane, "b", &jobs[1]);
    assert_ptr_equal(slu_http_lane_take(&lane), &jobs[0]);
    slu_http_lane_put(&lane, "a", &jobs[2]); /* Back in line, behind b. */
    assert_ptr_equal(slu_http_lane_take(&lane), &jobs[1]);
    assert_ptr_equal(slu_http_lane_take(&lane), &jobs[2]);
    assert_null(slu_http_lane_take(&lane));
}

/* Starts as fast as allowed from 0 to `until_ms`, in steps of 1 ms. */
static int
count_starts(struct slu_http_bucket *bucket, int64_t from_ms, int64_t until_ms)
{
    int starts = 0;
    for (int64_t now_ms = from_ms; now_ms < until_ms; now_ms++) {
        while (slu_http_bucket_wait_ms(bucket, now_ms) == 0) {
            slu_http_bucket_take(bucket);
            starts++;
        }
    }
    return starts;
}

static void
test_bucket_allows_its_rate_and_a_tenth_of_it_at_once(void **state)
{
    (void) state;

    static const struct {
        int per_second, first_second, each_further;
    } cases[] = {
        /* clang-format off */
        {1,      1,     1}, /* At 0; then at 1,000. */
        {20,     21,    20},
        {50,     54,    50},
        {2000,   2198,  2000},
        {100000, 109900, 100000},
        /* clang-format on */
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct slu_http_bucket bucket = {0};
        slu_http_bucket_limit(&bucket, cases[i].per_second, 0);
        assert_int_equal(count_starts(&bucket, 0, 1000), cases[i].first_second);
        assert_int_equal(count_starts(&bucket, 1000, 2000), cases[i].each_further);
    }
}

static void
test_bucket_tells_how_long_to_wait(void **state)
{
    (void) state;
    struct slu_http_bucket bucket = {0};
    slu_http_bucket_limit(&bucket, 4, 1000);
    assert_int_equal(slu_http_bucket_wait_ms(&bucket, 1000), 0);
    slu_http_bucket_take(&bucket);
    assert_int_equal(slu_http_bucket_wait_ms(&bucket, 1000), 250);
    assert_int_equal(slu_http_bucket_wait_ms(&bucket, 1249), 1);
    assert_int_equal(slu_http_bucket_wait_ms(&bucket, 1250), 0);
}

static void
test_bucket_does_not_save_up_over_a_quiet_time(void **state)
{
    (void) state;
    struct slu_http_bucket bucket = {0};
    slu_http_bucket_limit(&bucket, 50, 0);
    assert_int_equal(count_starts(&bucket, 1000000000, 1000000001), 5);
}

static void
test_bucket_without_limit_never_waits(void **state)
{
    (void) state;
    struct slu_http_bucket bucket = {0};
    slu_http_bucket_limit(&bucket, 0, 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(slu_http_bucket_wait_ms(&bucket, 0), 0);
        slu_http_bucket_take(&bucket);
    }
    slu_http_bucket_limit(&bucket, 10, 0); /* A limit set later begins full, and no fuller. */
    assert_int_equal(count_starts(&bucket, 0, 1), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lane_serves_tenants_in_turn_and_each_in_its_order),
        cmocka_unit_test(test_lane_keeps_a_tenants_turn_only_while_it_waits),
        cmocka_unit_test(test_bucket_allows_its_rate_and_a_tenth_of_it_at_once),
        cmocka_unit_test(test_bucket_tells_how_long_to_wait),
        cmocka_unit_test(test_bucket_does_not_save_up_over_a_quiet_time),
        cmocka_unit_test(test_bucket_without_limit_never_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
