/* SPDX-License-Identifier: Apache-2.0 */
/* How long to wait after failures in a row (behaviour.md 8a): 0.5 s × 2ⁿ ± 25 %, at most 60 s. */
#ifndef SLU_PLAN_BACKOFF_H
#define SLU_PLAN_BACKOFF_H

#include "slu/base/random.h"

#include <stdint.h>

/* `failures` ≥ 1. Never shorter than `retry_after_ms`, the far side's own hint (0: none). */
int64_t slu_backoff_ms(int failures, int64_t retry_after_ms, struct slu_random *random);

#endif
