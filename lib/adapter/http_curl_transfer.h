/* SPDX-License-Identifier: Apache-2.0 */
/* One exchange: an easy handle, the request it carries and the answer it collects. Knows whether
 * the request may have left, which is what tells "never sent" from "maybe executed". */
#ifndef SLU_ADAPTER_HTTP_CURL_TRANSFER_H
#define SLU_ADAPTER_HTTP_CURL_TRANSFER_H

#include "slu/port/http_client.h"

#include <curl/curl.h>
#include <uv.h>

#include <sys/queue.h>

struct slu_http_transfer;

struct slu_http_transfer_settings {
    const char *user_agent;
    const char *ca_file;
    uv_loop_t *loop;
    /* The time-out of the request ran out; the handle is still in the multi handle. */
    void (*expired)(struct slu_http_transfer *transfer);
};

struct slu_http_transfer {
    TAILQ_ENTRY(slu_http_transfer) next; /* The client's: at rest, or in flight. */
    void *owner;                         /* The client's: what the transfer is for. */
    void (*expired)(struct slu_http_transfer *transfer);

    CURL *easy;
    struct curl_slist *headers;
    uv_timer_t timer;
    struct slu_http_job job;
    struct slu_http_response response;
    char curl_error[CURL_ERROR_SIZE];
    bool sent;           /* The first byte may have left. */
    const char *trouble; /* Why it was ended from our side; a literal, or NULL. */
    void (*freed)(void *context);
    void *freed_context;
};

struct slu_http_transfer *slu_http_transfer_new(const struct slu_http_transfer_settings *settings);
void slu_http_transfer_free(struct slu_http_transfer *transfer,
                            void (*freed)(void *context),
                            void *context);

/* Takes the job. False: the request cannot be sent as it is; `trouble` says why. */
bool slu_http_transfer_load(struct slu_http_transfer *transfer, struct slu_http_job *job);

/* Decides how it ended, tells the job, and is at rest again. */
void slu_http_transfer_end(struct slu_http_transfer *transfer, CURLcode code);
enum slu_http_end slu_http_transfer_verdict(const struct slu_http_transfer *transfer,
                                            CURLcode code);

#endif
