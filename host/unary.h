/* SPDX-License-Identifier: Apache-2.0 */
/* One question to the init, one answer to the client. */
#ifndef SLU_HOST_UNARY_H
#define SLU_HOST_UNARY_H

#include "init_wire.h"
#include "server.h"

struct slu_host_unary {
    struct slu_host_request *request;
    struct slu_init_call *call;
    json_t *result; /* Of the route's own; freed at the end. */
    int descriptor; /* That came with a message, or −1. */
    void *context;  /* Of the route's own. */
    int64_t deadline_ms;
    const struct slu_host_unary_ops *ops;
    struct slu_host_unary *next;
};

struct slu_host_unary_ops {
    void (*message)(struct slu_host_unary *unary,
                    struct slu_init_reader reader); /* Not the last. */
    void (*done)(struct slu_host_unary *unary);     /* All went well: answers. */
    void (*failed)(struct slu_host_unary *unary, const char *code, const char *message);
};

/* `descriptor` goes along with the question and stays the caller's. */
void slu_host_unary_ask(struct slu_host_request *request,
                        struct slu_host_sandbox *sandbox,
                        const struct slu_buffer *to_init,
                        int descriptor,
                        const struct slu_host_unary_ops *ops,
                        void *context);

/* The descriptor becomes the caller's. */
int slu_host_unary_take_descriptor(struct slu_host_unary *unary);

/* Every second: questions without an answer for too long. */
void slu_host_unary_tick(struct slu_host *host);

/* Answers with a Connect error. */
void slu_host_respond_connect_error(struct slu_host_request *request,
                                    const char *code,
                                    const char *message);
void
slu_host_unary_failed_connect(struct slu_host_unary *unary, const char *code, const char *message);

/* Answers `{}`. */
void slu_host_unary_done_empty(struct slu_host_unary *unary);

#endif
