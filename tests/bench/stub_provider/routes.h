/* SPDX-License-Identifier: Apache-2.0 */
/* The E2B subset that the stub answers, and the ways it can be told to misbehave. */
#ifndef SLU_STUB_ROUTES_H
#define SLU_STUB_ROUTES_H

#include "slu/base/buffer.h"
#include "slu/base/random.h"
#include "world.h"

/* Chances are per thousand requests. */
struct stub_switches {
    int64_t latency_ms;
    int64_t jitter_ms;      /* On top, evenly spread. */
    int64_t list_lag_ms;    /* Lists show a sandbox only so long after it was made. */
    int64_t lose;           /* Does what is asked, then drops the connection. */
    int64_t refuse;         /* 429 with Retry-After: 1. */
    int64_t fail;           /* 500, half of them after doing what is asked. */
    int64_t hang;           /* Does what is asked, never answers. */
    int64_t repeat_pages;   /* 1: every page carries a cursor that gives the same page again. */
    int64_t ignore_filters; /* 1: lists show everything. */
    int64_t limit;          /* Sandboxes at once; 429 above; 0: none. */
};

struct stub {
    struct stub_world *world;
    struct stub_switches switches;
    struct slu_random random;
};

struct stub_request {
    const char *method;
    const char *path;
    const char *metadata_filter, *cursor; /* Decoded once; NULL when absent. */
    const char *idempotency_key, *cluster, *shard, *epoch;
    const char *body;
    size_t body_size;
};

enum stub_end {
    STUB_ANSWER,
    STUB_DROP,
    STUB_HANG
};

struct stub_answer {
    enum stub_end end;
    int status;
    struct slu_buffer body;
    const char *content_type;
    char cursor[24];       /* X-Next-Token. */
    int64_t retry_after_s; /* 0: none. */
    int64_t delay_ms;
};

void stub_answer(struct stub *stub,
                 const struct stub_request *request,
                 int64_t now_ms,
                 struct stub_answer *ret_answer);

/* "lose=50": false when there is no such switch. */
bool stub_switch_set(struct stub_switches *switches, const char *name, const char *value);
void stub_switches_help(void);

#endif
