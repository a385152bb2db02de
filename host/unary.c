/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to inits that end with DONE, FAILED or a file. */
#include "unary.h"

#include "connect_frame.h"
#include "init_call.h"
#include "slu/base/memory.h"

#include <unistd.h>

enum {
    ANSWER_MS_MAX = 5 * 60 * 1000 /* A large file to copy under a CPU limit takes its time. */
};

static int64_t
monotonic_ms(void)
{
    return (int64_t) (uv_hrtime() / 1000000);
}

static void
end(struct slu_host_unary *unary)
{
    struct slu_host *host = unary->request->host;
    struct slu_host_unary **link = &host->unaries;
    while (*link != unary)
        link = &(*link)->next;
    *link = unary->next;

    slu_init_call_close(unary->call);
    if (unary->descriptor >= 0)
        close(unary->descriptor);
    json_decref(unary->result);
    slu_free_ptr(&unary);
}

static void
on_message(void *context, struct slu_init_call *call, struct slu_init_reader reader)
{
    struct slu_host_unary *unary = context;
    const int descriptor = slu_init_call_take_descriptor(call);
    if (descriptor >= 0) {
        if (unary->descriptor >= 0)
            close(unary->descriptor);
        unary->descriptor = descriptor;
    }

    if (reader.type == SLU_INIT_FAILED) {
        SLU_AUTO_FREE char *code = slu_init_text(reader, SLU_INIT_F_CODE);
        SLU_AUTO_FREE char *text = slu_init_text(reader, SLU_INIT_F_TEXT);
        unary->ops->failed(unary, code ? code : "internal", text ? text : "");
        end(unary);
        return;
    }
    if (reader.type != SLU_INIT_DONE && unary->ops->message)
        unary->ops->message(unary, reader);
    if (reader.type == SLU_INIT_DONE || reader.type == SLU_INIT_FILE) {
        unary->ops->done(unary);
        end(unary);
    }
}

static void
on_closed(void *context, struct slu_init_call *call)
{
    (void) call;
    struct slu_host_unary *unary = context;
    unary->ops->failed(unary, "unavailable", "the sandbox ended, or its worker was killed");
    end(unary);
}

void
slu_host_unary_ask(struct slu_host_request *request,
                   struct slu_host_sandbox *sandbox,
                   const struct slu_buffer *to_init,
                   int descriptor,
                   const struct slu_host_unary_ops *ops,
                   void *context)
{
    static const struct slu_init_call_events events = {.message = on_message, .closed = on_closed};
    struct slu_host *host = request->host;
    struct slu_error error;
    char folder[1200];

    struct slu_host_unary *unary = slu_alloc(sizeof(*unary));
    unary->request = request;
    unary->descriptor = -1;
    unary->ops = ops;
    unary->context = context;
    unary->deadline_ms = monotonic_ms() + ANSWER_MS_MAX;
    slu_host_sandbox_folder(&host->sandboxes, sandbox->id, folder);
    unary->call =
        slu_init_call_open(&host->loop, folder, to_init, descriptor, &events, unary, &error);
    if (!unary->call) {
        ops->failed(unary, "unavailable", error.message);
        slu_free_ptr(&unary);
        return;
    }
    unary->next = host->unaries;
    host->unaries = unary;
}

int
slu_host_unary_take_descriptor(struct slu_host_unary *unary)
{
    const int taken = unary->descriptor;
    unary->descriptor = -1;
    return taken;
}

void
slu_host_unary_tick(struct slu_host *host)
{
    const int64_t now_ms = monotonic_ms();
    for (struct slu_host_unary *unary = host->unaries; unary;) {
        struct slu_host_unary *next = unary->next;
        if (unary->deadline_ms <= now_ms) {
            unary->ops->failed(unary, "deadline_exceeded", "the sandbox did not answer in time");
            end(unary);
        }
        unary = next;
    }
}

void
slu_host_respond_connect_error(struct slu_host_request *request,
                               const char *code,
                               const char *message)
{
    json_t *text = json_string(message);
    slu_host_respond_json(request, slu_connect_status(code),
                          json_pack("{s:s, s:o}", "code", code, "message",
                                    text ? text : json_string("the message is no valid UTF-8")));
}

void
slu_host_unary_failed_connect(struct slu_host_unary *unary, const char *code, const char *message)
{
    slu_host_respond_connect_error(unary->request, code, message);
}

void
slu_host_unary_done_empty(struct slu_host_unary *unary)
{
    slu_host_respond_json(unary->request, 200, json_object());
}
