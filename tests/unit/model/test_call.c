/* SPDX-License-Identifier: Apache-2.0 */
/* Calls own their texts; outcomes have words. */
#include "slu/base/memory.h"
#include "slu/model/call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
test_a_copy_owns_every_text(void **state)
{
    (void) state;
    struct slu_call *call = slu_alloc(sizeof(*call));
    call->id = 7;
    call->action = SLU_ACTION_CREATE;
    call->provider = slu_strdup("local");
    call->key = slu_strdup("sandbox/a");
    call->external_id = slu_strdup("");
    call->tenant = slu_strdup("t");
    call->project = slu_strdup("p");
    call->session_id = slu_strdup("s");
    call->cluster = slu_strdup("c");
    call->spec = slu_strdup("{}");
    struct slu_call *copy = slu_call_copy(call);
    slu_call_free(call); /* A shared text would now be gone. */

    assert_int_equal(copy->id, 7);
    assert_int_equal(copy->action, SLU_ACTION_CREATE);
    assert_string_equal(copy->provider, "local");
    assert_string_equal(copy->key, "sandbox/a");
    assert_string_equal(copy->external_id, "");
    assert_string_equal(copy->tenant, "t");
    assert_string_equal(copy->project, "p");
    assert_string_equal(copy->session_id, "s");
    assert_string_equal(copy->cluster, "c");
    assert_string_equal(copy->spec, "{}");
    slu_call_free(copy);
}

static void
test_a_call_may_lack_texts(void **state)
{
    (void) state;
    const struct slu_call call = {.id = 1};
    struct slu_call *copy = slu_call_copy(&call);
    assert_null(copy->spec);
    slu_call_free(copy);
    slu_call_free(NULL);
}

static void
test_outcomes_have_words(void **state)
{
    (void) state;
    assert_string_equal(slu_outcome_names[SLU_OUTCOME_DONE], "done");
    assert_string_equal(slu_outcome_names[SLU_OUTCOME_GONE], "gone");
    assert_string_equal(slu_outcome_names[SLU_OUTCOME_BUSY], "busy");
    assert_string_equal(slu_outcome_names[SLU_OUTCOME_NEVER_SENT], "never_sent");
    assert_string_equal(slu_outcome_names[SLU_OUTCOME_AMBIGUOUS], "ambiguous");
    assert_string_equal(slu_outcome_names[SLU_OUTCOME_CAPACITY], "capacity");
    assert_string_equal(slu_outcome_names[SLU_OUTCOME_PERMANENT], "permanent");
    assert_string_equal(slu_outcome_names[SLU_OUTCOME_REJECTED], "rejected");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_copy_owns_every_text),
        cmocka_unit_test(test_a_call_may_lack_texts),
        cmocka_unit_test(test_outcomes_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
