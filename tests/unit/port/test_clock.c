/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks run, and the wall clock is of this century. */
#include "slu/port/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void
test_boottime_never_goes_back(void **state)
{
    (void) state;
    int64_t before = slu_clock_boottime_ms();
    assert_true(before > 0);
    for (int i = 0; i < 1000; i++) {
        const int64_t now = slu_clock_boottime_ms();
        assert_true(now >= before);
        before = now;
    }
}

static void
test_wall_time_is_in_milliseconds_since_1970(void **state)
{
    (void) state;
    const int64_t year_2020_ms = INT64_C(1577836800000);
    const int64_t year_2100_ms = INT64_C(4102444800000);
    const int64_t now = slu_clock_wall_ms();
    assert_true(now > year_2020_ms && now < year_2100_ms);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boottime_never_goes_back),
        cmocka_unit_test(test_wall_time_is_in_milliseconds_since_1970),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
