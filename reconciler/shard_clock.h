/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of one shard (design.md §7): the broker's append time of its last shard record plus
 * BOOTTIME since. Pure: the caller brings both clocks. It never goes back: a broker whose clock is
 * set back leaves it running as before. */
#ifndef SLU_RECONCILER_SHARD_CLOCK_H
#define SLU_RECONCILER_SHARD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SLU_CLOCK_JUMP_MS = 5 * 60 * 1000,   /* The broker's clock is not believed beyond this … */
    SLU_CLOCK_DOUBT_MS = 10 * 60 * 1000, /* … and nothing expires for so long. */
};

struct slu_shard_clock {
    bool set;
    int64_t ahead_ms;       /* Shard time minus BOOTTIME. */
    int64_t doubt_until_ms; /* BOOTTIME. */
};

/* Takes the append time that came back with a delivery report at `done_boottime_ms`. False: it
 * jumped ahead, and is in doubt from now on. */
bool
slu_shard_clock_take(struct slu_shard_clock *clock, int64_t append_ms, int64_t done_boottime_ms);

/* 0 before the first take. */
int64_t slu_shard_clock_now(const struct slu_shard_clock *clock, int64_t boottime_ms);
bool slu_shard_clock_in_doubt(const struct slu_shard_clock *clock, int64_t boottime_ms);

#endif
