/* SPDX-License-Identifier: Apache-2.0 */
#include "slu/plan/backoff.h"

enum {
    FIRST_MS = 500,
    LAST_MS = 60000,
    SHIFT_MAX = 7, /* 64 s: beyond the cap. */
};

int64_t
slu_backoff_ms(int failures, int64_t retry_after_ms, struct slu_random *random)
{
    int shift = failures - 1;
    if (shift < 0)
        shift = 0;
    if (shift > SHIFT_MAX)
        shift = SHIFT_MAX;
    const int64_t middle_ms = (int64_t) FIRST_MS << shift;
    const int64_t spread_ms = middle_ms / 4;
    int64_t wait_ms =
        middle_ms - spread_ms + (int64_t) slu_random_below(random, (uint64_t) (2 * spread_ms + 1));
    if (wait_ms > LAST_MS)
        wait_ms = LAST_MS;
    return wait_ms > retry_after_ms ? wait_ms : retry_after_ms;
}
