/* SPDX-License-Identifier: Apache-2.0 */
#include "../../../host/byte_range.h"
#include "slu/base/macros.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
test_ranges_of_ten_bytes(void **state)
{
    (void) state;

    static const struct {
        const char *header;
        bool good;
        int64_t start, size;
    } cases[] = {
        {NULL, true, 0, 10},
        {"bytes=2-4", true, 2, 3},
        {"bytes=7-", true, 7, 3},
        {"bytes=-3", true, 7, 3},
        {"bytes=0-99", true, 0, 10},
        {"bytes=9-9", true, 9, 1},
        {"bytes=-99", true, 0, 10},
        {"bytes=10-", false, 0, 0},
        {"bytes=10-11", false, 0, 0},
        {"bytes=-0", false, 0, 0},
        {"bytes=4-2", true, 0, 10},
        {"bytes=-", true, 0, 10},
        {"bytes=1-2,4-5", true, 0, 10},
        {"items=1-2", true, 0, 10},
        {"bytes=x", true, 0, 10},
        {"bytes=99999999999999999999-", false, 0, 0},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct slu_byte_range range;
        assert_int_equal(slu_byte_range_parse(cases[i].header, 10, &range), cases[i].good);
        if (!cases[i].good)
            continue;
        assert_int_equal(range.start, cases[i].start);
        assert_int_equal(range.size, cases[i].size);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges_of_ten_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
