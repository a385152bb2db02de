/* SPDX-License-Identifier: Apache-2.0 */
/* Where a Redis URL points: redis://[user@]host[:port][/database]. */
#ifndef SLU_ADAPTER_REDIS_ADDRESS_H
#define SLU_ADAPTER_REDIS_ADDRESS_H

#include "slu/base/status.h"

struct slu_redis_address {
    char host[256];
    char user[128]; /* "" for the default user. */
    int port;
    int database;
};

/* SLU_INVALID: no such URL; the message never repeats a password that is in it. */
enum slu_status
slu_redis_address_read(const char *url, struct slu_redis_address *ret, struct slu_error *reterr);

#endif
