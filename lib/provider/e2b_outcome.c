/* SPDX-License-Identifier: Apache-2.0 */
/* What an error answer means, as a table (providers.md §6). The first row that matches counts; what
 * no row knows is ambiguous, so that anything new leads to a look and never to an action. */
#include "e2b.h"
#include "facts.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

enum {
    ON_LOOK = 1 << 0,
    ON_CREATE = 1 << 1,
    ON_OTHER = 1 << 2, /* Calls that change an instance that is there. */
    ON_CHANGE = ON_CREATE | ON_OTHER,
    ON_ANY = ON_LOOK | ON_CHANGE,
};

enum body_need {
    ANY_BODY,
    OWN_BODY
}; /* OWN_BODY: the API itself spoke, not a proxy before it. */

static const struct {
    int calls;
    int status;             /* 0: any. */
    const char *error_code; /* NULL: any. */
    enum body_need body;
    enum slu_outcome outcome;
} rows[] = {
    /* clang-format off */
    {ON_ANY,    409, "stale_epoch",                         ANY_BODY, SLU_OUTCOME_REJECTED},
    {ON_ANY,    429, NULL,                                  ANY_BODY, SLU_OUTCOME_CAPACITY},
    {ON_LOOK,   0,   NULL,                                  ANY_BODY, SLU_OUTCOME_AMBIGUOUS},
    {ON_CHANGE, 0,   "idempotency_outcome_unknown",         ANY_BODY, SLU_OUTCOME_AMBIGUOUS},
    {ON_CHANGE, 0,   "idempotency_in_progress",             ANY_BODY, SLU_OUTCOME_BUSY},
    {ON_CHANGE, 0,   "idempotency_request_mismatch",        ANY_BODY, SLU_OUTCOME_PERMANENT},
    {ON_CHANGE, 0,   "sandbox_start_in_flight",             ANY_BODY, SLU_OUTCOME_BUSY},
    {ON_CHANGE, 0,   "sandbox_capacity_unavailable",        ANY_BODY, SLU_OUTCOME_CAPACITY},
    {ON_CHANGE, 0,   "sandbox_no_compatible_node",          ANY_BODY, SLU_OUTCOME_CAPACITY},
    {ON_CHANGE, 0,   "sandbox_filesystem_boot_unconfirmed", ANY_BODY, SLU_OUTCOME_AMBIGUOUS},
    {ON_CHANGE, 500, "sandbox_create_refused",              ANY_BODY, SLU_OUTCOME_PERMANENT},
    {ON_CREATE, 503, NULL,                                  OWN_BODY, SLU_OUTCOME_CAPACITY},
    {ON_OTHER,  503, NULL,                                  OWN_BODY, SLU_OUTCOME_BUSY},
    {ON_CREATE, 404, NULL,                                  OWN_BODY, SLU_OUTCOME_PERMANENT},
    {ON_CHANGE, 400, NULL,                                  ANY_BODY, SLU_OUTCOME_PERMANENT},
    {ON_CHANGE, 401, NULL,                                  ANY_BODY, SLU_OUTCOME_PERMANENT},
    {ON_CHANGE, 403, NULL,                                  ANY_BODY, SLU_OUTCOME_PERMANENT},
    {ON_CHANGE, 409, NULL,                                  ANY_BODY, SLU_OUTCOME_BUSY},
    {ON_CHANGE, 413, NULL,                                  ANY_BODY, SLU_OUTCOME_PERMANENT},
    {ON_CHANGE, 422, NULL,                                  ANY_BODY, SLU_OUTCOME_PERMANENT},
    {ON_ANY,    0,   NULL,                                  ANY_BODY, SLU_OUTCOME_AMBIGUOUS},
    /* clang-format on */
};

static int
kind_of(const struct slu_call *call)
{
    /* INIT's wrapper makes a repeat harmless: asking again is always right, parking never. */
    if (call->action == SLU_ACTION_INSPECT || call->action == SLU_ACTION_INIT)
        return ON_LOOK;
    return call->action == SLU_ACTION_CREATE ? ON_CREATE : ON_OTHER;
}

/* The error body of the API names its own status (providers.md §1.1); a proxy's page does not. */
static bool
is_own_body(const json_t *body, int status)
{
    const json_t *code = json_object_get(body, "code");
    return json_is_integer(code) && json_integer_value(code) == status;
}

static enum slu_outcome
look_up(int calls, int status, const char *error_code, bool own_body)
{
    for (size_t i = 0; i < SLU_COUNT(rows); i++) {
        if ((rows[i].calls & calls) && (!rows[i].status || rows[i].status == status) &&
            (!rows[i].error_code || strcmp(rows[i].error_code, error_code) == 0) &&
            (rows[i].body == ANY_BODY || own_body))
            return rows[i].outcome;
    }
    return SLU_OUTCOME_AMBIGUOUS;
}

/* Whole seconds only: a date would need a clock, and the back-off serves as well. */
static int64_t
retry_after_ms(const struct slu_http_response *response)
{
    const char *text = slu_http_header_find(response, "retry-after");
    if (!text || text[0] == '\0' || strlen(text) > 9 || strspn(text, "0123456789") != strlen(text))
        return 0;
    const int64_t seconds = strtoll(text, NULL, 10);
    return 1000 * (seconds < SLU_E2B_RETRY_AFTER_MAX_S ? seconds : SLU_E2B_RETRY_AFTER_MAX_S);
}

void
slu_e2b_fail(const struct slu_provider_instance *instance,
             const struct slu_call *call,
             struct slu_facts *facts,
             const struct slu_http_response *response)
{
    SLU_AUTO_JSON json_t *body = slu_e2b_json(response);
    const char *error_code = slu_json_text(body, "error_code");
    const char *message = slu_json_text(body, "message");

    error_code = error_code ? error_code : "";
    if (!message || (instance->api_key[0] != '\0' && strstr(message, instance->api_key)))
        message = ""; /* A server that repeats the key must not make us log it. */

    const enum slu_outcome outcome =
        look_up(kind_of(call), response->status, error_code, is_own_body(body, response->status));
    facts->retry_after_ms = retry_after_ms(response);
    slu_facts_end(facts, outcome, "%s at %s answered %d%s%.64s%s%.300s",
                  slu_action_names[call->action], instance->name, response->status,
                  error_code[0] ? " " : "", error_code, message[0] ? ": " : "", message);
}

bool
slu_e2b_says_gone(const struct slu_http_response *response)
{
    if (response->end != SLU_HTTP_ANSWERED || response->status != 404)
        return false;
    SLU_AUTO_JSON json_t *body = slu_e2b_json(response);
    return is_own_body(body, 404);
}
