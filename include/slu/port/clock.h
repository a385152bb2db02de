/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks. Deadlines use CLOCK_BOOTTIME (counts suspend, never jumps); the wall clock is only
 * printed (design.md §7). */
#ifndef SLU_PORT_CLOCK_H
#define SLU_PORT_CLOCK_H

#include <stdint.h>

int64_t slu_clock_boottime_ms(void);
int64_t slu_clock_wall_ms(void); /* For people only. */

#endif
