/* SPDX-License-Identifier: Apache-2.0 */
#include "uv_later.h"

static void
run_all(struct slu_later *later)
{
    struct slu_later_list calls = STAILQ_HEAD_INITIALIZER(calls);
    STAILQ_CONCAT(&calls, &later->calls);
    struct slu_later_call *call;
    while ((call = STAILQ_FIRST(&calls))) {
        STAILQ_REMOVE_HEAD(&calls, next);
        call->run(call->context);
    }
}

static void
tell_closed(uv_handle_t *idle)
{
    struct slu_later *later = idle->data;
    later->closed(later->closed_context);
}

/* An active idle handle keeps the loop from sleeping, so it is one only while calls wait. */
static void
take_turn(uv_idle_t *idle)
{
    struct slu_later *later = idle->data;
    run_all(later);
    if (!STAILQ_EMPTY(&later->calls))
        return;
    uv_idle_stop(idle);
    if (later->closed)
        uv_close((uv_handle_t *) idle, tell_closed);
}

void
slu_later_init(struct slu_later *later, uv_loop_t *loop)
{
    *later = (struct slu_later){0};
    STAILQ_INIT(&later->calls);
    uv_idle_init(loop, &later->idle);
    later->idle.data = later;
}

void
slu_later_add(struct slu_later *later,
              struct slu_later_call *call,
              void (*run)(void *context),
              void *context)
{
    call->run = run;
    call->context = context;
    STAILQ_INSERT_TAIL(&later->calls, call, next);
    if (!uv_is_active((uv_handle_t *) &later->idle))
        uv_idle_start(&later->idle, take_turn);
}

void
slu_later_close(struct slu_later *later, void (*closed)(void *context), void *context)
{
    later->closed = closed;
    later->closed_context = context;
    if (!uv_is_active((uv_handle_t *) &later->idle))
        uv_idle_start(&later->idle, take_turn);
}
