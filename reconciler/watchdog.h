/* SPDX-License-Identifier: Apache-2.0 */
/* Aborts the process when its loop hangs: after ten of the watchdog's own one-second wake-ups in a
 * row without a tick. Counting its own wake-ups, not a clock, lets a stopped process survive
 * SIGCONT. */
#ifndef SLU_RECONCILER_WATCHDOG_H
#define SLU_RECONCILER_WATCHDOG_H

struct slu_watchdog;

struct slu_watchdog *slu_watchdog_start(void);
void slu_watchdog_tick(struct slu_watchdog *watchdog); /* By the loop, several times a second. */
void slu_watchdog_stop(struct slu_watchdog *watchdog);

#endif
