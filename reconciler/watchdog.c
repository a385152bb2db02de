/* SPDX-License-Identifier: Apache-2.0 */
#include "watchdog.h"

#include "slu/base/log.h"
#include "slu/base/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum {
    WAKE_UPS_MAX = 10
};

struct slu_watchdog {
    pthread_t thread;
    atomic_llong ticks;
    atomic_bool stop;
};

static void *
watch(void *context)
{
    struct slu_watchdog *watchdog = context;
    long long seen = -1;
    int missed = 0;
    while (!atomic_load(&watchdog->stop)) {
        const struct timespec second = {.tv_sec = 1};
        nanosleep(&second, NULL);
        const long long ticks = atomic_load(&watchdog->ticks);
        missed = ticks == seen ? missed + 1 : 0;
        seen = ticks;
        if (missed == WAKE_UPS_MAX) {
            SLU_LOG(ERROR, "loop_hangs", SLU_INT("seconds", missed));
            abort();
        }
    }
    return NULL;
}

struct slu_watchdog *
slu_watchdog_start(void)
{
    struct slu_watchdog *watchdog = slu_alloc(sizeof(*watchdog));
    if (pthread_create(&watchdog->thread, NULL, watch, watchdog) != 0)
        abort(); /* Without it a hang would keep shards for ever. */
    return watchdog;
}

void
slu_watchdog_tick(struct slu_watchdog *watchdog)
{
    atomic_fetch_add(&watchdog->ticks, 1);
}

void
slu_watchdog_stop(struct slu_watchdog *watchdog)
{
    atomic_store(&watchdog->stop, true);
    pthread_join(watchdog->thread, NULL);
    free(watchdog);
}
