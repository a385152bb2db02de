/* SPDX-License-Identifier: Apache-2.0 */
/* The two clocks of this machine. */
#include "slu/port/clock.h"

#include <assert.h>
#include <time.h>

static int64_t
read_ms(clockid_t clock)
{
    struct timespec now;
    const int failed = clock_gettime(clock, &now);
    assert(!failed); /* Both clocks exist on every Linux. */
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t
slu_clock_boottime_ms(void)
{
    return read_ms(CLOCK_BOOTTIME);
}

int64_t
slu_clock_wall_ms(void)
{
    return read_ms(CLOCK_REALTIME);
}
