/* SPDX-License-Identifier: Apache-2.0 */
/* splitmix64: one word of state, every seed is good, equal on every machine. */
#include "slu/base/random.h"

#include <assert.h>

uint64_t
slu_random_next(struct slu_random *random)
{
    random->state += 0x9e3779b97f4a7c15U;
    uint64_t mixed = random->state;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
}

uint64_t
slu_random_below(struct slu_random *random, uint64_t limit)
{
    assert(limit > 0);

    /* Numbers below 2^64 mod limit would come up once too often: drawn again. */
    const uint64_t uneven = -limit % limit;
    uint64_t drawn;
    do
        drawn = slu_random_next(random);
    while (drawn < uneven);
    return drawn % limit;
}
