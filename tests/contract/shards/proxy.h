/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP proxy in front of a Kafka broker that loses chosen requests or their answers, so that a
 * commit can be made unclear on purpose. It knows frames and API keys, nothing more. */
#ifndef SLU_TESTS_SHARDS_PROXY_H
#define SLU_TESTS_SHARDS_PROXY_H

#include <stdbool.h>

enum proxy_api {
    PROXY_PRODUCE = 0,
    PROXY_INIT_PRODUCER_ID = 22,
    PROXY_END_TXN = 26
};

/* From the next request `lost` on, connections that send one fall silent, until a request `until`
 * is seen anywhere. With `first_arrives` the first of them still reaches the broker. */
struct proxy_loss {
    enum proxy_api lost;
    enum proxy_api until;
    bool first_arrives;
};

/* Listens on a free port of 127.0.0.1; connects to the port set later. Ends with the program. */
int proxy_start(void);
void proxy_connect_to(int port);
void proxy_lose(const struct proxy_loss *what);

#endif
