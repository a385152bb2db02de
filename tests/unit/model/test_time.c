/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 3339 times (contract-map N7). */
#include "slu/base/macros.h"
#include "slu/model/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

static void
test_times_are_written_in_utc_with_milliseconds(void **state)
{
    (void) state;

    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {1796006712000, "2026-11-30T02:45:12.000Z"},
        {1709251199999, "2024-02-29T23:59:59.999Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {-62167219200000, "0000-01-01T00:00:00.000Z"},
        {-62162121600000, "0000-02-29T00:00:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        char text[SLU_TIME_TEXT_SIZE];
        slu_time_write(cases[i].ms, text);
        assert_string_equal(text, cases[i].text);
        int64_t ms;
        assert_true(slu_time_read(text, &ms));
        assert_true(ms == cases[i].ms);
    }
}

/* Every day of 1600 to 2399, two whole turns of the calendar, each at another moment. */
static void
test_every_day_is_written_as_the_c_library_reckons_it(void **state)
{
    (void) state;
    const int64_t day_ms = INT64_C(24) * 3600 * 1000;
    const int64_t first = -135140; /* 1600-01-01 */
    const int64_t last = 157053;   /* 2399-12-31 */
    for (int64_t day = first; day <= last; day++) {
        const int64_t in_day_ms = (day - first) * INT64_C(7919 * 1009) % day_ms;
        const time_t seconds = (time_t) (day * day_ms / 1000 + in_day_ms / 1000);
        struct tm parts;
        assert_non_null(gmtime_r(&seconds, &parts));
        char date[SLU_TIME_TEXT_SIZE], text[SLU_TIME_TEXT_SIZE], ours[SLU_TIME_TEXT_SIZE];
        assert_int_equal(strftime(date, sizeof(date), "-%m-%dT%H:%M:%S", &parts), 15);
        (void) snprintf(text, sizeof(text), "%04d%s.%03dZ", parts.tm_year + 1900, date,
                        (int) (in_day_ms % 1000));
        slu_time_write(day * day_ms + in_day_ms, ours);
        assert_string_equal(ours, text);
    }
}

static void
test_times_of_others_are_read(void **state)
{
    (void) state;

    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"2026-11-30T02:45:12Z", 1796006712000},
        {"2026-11-30t02:45:12z", 1796006712000},
        {"2026-11-30 02:45:12.5Z", 1796006712500},
        {"2026-11-30T02:45:12.123456789Z", 1796006712123},
        {"2026-11-30T02:45:12.123456+05:30", 1795986912123},
        {"2026-11-29T21:45:12-05:00", 1796006712000},
        {"2024-02-29T00:00:00Z", 1709164800000},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        int64_t ms;
        if (!slu_time_read(cases[i].text, &ms))
            fail_msg("%s is not read", cases[i].text);
        assert_true(ms == cases[i].ms);
    }
}

static void
test_what_is_no_time_is_refused(void **state)
{
    (void) state;
    static const char *const cases[] = {
        "",
        "now",
        "2026-11-30",
        "2026-11-30T02:45:12",
        "2026-11-30T02:45Z",
        "2026-11-30T02:45:12.Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-11-31T00:00:00Z",
        "2026-11-30T24:00:00Z",
        "2026-11-30T00:60:00Z",
        "2026-11-30T00:00:61Z",
        "2026-11-30T00:00:00+24:00",
        "2026-11-30T00:00:00+0100",
        "2026-11-30T00:00:00Zx",
        "26-11-30T00:00:00Z",
    };
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        int64_t ms;
        if (slu_time_read(cases[i], &ms))
            fail_msg("%s is read", cases[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_are_written_in_utc_with_milliseconds),
        cmocka_unit_test(test_every_day_is_written_as_the_c_library_reckons_it),
        cmocka_unit_test(test_times_of_others_are_read),
        cmocka_unit_test(test_what_is_no_time_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
