/* SPDX-License-Identifier: Apache-2.0 */
/* What an HTTP exchange is to the providers (who write requests and read answers) and to the shell
 * (who sends them). Nothing here does I/O. */
#ifndef SLU_PORT_HTTP_H
#define SLU_PORT_HTTP_H

#include "slu/base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SLU_HTTP_HEADERS_MAX = 16,
    SLU_HTTP_BODY_MAX = 16 * 1024 * 1024, /* An answer larger than this is cut off: ambiguous. */
};

struct slu_http_header {
    char name[48];
    char value[464];
};

/* Zero-initialise, fill, send, then slu_http_request_done. */
struct slu_http_request {
    const char *method;    /* A literal. */
    struct slu_buffer url; /* Whole: scheme, host, path, query, already escaped. */
    struct slu_http_header headers[SLU_HTTP_HEADERS_MAX];
    size_t header_count;
    struct slu_buffer body;
    int64_t timeout_ms;  /* From the first byte sent; time in a queue does not count. */
    bool secret_headers; /* Some header holds a credential: never log headers. Set by those who
                            add one; wiped by slu_http_request_done. */
};

/* How an exchange ended. "Never sent" and "maybe executed" are different facts (reliability.md F8,
 * §4.2): the first may be repeated blindly, the second must be inspected. */
enum slu_http_end {
    SLU_HTTP_ANSWERED,   /* Status and whole body are there. */
    SLU_HTTP_NEVER_SENT, /* Connection refused, name not found, dropped from our own queue. */
    SLU_HTTP_UNKNOWN,    /* Sent, at least in part; no whole answer. */
};

struct slu_http_response {
    enum slu_http_end end;
    int status; /* 0 unless answered. */
    struct slu_http_header
        headers[SLU_HTTP_HEADERS_MAX]; /* Lower-case names; only the interesting:
                                          content-type, retry-after, x-next-token,
                                          should-retry, and slu-… */
    size_t header_count;
    struct slu_buffer body;
    char error[160]; /* Of the transport, for people. */
};

void slu_http_request_done(struct slu_http_request *request); /* Wipes, frees. */
void slu_http_response_done(struct slu_http_response *response);
void
slu_http_header_add(struct slu_http_request *request, const char *name, const char *format, ...)
    SLU_PRINTF(3, 4);
const char *slu_http_header_find(const struct slu_http_response *response, const char *name);

#endif
