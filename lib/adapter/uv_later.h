/* SPDX-License-Identifier: Apache-2.0 */
/* Calls made in the next turn of a libuv loop: how an adapter keeps "never inside the call that
 * asked for it". What is added while the calls run waits for the turn after, so that I/O always
 * gets its chance in between. */
#ifndef SLU_ADAPTER_UV_LATER_H
#define SLU_ADAPTER_UV_LATER_H

#include <uv.h>

#include <stdbool.h>
#include <sys/queue.h>

/* Embedded in what the call is about; must stay where it is until `run` was called. */
struct slu_later_call {
    STAILQ_ENTRY(slu_later_call) next;
    void (*run)(void *context);
    void *context;
};

struct slu_later {
    uv_idle_t idle;
    STAILQ_HEAD(slu_later_list, slu_later_call) calls;
    void (*closed)(void *context);
    void *closed_context;
};

void slu_later_init(struct slu_later *later, uv_loop_t *loop);
void slu_later_add(struct slu_later *later,
                   struct slu_later_call *call,
                   void (*run)(void *context),
                   void *context);

/* `closed` comes in a later turn, once no call waits any more. */
void slu_later_close(struct slu_later *later, void (*closed)(void *context), void *context);

#endif
