/* SPDX-License-Identifier: Apache-2.0 */
/* A seeded generator (splitmix64): the same seed gives the same numbers on every machine. */
#ifndef SLU_BASE_RANDOM_H
#define SLU_BASE_RANDOM_H

#include <stdint.h>

struct slu_random {
    uint64_t state;
};

uint64_t slu_random_next(struct slu_random *random);
uint64_t slu_random_below(struct slu_random *random, uint64_t limit); /* 0 … limit−1; limit > 0. */

#endif
