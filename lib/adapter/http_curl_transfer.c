/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl sends a request again by itself when a kept connection dies before the first byte of the
 * answer (reliability.md F8), although the far side may have executed it. Its pre-request callback
 * is called before each such attempt: `allow_request` lets the first one out and stops a second,
 * unless the method reads only. */
#include "http_curl_transfer.h"

#include "slu/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    CONNECT_MS = 5000,
    CONNECTION_IDLE_S = 30, /* A connection at rest for longer is not used again. */
    DNS_CACHE_S = 60,
    KEEPALIVE_S = 15,
};

static bool
only_reads(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static void
tell_expired(uv_timer_t *timer)
{
    struct slu_http_transfer *transfer = timer->data;
    transfer->trouble = "no whole answer in time";
    transfer->expired(transfer);
}

/* --- curl's callbacks ------------------------------------------------------------------------ */

static void
clear_answer(struct slu_http_response *response)
{
    response->header_count = 0;
    slu_buffer_reset(&response->body);
}

/* The connection stands, nothing of the request has left. The parameters are libcurl's. */
/* NOLINTBEGIN(readability-non-const-parameter) */
static int
allow_request(void *context, char *remote_ip, char *local_ip, int remote_port, int local_port)
/* NOLINTEND(readability-non-const-parameter) */
{
    (void) remote_ip;
    (void) local_ip;
    (void) remote_port;
    (void) local_port;
    struct slu_http_transfer *transfer = context;
    const struct slu_http_job *job = &transfer->job;
    if (transfer->sent && !only_reads(job->request.method)) {
        transfer->trouble = "the connection died without an answer; not sent again";
        return CURL_PREREQFUNC_ABORT;
    }
    if (job->may_send && !job->may_send(job->context)) {
        transfer->trouble = "no longer allowed to leave";
        return CURL_PREREQFUNC_ABORT;
    }
    if (!transfer->sent)
        uv_timer_start(&transfer->timer, tell_expired, (uint64_t) job->request.timeout_ms, 0);
    transfer->sent = true;
    clear_answer(&transfer->response);
    return CURL_PREREQFUNC_OK;
}

static size_t
take_body(char *bytes, size_t unit, size_t count, void *context)
{
    struct slu_http_transfer *transfer = context;
    const size_t size = unit * count;
    if (transfer->response.body.size + size > SLU_HTTP_BODY_MAX) {
        transfer->trouble = "the answer is larger than 16 MiB";
        return 0;
    }
    slu_buffer_append(&transfer->response.body, bytes, size);
    return size;
}

static bool
interests(const char *name)
{
    static const char *const names[] = {"content-type", "retry-after", "x-next-token",
                                        "should-retry"};
    for (size_t i = 0; i < SLU_COUNT(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return strncmp(name, "slu-", 4) == 0;
}

static bool
read_name(const char *line, size_t size, char ret_name[48])
{
    if (size == 0 || size >= 48)
        return false;
    for (size_t i = 0; i < size; i++) {
        const char c = line[i];
        ret_name[i] = c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
    }
    ret_name[size] = '\0';
    return true;
}

static bool
keep_header(struct slu_http_response *response, const char *name, const char *value, size_t size)
{
    while (size > 0 && (*value == ' ' || *value == '\t')) {
        value++;
        size--;
    }
    while (size > 0 && strchr(" \t\r\n", value[size - 1]))
        size--;
    struct slu_http_header *header = &response->headers[response->header_count];
    if (response->header_count == SLU_HTTP_HEADERS_MAX || size >= sizeof(header->value))
        return false;
    snprintf(header->name, sizeof(header->name), "%s", name);
    memcpy(header->value, value, size);
    header->value[size] = '\0';
    response->header_count++;
    return true;
}

/* A header that matters and does not fit ends the exchange: half a page token would read as
 * another. */
static size_t
take_header(char *line, size_t unit, size_t count, void *context)
{
    struct slu_http_transfer *transfer = context;
    const size_t size = unit * count;
    if (size >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        clear_answer(&transfer->response); /* After 100, or 103, the real one. */
        return size;
    }
    char name[48];
    const char *colon = memchr(line, ':', size);
    if (!colon || !read_name(line, (size_t) (colon - line), name) || !interests(name))
        return size;
    if (!keep_header(&transfer->response, name, colon + 1, (size_t) (line + size - colon - 1))) {
        transfer->trouble = "a header of the answer is longer than 463 bytes, or they are too many";
        return 0;
    }
    return size;
}

/* --- request --------------------------------------------------------------------------------- */

static bool
has_line_break(const char *text)
{
    return strpbrk(text, "\r\n") != NULL;
}

static void
add_header(struct slu_http_transfer *transfer, const char *line)
{
    struct curl_slist *longer = curl_slist_append(transfer->headers, line);
    if (!longer)
        abort(); /* As every small allocation that fails (memory.h). */
    transfer->headers = longer;
}

static bool
load_headers(struct slu_http_transfer *transfer, const struct slu_http_request *request)
{
    bool has_type = false;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct slu_http_header *header = &request->headers[i];
        if (has_line_break(header->name) || has_line_break(header->value)) {
            transfer->trouble = "a header of the request has a line break in it";
            return false;
        }
        char line[sizeof(header->name) + sizeof(header->value) + 4];
        snprintf(line, sizeof(line), header->value[0] ? "%s: %s" : "%s;", header->name,
                 header->value);
        add_header(transfer, line);
        explicit_bzero(line, sizeof(line));
        has_type = has_type || strcasecmp(header->name, "content-type") == 0;
    }
    add_header(transfer, "Expect:"); /* No waiting for 100 Continue. */
    if (!has_type)
        add_header(transfer, "Content-Type:"); /* curl would call any body a form. */
    curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
    return true;
}

static void
load_method(struct slu_http_transfer *transfer, const struct slu_http_request *request)
{
    CURL *easy = transfer->easy;
    const bool has_body = request->body.size > 0 || strcmp(request->method, "POST") == 0 ||
                          strcmp(request->method, "PUT") == 0 ||
                          strcmp(request->method, "PATCH") == 0;
    if (strcmp(request->method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    } else if (has_body) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.data ? request->body.data : "");
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) request->body.size);
    } else {
        curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

/* A proxy of the environment is for the way out, not for this machine. */
static bool
is_loopback(const char *url)
{
    static const char *const hosts[] = {"://127.", "://localhost", "://[::1]"};
    for (size_t i = 0; i < SLU_COUNT(hosts); i++) {
        const char *found = strstr(url, "://");
        if (found && strncmp(found, hosts[i], strlen(hosts[i])) == 0)
            return true;
    }
    return false;
}

bool
slu_http_transfer_load(struct slu_http_transfer *transfer, struct slu_http_job *job)
{
    transfer->job = *job;
    *job = (struct slu_http_job){0};
    transfer->sent = false;
    transfer->trouble = NULL;
    transfer->curl_error[0] = '\0';
    const struct slu_http_request *request = &transfer->job.request;
    const char *url = request->url.data ? request->url.data : "";
    curl_easy_setopt(transfer->easy, CURLOPT_URL, url);
    curl_easy_setopt(transfer->easy, CURLOPT_NOPROXY, is_loopback(url) ? "*" : NULL);
    load_method(transfer, request);
    return load_headers(transfer, request);
}

/* --- end ------------------------------------------------------------------------------------- */

enum slu_http_end
slu_http_transfer_verdict(const struct slu_http_transfer *transfer, CURLcode code)
{
    if (code == CURLE_OK && !transfer->trouble)
        return SLU_HTTP_ANSWERED;
    return transfer->sent ? SLU_HTTP_UNKNOWN : SLU_HTTP_NEVER_SENT;
}

static void
describe_end(const struct slu_http_transfer *transfer, CURLcode code, struct slu_http_response *ret)
{
    if (transfer->trouble)
        snprintf(ret->error, sizeof(ret->error), "%s", transfer->trouble);
    else
        snprintf(ret->error, sizeof(ret->error), "%s",
                 transfer->curl_error[0] ? transfer->curl_error : curl_easy_strerror(code));
}

/* The handle keeps no pointer into the request that goes. */
static void
unload(struct slu_http_transfer *transfer)
{
    curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, NULL);
    curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, NULL);
    curl_easy_setopt(transfer->easy, CURLOPT_NOBODY, 0L);
    if (transfer->job.request.secret_headers) {
        for (struct curl_slist *line = transfer->headers; line; line = line->next)
            explicit_bzero(line->data, strlen(line->data));
    }
    curl_slist_free_all(transfer->headers);
    transfer->headers = NULL;
    slu_http_request_done(&transfer->job.request);
}

void
slu_http_transfer_end(struct slu_http_transfer *transfer, CURLcode code)
{
    uv_timer_stop(&transfer->timer);
    struct slu_http_response *response = &transfer->response;
    response->end = slu_http_transfer_verdict(transfer, code);
    response->status = 0;
    response->error[0] = '\0';
    if (response->end == SLU_HTTP_ANSWERED) {
        long status = 0;
        curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
        response->status = (int) status;
    } else {
        clear_answer(response);
        describe_end(transfer, code, response);
    }
    unload(transfer);
    transfer->job.done(transfer->job.context, response);
    slu_http_response_done(response); /* A large body does not stay with the resting handle. */
}

/* --- life ------------------------------------------------------------------------------------ */

static void
set_options(struct slu_http_transfer *transfer, const struct slu_http_transfer_settings *settings)
{
    CURL *easy = transfer->easy;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->curl_error);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long) CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long) CONNECTION_IDLE_S);
    curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, (long) DNS_CACHE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long) KEEPALIVE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long) KEEPALIVE_S);
    curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t) SLU_HTTP_BODY_MAX);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, allow_request);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    if (settings->user_agent && settings->user_agent[0])
        curl_easy_setopt(easy, CURLOPT_USERAGENT, settings->user_agent);
    if (settings->ca_file && settings->ca_file[0])
        curl_easy_setopt(easy, CURLOPT_CAINFO, settings->ca_file);
}

struct slu_http_transfer *
slu_http_transfer_new(const struct slu_http_transfer_settings *settings)
{
    struct slu_http_transfer *transfer = slu_alloc(sizeof(*transfer));
    transfer->easy = curl_easy_init();
    if (!transfer->easy)
        abort();
    transfer->expired = settings->expired;
    uv_timer_init(settings->loop, &transfer->timer);
    transfer->timer.data = transfer;
    set_options(transfer, settings);
    return transfer;
}

static void
free_transfer(uv_handle_t *timer)
{
    struct slu_http_transfer *transfer = timer->data;
    void (*freed)(void *) = transfer->freed;
    void *context = transfer->freed_context;
    free(transfer);
    freed(context);
}

void
slu_http_transfer_free(struct slu_http_transfer *transfer,
                       void (*freed)(void *context),
                       void *context)
{
    curl_easy_cleanup(transfer->easy);
    transfer->freed = freed;
    transfer->freed_context = context;
    uv_close((uv_handle_t *) &transfer->timer, free_transfer);
}
