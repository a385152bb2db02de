/* SPDX-License-Identifier: Apache-2.0 */
#include "shard_clock.h"

bool
slu_shard_clock_take(struct slu_shard_clock *clock, int64_t append_ms, int64_t done_boottime_ms)
{
    /* The report came after the append, so this is at most what is true: the largest is nearest. */
    const int64_t ahead_ms = append_ms - done_boottime_ms;
    const bool jumped = clock->set && ahead_ms - clock->ahead_ms > SLU_CLOCK_JUMP_MS;
    if (jumped)
        clock->doubt_until_ms = done_boottime_ms + SLU_CLOCK_DOUBT_MS;
    if (!clock->set || ahead_ms > clock->ahead_ms)
        clock->ahead_ms = ahead_ms;
    clock->set = true;
    return !jumped;
}

int64_t
slu_shard_clock_now(const struct slu_shard_clock *clock, int64_t boottime_ms)
{
    return clock->set ? boottime_ms + clock->ahead_ms : 0;
}

bool
slu_shard_clock_in_doubt(const struct slu_shard_clock *clock, int64_t boottime_ms)
{
    return boottime_ms < clock->doubt_until_ms;
}
