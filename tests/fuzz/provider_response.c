/* SPDX-License-Identifier: Apache-2.0 */
/* Any answer to any exchange of any call leaves facts that the engine can use: an outcome of the
 * list, texts that end, no absence taken for proof. The first bytes choose the exchange. */
#include "fuzz.h"
#include "slu/base/memory.h"
#include "slu/provider/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const types[] = {"e2b", "local"};
static const char *const content_types[] = {"application/json", "application/connect+json",
                                            "text/html", ""};
static const int statuses[] = {200, 201, 204, 400, 401, 404, 409, 429, 500, 502, 503};

enum {
    CHOICES = 6
};

static char *
text(const char *value)
{
    return slu_strdup(value);
}

static struct slu_call *
make_call(const uint8_t *choice)
{
    struct slu_call *call = slu_alloc(sizeof(*call));
    call->action = (enum slu_action)(choice[1] % SLU_ACTION_COUNT);
    call->by_label = call->action == SLU_ACTION_INSPECT && (choice[1] & 0x80);
    call->incarnation = 2;
    call->provider = text("p");
    call->key = text("sandbox/sbx-1");
    call->external_id = text("i1");
    call->tenant = text("t");
    call->project = text("p");
    call->session_id = text("");
    call->cluster = text("c-1");
    call->spec = text("{\"egressRules\":[]}");
    return call;
}

static void
check(const struct slu_facts *facts)
{
    assert(facts->outcome < SLU_OUTCOME_COUNT);
    assert(facts->seen_count >= 0 && facts->seen_count <= SLU_SEEN_MAX);
    assert(memchr(facts->message, '\0', sizeof(facts->message)));
    for (int i = 0; i < facts->seen_count; i++) {
        assert(memchr(facts->seen[i].external_id, '\0', sizeof(facts->seen[i].external_id)));
        assert(facts->seen[i].external_id[0] != '\0');
        assert(facts->seen[i].life < SLU_LIFE_COUNT);
        assert(facts->seen[i].life != SLU_LIFE_GONE && facts->seen[i].life != SLU_LIFE_ABSENT);
    }
    assert(!facts->has_exit || (facts->exit_code >= 0 && facts->exit_code <= 255));
}

static void
answer(const uint8_t *choice, const uint8_t *body, size_t size, struct slu_http_response *ret)
{
    *ret = (struct slu_http_response){.end = (enum slu_http_end)(choice[3] % 3)};
    ret->status = statuses[choice[4] % (sizeof(statuses) / sizeof(statuses[0]))];
    ret->header_count = 2;
    snprintf(ret->headers[0].name, sizeof(ret->headers[0].name), "content-type");
    snprintf(ret->headers[0].value, sizeof(ret->headers[0].value), "%s",
             content_types[choice[5] % 4]);
    snprintf(ret->headers[1].name, sizeof(ret->headers[1].name), "x-next-token");
    snprintf(ret->headers[1].value, sizeof(ret->headers[1].value), "%.*s", (int) (size % 40),
             (const char *) body);
    if (size > 0)
        slu_buffer_append(&ret->body, body, size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < CHOICES)
        return 0;
    const struct slu_provider *provider = slu_provider_find(types[data[0] % 2]);
    const struct slu_provider_instance instance = {.name = "p", .url = "http://h:1"};
    struct slu_call *call = make_call(data);
    struct slu_exchange exchange = {.step = data[2] % 5};
    struct slu_http_response response;
    answer(data, data + CHOICES, size - CHOICES, &response);

    if (provider->response(&instance, call, &exchange, &response) == SLU_LAST)
        check(&exchange.facts);
    slu_http_response_done(&response);
    slu_call_free(call);
    return 0;
}
