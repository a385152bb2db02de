/* SPDX-License-Identifier: Apache-2.0 */
/* The table and the heap against plain models of them, under many changes. */
#include "../../../lib/engine/table.h"
#include "slu/base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum {
    ENTITIES = 500,
    STEPS = 20000
};

static struct slu_entity *entities[ENTITIES];

static int
make_entities(void **state)
{
    (void) state;
    for (int i = 0; i < ENTITIES; i++) {
        char key[32];
        const int size = snprintf(key, sizeof key, "sandbox/s%d", i);
        entities[i] = slu_entity_new(key, (size_t) size);
    }
    return 0;
}

static int
free_entities(void **state)
{
    (void) state;
    for (int i = 0; i < ENTITIES; i++)
        slu_entity_free(entities[i]);
    return 0;
}

static struct slu_entity *
find(const struct slu_table *table, int i)
{
    return slu_table_find(table, slu_entity_text(entities[i], SLU_TEXT_KEY),
                          slu_entity_text_size(entities[i], SLU_TEXT_KEY));
}

static void
test_table_finds_exactly_what_is_in_it(void **state)
{
    (void) state;
    struct slu_table table = {0};
    bool in[ENTITIES] = {0};
    size_t count = 0;
    struct slu_random random = {.state = 11};
    assert_null(find(&table, 0));
    for (int step = 0; step < STEPS; step++) {
        const int i = (int) slu_random_below(&random, ENTITIES);
        if (in[i])
            slu_table_remove(&table, entities[i]);
        else
            slu_table_add(&table, entities[i]);
        count += in[i] ? (size_t) -1 : 1;
        in[i] = !in[i];
        assert_int_equal(table.count, count);
        const int other = (int) slu_random_below(&random, ENTITIES);
        assert_ptr_equal(find(&table, other), in[other] ? entities[other] : NULL);
    }
    slu_table_done(&table);
}

static void
test_due_gives_the_earliest_first(void **state)
{
    (void) state;
    struct slu_due due = {0};
    struct slu_random random = {.state = 12};
    for (int step = 0; step < STEPS; step++) {
        const int i = (int) slu_random_below(&random, ENTITIES);
        const bool out = slu_random_below(&random, 4) == 0;
        slu_due_set(&due, entities[i],
                    out ? INT64_MAX : (int64_t) slu_random_below(&random, 100000));
        int64_t earliest_ms = INT64_MAX;
        for (int j = 0; step % 100 == 0 && j < ENTITIES; j++)
            earliest_ms =
                entities[j]->due_at_ms < earliest_ms ? entities[j]->due_at_ms : earliest_ms;
        if (step % 100 == 0 && earliest_ms != INT64_MAX)
            assert_int_equal(slu_due_first(&due)->due_at_ms, earliest_ms);
    }
    int64_t last_ms = 0;
    for (struct slu_entity *first = slu_due_first(&due); first; first = slu_due_first(&due)) {
        assert_true(first->due_at_ms >= last_ms);
        last_ms = first->due_at_ms;
        slu_due_set(&due, first, INT64_MAX);
    }
    slu_due_done(&due);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_finds_exactly_what_is_in_it),
        cmocka_unit_test(test_due_gives_the_earliest_first),
    };
    return cmocka_run_group_tests(tests, make_entities, free_entities);
}
