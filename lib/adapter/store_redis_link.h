/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to Redis that heals itself, on a libuv loop. hiredis 0.14 has no async time-outs
 * and its own libuv glue swallows connection errors, so polling, time-outs, keep-alive and
 * reconnecting with jitter are done here (reliability.md F10, §4.1). Never blocks the loop, never
 * repeats a command. */
#ifndef SLU_ADAPTER_STORE_REDIS_LINK_H
#define SLU_ADAPTER_STORE_REDIS_LINK_H

#include "slu/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redisReply;
struct slu_redis_link;
struct uv_loop_s;

enum {
    SLU_REDIS_COMMAND_MS = 3000, /* A command unanswered for so long costs the connection. */
    SLU_REDIS_CONNECT_MS = 2000,
    SLU_REDIS_BACKOFF_MIN_MS = 50,
    SLU_REDIS_BACKOFF_MAX_MS = 2000,
};

/* `reply` is lent; NULL: the connection went, what became of the command is unknown. */
typedef void(slu_redis_reply_fn)(void *context, const struct redisReply *reply);

struct slu_redis_command {
    const char *const *argv;
    const size_t *sizes;
    int argc;
    slu_redis_reply_fn *answered; /* NULL: nobody asks. */
    void *context;
};

/* Refuses a wrong URL; an unreachable Redis is no error: the link comes up when it can. */
enum slu_status slu_redis_link_open(struct uv_loop_s *loop,
                                    const char *url,
                                    const char *password_file,
                                    struct slu_redis_link **ret_link,
                                    struct slu_error *reterr);

/* Answers what is open with NULL (inside this call), then `closed` follows. */
void
slu_redis_link_close(struct slu_redis_link *link, void (*closed)(void *context), void *context);

bool slu_redis_link_up(const struct slu_redis_link *link);

/* Why it is not up, as the last attempt ended; "" while up. */
const char *slu_redis_link_trouble(const struct slu_redis_link *link);

/* False: down, nothing was sent and no answer follows. True: exactly one answer, later. Commands
 * are answered in the order they were sent. */
bool slu_redis_link_send(struct slu_redis_link *link, const struct slu_redis_command *command);

/* Bytes sent and not answered yet. */
size_t slu_redis_link_backlog(const struct slu_redis_link *link);

#endif
