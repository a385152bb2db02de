/* SPDX-License-Identifier: Apache-2.0 */
#include "slu/plan/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void
assert_within(int failures, int64_t low_ms, int64_t high_ms)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct slu_random random = {.state = seed};
        const int64_t wait_ms = slu_backoff_ms(failures, 0, &random);
        if (wait_ms < low_ms || wait_ms > high_ms)
            fail_msg("%d failures: %lld ms, not %lld … %lld", failures, (long long) wait_ms,
                     (long long) low_ms, (long long) high_ms);
    }
}

static void
test_backoff_doubles_from_half_a_second_with_a_quarter_of_jitter(void **state)
{
    (void) state;
    assert_within(1, 375, 625);
    assert_within(2, 750, 1250);
    assert_within(5, 6000, 10000);
}

static void
test_backoff_never_exceeds_a_minute(void **state)
{
    (void) state;
    assert_within(8, 48000, 60000);
    assert_within(1000, 48000, 60000);
}

static void
test_backoff_honours_a_longer_hint(void **state)
{
    (void) state;
    struct slu_random random = {.state = 1};
    assert_int_equal(slu_backoff_ms(1, 90000, &random), 90000);
    assert_true(slu_backoff_ms(1, 10, &random) >= 375);
}

static void
test_backoff_differs_between_waiters(void **state)
{
    (void) state;
    struct slu_random random = {.state = 3};
    const int64_t first_ms = slu_backoff_ms(6, 0, &random);
    int differing = 0;
    for (int i = 0; i < 20; i++)
        differing += slu_backoff_ms(6, 0, &random) != first_ms;
    assert_true(differing > 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backoff_doubles_from_half_a_second_with_a_quarter_of_jitter),
        cmocka_unit_test(test_backoff_never_exceeds_a_minute),
        cmocka_unit_test(test_backoff_honours_a_longer_hint),
        cmocka_unit_test(test_backoff_differs_between_waiters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
