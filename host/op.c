/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of operations of each sandbox. */
#include "op.h"

#include "slu/base/memory.h"

#include <stdlib.h>

static void run_next(struct slu_host_sandbox *sandbox);

static void
free_op(struct slu_host_op *op)
{
    free(op->record);
    free(op->promise);
    slu_buffer_done(&op->go);
    slu_host_past_key_free(op->past_key);
    slu_free_ptr(&op);
}

/* Takes the first operation, which has ended, off the queue. */
static void // NOLINTNEXTLINE(misc-no-recursion): as long as the queue of one sandbox.
pop(struct slu_host_op *op)
{
    struct slu_host_sandbox *sandbox = op->sandbox;
    sandbox->first_op = op->next;
    if (!sandbox->first_op)
        sandbox->last_op = NULL;
    free_op(op);
    run_next(sandbox);
}

static void
work(uv_work_t *handle)
{
    struct slu_host_op *op = handle->data;
    op->work(op);
}

static void
after_work(uv_work_t *handle, int cancelled)
{
    (void) cancelled;
    struct slu_host_op *op = handle->data;
    op->host->ops_running--;
    op->finish(op);
    pop(op);
}

static void // NOLINTNEXTLINE(misc-no-recursion): as above.
run_next(struct slu_host_sandbox *sandbox)
{
    struct slu_host_op *op = sandbox->first_op;
    if (!op) {
        slu_host_sandbox_idle(sandbox);
        return;
    }
    if (!op->begin(op)) {
        pop(op);
        return;
    }
    op->host->ops_running++;
    op->handle.data = op;
    uv_queue_work(&op->host->loop, &op->handle, work, after_work);
}

void
slu_host_op_push(const struct slu_host_op *op)
{
    struct slu_host_op *copy = slu_memdup(op, sizeof(*op));
    struct slu_host_sandbox *sandbox = copy->sandbox;
    copy->next = NULL;
    if (sandbox->last_op) {
        sandbox->last_op->next = copy;
        sandbox->last_op = copy;
        return;
    }
    sandbox->first_op = sandbox->last_op = copy;
    run_next(sandbox);
}
