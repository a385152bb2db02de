/* SPDX-License-Identifier: Apache-2.0 */
/* The policy table against behaviour.md §2, and the guards above it. */
#include "slu/base/macros.h"
#include "slu/plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
    NOW = 1000000,
    RESYNC = 60000
};

/* The table of behaviour.md §2, row by row, as it is written there. */
#define EXPECT(goal, life, action)                            \
    {                                                         \
        SLU_GOAL_##goal, SLU_LIFE_##life, SLU_ACTION_##action \
    }

static const struct {
    enum slu_goal goal;
    enum slu_life life;
    enum slu_action action;
} policy[] = {
    EXPECT(RUNNING, UNKNOWN, INSPECT),  EXPECT(RUNNING, ABSENT, CREATE),
    EXPECT(RUNNING, RUNNING, NONE),     EXPECT(RUNNING, PAUSED, RESUME),
    EXPECT(RUNNING, STARTING, INSPECT), EXPECT(RUNNING, PAUSING, INSPECT),
    EXPECT(RUNNING, RESUMING, INSPECT), EXPECT(RUNNING, STOPPING, INSPECT),
    EXPECT(RUNNING, GONE, CREATE),      EXPECT(RUNNING, FAILED, DELETE),
    EXPECT(PAUSED, UNKNOWN, INSPECT),   EXPECT(PAUSED, ABSENT, NONE),
    EXPECT(PAUSED, RUNNING, PAUSE),     EXPECT(PAUSED, PAUSED, NONE),
    EXPECT(PAUSED, STARTING, INSPECT),  EXPECT(PAUSED, PAUSING, INSPECT),
    EXPECT(PAUSED, RESUMING, INSPECT),  EXPECT(PAUSED, STOPPING, INSPECT),
    EXPECT(PAUSED, GONE, NONE),         EXPECT(PAUSED, FAILED, DELETE),
    EXPECT(GONE, UNKNOWN, INSPECT),     EXPECT(GONE, ABSENT, NONE),
    EXPECT(GONE, RUNNING, DELETE),      EXPECT(GONE, PAUSED, DELETE),
    EXPECT(GONE, STARTING, DELETE),     EXPECT(GONE, PAUSING, DELETE),
    EXPECT(GONE, RESUMING, DELETE),     EXPECT(GONE, STOPPING, DELETE),
    EXPECT(GONE, GONE, NONE),           EXPECT(GONE, FAILED, DELETE),
};

static struct slu_situation
seen_long_enough_ago(enum slu_goal goal, enum slu_life life)
{
    return (struct slu_situation){
        .goal = goal, .life = life, .seen_at_ms = NOW - SLU_POLL_MS, .resync_ms = RESYNC};
}

static void
test_plan_follows_the_policy_for_every_goal_and_life(void **state)
{
    (void) state;
    assert_int_equal(SLU_COUNT(policy), SLU_GOAL_COUNT * SLU_LIFE_COUNT);
    for (size_t i = 0; i < SLU_COUNT(policy); i++) {
        const struct slu_situation situation = seen_long_enough_ago(policy[i].goal, policy[i].life);
        const struct slu_plan plan = slu_plan_next(&situation, NOW);
        if (plan.action != policy[i].action)
            fail_msg("goal %s, life %s: planned %s, because %s", slu_goal_names[policy[i].goal],
                     slu_life_names[policy[i].life], slu_action_names[plan.action], plan.reason);
    }
}

static void
test_plan_never_makes_wakes_or_removes_the_unknown(void **state)
{
    (void) state;
    for (int goal = 0; goal < SLU_GOAL_COUNT; goal++) {
        const struct slu_situation situation =
            seen_long_enough_ago((enum slu_goal) goal, SLU_LIFE_UNKNOWN);
        assert_int_equal(slu_plan_next(&situation, NOW).action, SLU_ACTION_INSPECT);
    }
}

/* The goal is RUNNING, and `life` was seen just now unless a case says otherwise. */
#define CASE(name, expected, at, seen, ...)                           \
    {                                                                 \
        name, SLU_ACTION_##expected, at,                              \
        {                                                             \
            .life = SLU_LIFE_##seen, .resync_ms = RESYNC, __VA_ARGS__ \
        }                                                             \
    }

static const struct {
    const char *name;
    enum slu_action action;
    int64_t look_again_at_ms;
    struct slu_situation situation;
} guards[] = {
    CASE("one call at a time", NONE, INT64_MAX, PAUSED, .call_in_flight = true),
    CASE("parked: wait", NONE, NOW + 5, PAUSED, .parked_until_ms = NOW + 5),
    CASE("parked until now: go on", RESUME, INT64_MAX, PAUSED, .parked_until_ms = NOW),
    CASE("backing off: wait", NONE, NOW + 1, PAUSED, .retry_at_ms = NOW + 1),
    CASE("backed off: go on", RESUME, INT64_MAX, PAUSED, .retry_at_ms = NOW),
    CASE("held: nothing is woken", NONE, INT64_MAX, PAUSED, .held = true),
    CASE("held: nothing is made", NONE, INT64_MAX, ABSENT, .held = true),
    CASE("held: deleting goes on", DELETE, INT64_MAX, PAUSED, .held = true, .goal = SLU_GOAL_GONE),
    CASE("running and not initialised", INIT, INT64_MAX, RUNNING, .init_due = true),
    CASE("as wanted: look at the resync", NONE, NOW + RESYNC, RUNNING, .goal = SLU_GOAL_RUNNING),
    CASE("last seen a resync ago", INSPECT, INT64_MAX, RUNNING, .seen_at_ms = NOW - RESYNC),
    CASE("on its way: look in a while", NONE, NOW + SLU_POLL_MS, RESUMING, .held = false),
    CASE("nothing to look at", NONE, INT64_MAX, GONE, .goal = SLU_GOAL_GONE, .seen_at_ms = 1),
};

static void
test_plan_guards_stand_above_the_policy(void **state)
{
    (void) state;
    for (size_t i = 0; i < SLU_COUNT(guards); i++) {
        struct slu_situation situation = guards[i].situation;
        if (!situation.seen_at_ms)
            situation.seen_at_ms = NOW;
        const struct slu_plan plan = slu_plan_next(&situation, NOW);
        if (plan.action != guards[i].action || plan.look_again_at_ms != guards[i].look_again_at_ms)
            fail_msg("%s: planned %s until %lld, because %s", guards[i].name,
                     slu_action_names[plan.action], (long long) plan.look_again_at_ms, plan.reason);
    }
}

static void
test_plan_marks_only_the_routine_look_as_resync(void **state)
{
    (void) state;
    struct slu_situation situation = seen_long_enough_ago(SLU_GOAL_RUNNING, SLU_LIFE_RUNNING);
    situation.seen_at_ms = NOW - RESYNC;
    assert_true(slu_plan_next(&situation, NOW).resync);
    situation.life = SLU_LIFE_UNKNOWN;
    assert_false(slu_plan_next(&situation, NOW).resync);
}

#define GOAL(name, expected, ...)  \
    {                              \
        name, SLU_GOAL_##expected, \
        {                          \
            __VA_ARGS__            \
        }                          \
    }

static const struct {
    const char *name;
    enum slu_goal goal;
    struct slu_goal_facts facts;
} goals[] = {
    GOAL("wished running", RUNNING, .auto_start = true),
    GOAL("wished paused", PAUSED, .wish = SLU_WISH_PAUSED, .auto_start = true),
    GOAL("stopped", GONE, .wish = SLU_WISH_STOPPED, .auto_start = true),
    GOAL("deleted", GONE, .wish = SLU_WISH_DELETED, .auto_start = true),
    GOAL("expired beats any wish", GONE, .expired = true, .auto_start = true),
    GOAL("idle", PAUSED, .idle = true, .auto_start = true),
    GOAL("lazy, not used yet", PAUSED, .auto_start = false),
    GOAL("lazy, used once", RUNNING, .auto_start = false, .started = true),
    GOAL("paused by wish, used, not to be woken", PAUSED, .wish = SLU_WISH_PAUSED, .active = true),
    GOAL("paused by wish, resumed on use",
         RUNNING,
         .wish = SLU_WISH_PAUSED,
         .active = true,
         .resume_on_use = true),
    GOAL("paused by wish, use is over", PAUSED, .wish = SLU_WISH_PAUSED, .resume_on_use = true),
};

static void
test_goal_bends_the_wish(void **state)
{
    (void) state;
    for (size_t i = 0; i < SLU_COUNT(goals); i++) {
        if (slu_goal_of(&goals[i].facts) != goals[i].goal)
            fail_msg("%s: %s", goals[i].name, slu_goal_names[slu_goal_of(&goals[i].facts)]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_follows_the_policy_for_every_goal_and_life),
        cmocka_unit_test(test_plan_never_makes_wakes_or_removes_the_unknown),
        cmocka_unit_test(test_plan_guards_stand_above_the_policy),
        cmocka_unit_test(test_plan_marks_only_the_routine_look_as_resync),
        cmocka_unit_test(test_goal_bends_the_wish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
