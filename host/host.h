/* SPDX-License-Identifier: Apache-2.0 */
/* The whole program's state, one of which main makes and hands to every module. */
#ifndef SLU_HOST_HOST_H
#define SLU_HOST_HOST_H

#include "config.h"
#include "fence.h"
#include "idempotency.h"
#include "metrics.h"
#include "sandbox.h"
#include "spawn.h"

#include <uv.h>

#include <stdbool.h>
#include <stdint.h>

struct slu_host_server;
struct slu_host_stream;
struct slu_host_unary;

enum {
    SLU_HOST_KEYS_MAX = 64
};

struct slu_host {
    struct slu_host_config config;
    uv_loop_t loop;
    struct slu_spawner spawner;
    struct slu_host_sandboxes sandboxes;
    struct slu_host_fences fences;
    struct slu_host_idempotency idempotency;
    struct slu_host_metrics metrics;
    struct slu_host_server *server;
    struct slu_host_stream *streams;
    struct slu_host_unary *unaries;
    char api_key_hashes[SLU_HOST_KEYS_MAX][65];
    int api_key_count;
    int ops_running; /* Jobs in the thread pool; a stop waits for them. */
    bool stopping;
    uv_signal_t interrupt;
    uv_signal_t terminate;
    uv_timer_t tick;
    uv_timer_t idle_check;
    int64_t ticks;
    int64_t stopping_ms;
};

int64_t slu_host_now_ms(void); /* The wall clock: end times outlive the machine's uptime. */

#endif
