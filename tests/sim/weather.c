/* SPDX-License-Identifier: Apache-2.0 */
/* How bad it gets: a seed draws one of these kinds of weather and bends its numbers a little. Per
 * thousand occasions. */
#include "slu/base/macros.h"
#include "world.h"

static const struct sim_weather weathers[] = {
    {.name = "fair", .honours_keys = true, .fences = true, .auto_pause = true},
    {.name = "crash at one effect", .honours_keys = true, .fences = true},
    {.name = "log",
     .commit_aborted = 60,
     .commit_unclear = 60,
     .broker_slow = 20,
     .upstream_txn = 60,
     .claim_fails = 200,
     .flap = 150,
     .wrong_partition = 150,
     .duplicate = 150,
     .bad_input = 100,
     .compact_desired = true,
     .honours_keys = true,
     .fences = true},
    {.name = "provider",
     .request_lost = 60,
     .answer_lost = 60,
     .answer_slow = 80,
     .refused_429 = 40,
     .error_5xx = 60,
     .busy = 60,
     .never_sent = 30,
     .list_cut = 100,
     .list_repeats = 100,
     .false_gone = 60,
     .dies = 200,
     .pauses_itself = 200,
     .resumes_itself = 200,
     .outage = 60,
     .init_fails = 200,
     .transitional = 300,
     .list_lag_ms = 800,
     .honours_keys = true},
    {.name = "replicas",
     .effect_crash = 3,
     .crash = 120,
     .stop = 150,
     .flap = 100,
     .claim_fails = 100,
     .broker_slow = 5,
     .answer_slow = 50,
     .honours_keys = true},
    {.name = "storm",
     .commit_aborted = 30,
     .commit_unclear = 30,
     .broker_slow = 10,
     .upstream_txn = 30,
     .effect_crash = 2,
     .crash = 60,
     .stop = 80,
     .flap = 80,
     .claim_fails = 100,
     .request_lost = 40,
     .answer_lost = 40,
     .answer_slow = 50,
     .refused_429 = 30,
     .error_5xx = 40,
     .busy = 40,
     .never_sent = 20,
     .list_cut = 50,
     .list_repeats = 50,
     .false_gone = 30,
     .dies = 100,
     .pauses_itself = 100,
     .resumes_itself = 100,
     .resurrects = 60,
     .outage = 40,
     .init_fails = 100,
     .transitional = 200,
     .list_lag_ms = 500,
     .wrong_partition = 60,
     .duplicate = 80,
     .bad_input = 60,
     .compact_desired = true,
     .honours_keys = true},
    {.name = "no keys",
     .answer_lost = 100,
     .error_5xx = 60,
     .crash = 80,
     .effect_crash = 2,
     .stop = 80,
     .answer_slow = 60},
};

void
sim_weather_choose(struct sim_world *world)
{
    struct sim_weather *weather = &world->weather;
    *weather = weathers[world->seed % SLU_COUNT(weathers)];
    if (weather->crash_at_effect == 0 && world->seed % SLU_COUNT(weathers) == 1)
        weather->crash_at_effect = 1 + (int64_t) (world->seed / SLU_COUNT(weathers) % 400);
    if (sim_chance(world, 300))
        weather->fences = true;
    weather->auto_pause |= sim_chance(world, 500);
    weather->compact_desired &= sim_chance(world, 500);
}
