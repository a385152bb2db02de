/* SPDX-License-Identifier: Apache-2.0 */
/* curl_multi on a libuv loop: sockets and the one timer. Knows nothing of jobs: it hands over easy
 * handles that ended, already out of the multi handle, never from inside a curl callback. */
#ifndef SLU_ADAPTER_HTTP_CURL_MULTI_H
#define SLU_ADAPTER_HTTP_CURL_MULTI_H

#include <curl/curl.h>
#include <uv.h>

struct slu_http_multi;

typedef void(slu_http_ended_fn)(void *context, CURL *easy, CURLcode code);

struct slu_http_multi *
slu_http_multi_new(uv_loop_t *loop, int connections_max, slu_http_ended_fn *ended, void *context);

/* Every easy handle is out of it by now. `closed` comes in a later turn. */
void
slu_http_multi_close(struct slu_http_multi *multi, void (*closed)(void *context), void *context);

void slu_http_multi_add(struct slu_http_multi *multi, CURL *easy);
void slu_http_multi_remove(struct slu_http_multi *multi, CURL *easy); /* Not from its callbacks. */

#endif
