/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the init of a sandbox and the messages it answers, on the loop. */
#ifndef SLU_HOST_INIT_CALL_H
#define SLU_HOST_INIT_CALL_H

#include "init_wire.h"
#include "slu/base/status.h"

#include <uv.h>

#include <stdbool.h>

struct slu_init_call;

struct slu_init_call_events {
    /* A message came. May end the call with slu_init_call_close. */
    void (*message)(void *context, struct slu_init_call *call, struct slu_init_reader reader);
    /* The far side is gone, or never was there; the call is closed by the callee of this. */
    void (*closed)(void *context, struct slu_init_call *call);
};

/* `request` is copied; `descriptor` (−1: none) goes along and stays the caller's. NULL when the
 * sandbox cannot be reached; then nothing is called. */
struct slu_init_call *slu_init_call_open(uv_loop_t *loop,
                                         const char *folder,
                                         const struct slu_buffer *request,
                                         int descriptor,
                                         const struct slu_init_call_events *events,
                                         void *context,
                                         struct slu_error *reterr);

/* Stops or goes on reading: what waits then waits at the init, and so does its process. */
void slu_init_call_read(struct slu_init_call *call, bool reading);

/* The descriptor that came with the last messages, now the caller's; −1 without one. */
int slu_init_call_take_descriptor(struct slu_init_call *call);

/* After this nothing is called any more. */
void slu_init_call_close(struct slu_init_call *call);

#endif
