/* SPDX-License-Identifier: Apache-2.0 */
/* The generator: splitmix64's published numbers, and limits that are kept evenly. */
#include "slu/base/macros.h"
#include "slu/base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void
test_random_gives_the_published_numbers_of_splitmix64(void **state)
{
    (void) state;
    static const uint64_t expected[] = {
        6457827717110365317U, 3203168211198807973U,  9817491932198370423U,
        4593380528125082431U, 16408922859458223821U,
    };
    struct slu_random random = {.state = 1234567};
    for (size_t i = 0; i < SLU_COUNT(expected); i++)
        assert_true(slu_random_next(&random) == expected[i]);
}

static void
test_random_below_stays_below_and_reaches_everything(void **state)
{
    (void) state;
    struct slu_random random = {.state = 1};
    int seen[7] = {0};
    for (int i = 0; i < 7000; i++) {
        const uint64_t drawn = slu_random_below(&random, 7);
        assert_true(drawn < 7);
        seen[drawn]++;
    }
    for (size_t i = 0; i < SLU_COUNT(seen); i++)
        assert_in_range(seen[i], 800, 1200);
    assert_int_equal(slu_random_below(&random, 1), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_gives_the_published_numbers_of_splitmix64),
        cmocka_unit_test(test_random_below_stays_below_and_reaches_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
