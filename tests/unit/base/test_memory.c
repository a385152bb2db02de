/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is there: zeroed, copied, given back. */
#include "slu/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
test_alloc_gives_zeroed_memory_even_for_nothing(void **state)
{
    (void) state;
    static const char zeros[64];
    SLU_AUTO_FREE char *memory = slu_alloc(sizeof(zeros));
    SLU_AUTO_FREE char *nothing = slu_alloc(0);
    assert_memory_equal(memory, zeros, sizeof(zeros));
    assert_non_null(nothing);
}

static void
test_realloc_keeps_what_was_there(void **state)
{
    (void) state;
    SLU_AUTO_FREE char *memory = slu_strdup("abc");
    memory = slu_realloc(memory, 4096);
    assert_string_equal(memory, "abc");
}

static void
test_memdup_puts_a_nul_behind_the_bytes(void **state)
{
    (void) state;
    SLU_AUTO_FREE char *copy = slu_memdup("abcdef", 3);
    SLU_AUTO_FREE char *empty = slu_memdup(NULL, 0);
    assert_string_equal(copy, "abc");
    assert_string_equal(empty, "");
}

static void
test_free_ptr_disarms_the_variable(void **state)
{
    (void) state;
    char *text = slu_strdup("x");
    slu_free_ptr((void *) &text);
    assert_null(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc_gives_zeroed_memory_even_for_nothing),
        cmocka_unit_test(test_realloc_keeps_what_was_there),
        cmocka_unit_test(test_memdup_puts_a_nul_behind_the_bytes),
        cmocka_unit_test(test_free_ptr_disarms_the_variable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
