/* SPDX-License-Identifier: Apache-2.0 */
/* A burst of losses slows replacement down and is told; single ones are replaced at once. */
#include "support/engine_rig.h"

static void
make_running(struct rig *rig, int count)
{
    for (int i = 0; i < count; i++) {
        char key[32];
        char document[256];
        snprintf(key, sizeof key, "sandbox/s%d", i);
        snprintf(document, sizeof document,
                 "{\"kind\":\"Sandbox\",\"id\":\"s%d\",\"scope\":{\"tenantId\":\"t\",\"projectId\":"
                 "\"p\"},\"spec\":{\"provider\":\"local\",\"placement\":{\"provider_pool\":"
                 "\"default\"},\"ttlMs\":360000000}}",
                 i);
        rig_publish(rig, key, document);
        char id[16];
        snprintf(id, sizeof id, "i%d", i);
        rig_serve(rig, SLU_ACTION_CREATE, id, SLU_LIFE_RUNNING);
    }
}

/* Loses the first `lost` of them, as routine looks find out; the others are seen running. */
static void
look_at_all(struct rig *rig, int lost)
{
    rig->now_ms += 60000;
    rig_turn(rig);
    for (struct slu_call *call = slu_engine_next_call(rig->engine); call;
         rig_turn(rig), call = slu_engine_next_call(rig->engine)) {
        if (call->action != SLU_ACTION_INSPECT) {
            slu_call_free(call); /* A replacement: counted by its phase. */
            continue;
        }
        const bool gone = strtol(strrchr(call->key, 's') + 1, NULL, 10) < lost;
        struct slu_facts facts = rig_seen(call, call->external_id, SLU_LIFE_RUNNING);
        if (gone)
            facts = rig_facts(call->by_label ? SLU_OUTCOME_DONE : SLU_OUTCOME_GONE);
        rig_answer(rig, call, &facts);
    }
}

static int
count_phase(struct rig *rig, int count, const char *phase)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        char key[32];
        snprintf(key, sizeof key, "sandbox/s%d", i);
        found += strcmp(rig_member(rig, key, "phase"), phase) == 0;
    }
    return found;
}

static bool
was_told(struct rig *rig)
{
    struct slu_note note;
    bool told = false;
    while (slu_engine_next_note(rig->engine, &note))
        told = told || strcmp(note.event, "loss_burst") == 0;
    return told;
}

static int
setup(void **state)
{
    static struct rig rig;
    rig_start(&rig);
    *state = &rig;
    return 0;
}

static int
teardown(void **state)
{
    rig_stop(*state);
    return 0;
}

static void
test_loss_of_nine_is_no_burst(void **state)
{
    struct rig *rig = *state;
    make_running(rig, 12);
    look_at_all(rig, 9);
    assert_int_equal(count_phase(rig, 12, "\"starting\""), 9);
    assert_false(was_told(rig));
}

static void
test_loss_of_ten_in_sixty_is_no_burst(void **state)
{
    struct rig *rig = *state;
    make_running(rig, 60);
    look_at_all(rig, 10);
    assert_int_equal(count_phase(rig, 60, "\"starting\""), 10);
    assert_false(was_told(rig));
}

static void
test_loss_of_many_slows_replacement_down_and_is_told_once(void **state)
{
    struct rig *rig = *state;
    make_running(rig, 30);
    look_at_all(rig, 30);
    assert_int_equal(count_phase(rig, 30, "\"starting\""), 9);
    assert_int_equal(count_phase(rig, 30, "\"lost\""), 21);
    assert_true(was_told(rig));
    rig_wait(rig, 59000);
    assert_int_equal(count_phase(rig, 30, "\"lost\""), 21);
    rig_wait(rig, 30000);
    const int half_way = count_phase(rig, 30, "\"lost\"");
    assert_true(half_way > 0 && half_way < 21); /* Spread, not all at once. */
    rig_wait(rig, 31000);
    assert_int_equal(count_phase(rig, 30, "\"lost\""), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_loss_of_nine_is_no_burst),
        TEST(test_loss_of_ten_in_sixty_is_no_burst),
        TEST(test_loss_of_many_slows_replacement_down_and_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
