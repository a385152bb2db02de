/* SPDX-License-Identifier: Apache-2.0 */
/* Plays a call against recorded answers: tests/fixtures/provider/<name>.http, a status line, the
 * headers that count, an empty line, the body. Names that start with '!' are exchanges without an
 * answer. */
#ifndef SLU_TESTS_PROVIDER_EXCHANGE_H
#define SLU_TESTS_PROVIDER_EXCHANGE_H

#include "slu/base/memory.h"
#include "slu/model/call.h"
#include "slu/provider/provider.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    ANSWERS_MAX = 6
};

static inline void
exchange_call_texts(struct slu_call *call)
{
    call->provider = slu_strdup("main");
    call->key = slu_strdup("sandbox/sbx-1");
    call->external_id = slu_strdup("i000000000000001");
    call->tenant = slu_strdup("acme");
    call->project = slu_strdup("web");
    call->session_id = slu_strdup("ses-1");
    call->cluster = slu_strdup("c-1");
}

/* A call about sandbox/sbx-1, uid 3-8841, incarnation 2. The caller frees. */
static inline struct slu_call *
exchange_call(enum slu_action action, const char *spec)
{
    struct slu_call *call = slu_alloc(sizeof(*call));
    *call = (struct slu_call){
        .id = 1,
        .action = action,
        .changes = action != SLU_ACTION_INSPECT,
        .uid = "3-8841",
        .incarnation = 2,
        .call = 12,
        .idempotency_key = "slu-0123456789012345678901234567890123456789",
        .name = "slu-9876543210987654321098765432109876543210",
        .shard = 3,
        .epoch = 5,
        .lease_seconds = 1200,
        .init_hash = "00c0ffee00c0ffee",
        .timeout_ms = 60000,
    };
    exchange_call_texts(call);
    call->spec = spec ? slu_strdup(spec) : NULL;
    return call;
}

static inline struct slu_provider_instance
exchange_instance(const char *type, const char *url)
{
    struct slu_provider_instance instance = {
        .name = "main", .api_key = "e2b_0123", .default_template = "base"};
    snprintf(instance.type, sizeof(instance.type), "%s", type);
    snprintf(instance.url, sizeof(instance.url), "%s", url);
    instance.timeout_ms[SLU_ACTION_INSPECT] = 10000;
    return instance;
}

static inline void
exchange_read_header(struct slu_http_response *response, char *line)
{
    if (strncmp(line, "HTTP/1.1 ", 9) == 0) {
        response->status = (int) strtol(line + 9, NULL, 10);
        return;
    }
    char *value = strstr(line, ": ");
    if (!value) {
        fail_msg("no header: %s", line);
        return;
    }
    struct slu_http_header *header = &response->headers[response->header_count++];
    snprintf(header->name, sizeof(header->name), "%.*s", (int) (value - line), line);
    snprintf(header->value, sizeof(header->value), "%s", value + 2);
}

static inline void
exchange_load(const char *name, struct slu_http_response *ret_response)
{
    *ret_response = (struct slu_http_response){.end = SLU_HTTP_ANSWERED};
    if (name[0] == '!') {
        const bool never_sent = strcmp(name, "!never-sent") == 0;
        ret_response->end = never_sent ? SLU_HTTP_NEVER_SENT : SLU_HTTP_UNKNOWN;
        snprintf(ret_response->error, sizeof(ret_response->error), "%s", name + 1);
        return;
    }
    char path[512];
    snprintf(path, sizeof(path), SLU_SOURCE_DIR "/tests/fixtures/provider/%s.http", name);
    FILE *file = fopen(path, "rbe");
    if (!file)
        fail_msg("no fixture %s", path);

    char line[4096];
    while (fgets(line, sizeof(line), file) && line[0] != '\n') {
        line[strcspn(line, "\n")] = '\0';
        exchange_read_header(ret_response, line);
    }
    size_t size;
    while ((size = fread(line, 1, sizeof(line), file)) > 0)
        slu_buffer_append(&ret_response->body, line, size);
    fclose(file);
}

/* Runs the whole call; `requests` collects "METHOD path\n" of each exchange (NULL: not wanted). The
 * answers must be exactly as many as the call wants. */
static inline struct slu_facts
exchange_play(const struct slu_provider *provider,
              const struct slu_provider_instance *instance,
              const struct slu_call *call,
              const char *const answers[ANSWERS_MAX],
              struct slu_buffer *requests)
{
    struct slu_exchange exchange = {0};
    enum slu_more more = SLU_MORE;
    int i = 0;

    for (; more == SLU_MORE; i++) {
        if (i == ANSWERS_MAX || !answers[i])
            fail_msg("the call wants exchange %d, step %d", i + 1, exchange.step);
        struct slu_http_request request = {0};
        struct slu_error error = {0};
        if (provider->request(instance, call, &exchange, &request, &error))
            fail_msg("no request: %s", error.message);
        if (requests)
            slu_buffer_printf(requests, "%s %s\n", request.method,
                              request.url.data + strlen(instance->url));
        slu_http_request_done(&request);

        struct slu_http_response response;
        exchange_load(answers[i], &response);
        more = provider->response(instance, call, &exchange, &response);
        slu_http_response_done(&response);
    }
    if (i < ANSWERS_MAX && answers[i])
        fail_msg("the call ended after %d exchanges, before %s", i, answers[i]);
    return exchange.facts;
}

#endif
