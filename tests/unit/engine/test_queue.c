/* SPDX-License-Identifier: Apache-2.0 */
#include "../../../lib/engine/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void
test_queue_gives_back_in_order_while_it_grows_and_wraps(void **state)
{
    (void) state;
    struct slu_queue queue = {0};
    int next_in = 0;
    int next_out = 0;
    int item = 0;
    assert_false(slu_queue_take(&queue, &item));
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < round % 7 + 1; i++, next_in++)
            slu_queue_push(&queue, &next_in, sizeof next_in);
        for (int i = 0; i < round % 5 && slu_queue_take(&queue, &item); i++)
            assert_int_equal(item, next_out++);
    }
    while (slu_queue_take(&queue, &item))
        assert_int_equal(item, next_out++);
    assert_int_equal(next_out, next_in);
    assert_null(slu_queue_peek(&queue));
    slu_queue_done(&queue);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_gives_back_in_order_while_it_grows_and_wraps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
