/* SPDX-License-Identifier: Apache-2.0 */
/* The replica's own HTTP: /metrics, /healthz, /readyz. Runs on the loop (libmicrohttpd with an
 * epoll of its own, watched by libuv); reads the replica, changes nothing. */
#ifndef SLU_RECONCILER_HTTP_SERVER_H
#define SLU_RECONCILER_HTTP_SERVER_H

#include "replica.h"

/* Listens on settings.listen; writes the URL others reach it by into replica->url. */
enum slu_status slu_http_server_start(struct slu_replica *replica, struct slu_error *reterr);
void slu_http_server_stop(struct slu_replica *replica);

#endif
