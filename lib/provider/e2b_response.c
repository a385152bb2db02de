/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the control plane's answers, and decides which exchange follows. Repeats are successes
 * (behaviour.md rule 5), but only after a look where the words alone could mean two things; "gone"
 * is said only by a 404 of the API's own to a look. */
#include "e2b.h"
#include "facts.h"
#include "json.h"
#include "slu/model/document.h"

#include <string.h>

struct reading {
    const struct slu_e2b_dialect *dialect;
    const struct slu_provider_instance *instance;
    const struct slu_call *call;
    struct slu_exchange *exchange;
    const struct slu_http_response *response;
};

static enum slu_more
next(const struct reading *reading, enum slu_e2b_step step)
{
    reading->exchange->step = (int) step;
    return SLU_MORE;
}

static enum slu_more
fail(const struct reading *reading)
{
    slu_e2b_fail(reading->instance, reading->call, &reading->exchange->facts, reading->response);
    return SLU_LAST;
}

static enum slu_more
end(const struct reading *reading, enum slu_outcome outcome, const char *message)
{
    slu_facts_end(&reading->exchange->facts, outcome, "%s at %s: %s",
                  slu_action_names[reading->call->action], reading->instance->name, message);
    return SLU_LAST;
}

/* Reads the sandbox in an answer to GET into facts->seen[0]. False: the call has ended, with `gone`
 * where the answer says so. */
static bool
read_look(const struct reading *reading, json_t **ret_sandbox)
{
    const struct slu_http_response *response = reading->response;
    struct slu_facts *facts = &reading->exchange->facts;

    if (slu_e2b_says_gone(response)) {
        end(reading, SLU_OUTCOME_GONE, "the provider says that there is no such instance");
        return false;
    }
    if (response->status != 200) {
        slu_e2b_fail(reading->instance, reading->call, facts, response);
        if (facts->outcome != SLU_OUTCOME_REJECTED && facts->outcome != SLU_OUTCOME_CAPACITY)
            facts->outcome = SLU_OUTCOME_AMBIGUOUS; /* A look that failed tells nothing. */
        return false;
    }
    json_t *sandbox = slu_e2b_json(response);
    if (!slu_e2b_seen(reading->dialect, reading->call, sandbox, &facts->seen[0]) ||
        !slu_e2b_same_id(facts->seen[0].external_id, reading->call->external_id)) {
        json_decref(sandbox);
        end(reading, SLU_OUTCOME_AMBIGUOUS, "the answer to the look is not this sandbox");
        return false;
    }
    facts->seen_count = 1;
    *ret_sandbox = sandbox;
    return true;
}

static enum slu_more
read_inspect(const struct reading *reading)
{
    if (reading->call->by_label) {
        if (reading->response->status != 200)
            return fail(reading);
        return slu_e2b_list_page(reading->dialect, reading->call, reading->exchange,
                                 reading->response);
    }
    SLU_AUTO_JSON json_t *sandbox = NULL;
    if (!read_look(reading, &sandbox))
        return SLU_LAST;
    if (reading->exchange->facts.seen[0].life == SLU_LIFE_UNKNOWN)
        return end(reading, SLU_OUTCOME_AMBIGUOUS, "the state is a word we do not know");
    reading->exchange->facts.outcome = SLU_OUTCOME_DONE;
    return SLU_LAST;
}

/* The answer to CREATE and RESUME names the sandbox but shows neither labels nor state: labels are
 * those we sent, and it runs. */
static bool
take_made(const struct reading *reading)
{
    SLU_AUTO_JSON json_t *sandbox = slu_e2b_json(reading->response);
    const char *id = slu_json_text(sandbox, "sandboxID");
    if (!id || strlen(id) > SLU_EXTERNAL_ID_MAX || !slu_id_valid(id, strlen(id)))
        return false;

    const struct slu_call *call = reading->call;
    struct slu_facts *facts = &reading->exchange->facts;
    struct slu_seen *seen = &facts->seen[0];
    *seen = (struct slu_seen){.life = SLU_LIFE_RUNNING, .incarnation = call->incarnation};
    memcpy(seen->external_id, id, strlen(id) + 1);
    memcpy(seen->uid, call->uid, sizeof(seen->uid));
    memcpy(seen->key, call->key, strlen(call->key) + 1);
    facts->seen_count = 1;
    memcpy(facts->workspace_path, "/home/user", sizeof("/home/user"));
    return true;
}

static bool
is_made(const struct slu_http_response *response)
{
    return response->status == 200 || response->status == 201;
}

static enum slu_more
read_create(const struct reading *reading)
{
    /* A server without the newer route has done nothing; one without the template says so again. */
    if (reading->response->status == 404 && reading->exchange->step == SLU_E2B_FIRST)
        return next(reading, SLU_E2B_OLD_ROUTE);
    if (!is_made(reading->response))
        return fail(reading);
    if (!take_made(reading))
        return end(reading, SLU_OUTCOME_AMBIGUOUS, "the answer names no sandbox");
    reading->exchange->facts.outcome = SLU_OUTCOME_DONE;
    return SLU_LAST;
}

static bool
has_egress_rules(const struct slu_call *call)
{
    SLU_AUTO_JSON json_t *spec = call->spec ? slu_spec_tree(call->spec, strlen(call->spec)) : NULL;
    return json_object_get(spec, "egressRules") != NULL;
}

static enum slu_more
read_network(const struct reading *reading)
{
    const int status = reading->response->status;
    if (status < 200 || status > 299)
        return fail(reading);
    reading->exchange->facts.outcome = SLU_OUTCOME_DONE;
    return SLU_LAST;
}

/* 404 has two meanings here: no such route, or no such sandbox. A look tells. */
static enum slu_more
read_resume_check(const struct reading *reading)
{
    SLU_AUTO_JSON json_t *sandbox = NULL;
    if (!read_look(reading, &sandbox))
        return SLU_LAST;
    return next(reading, SLU_E2B_OLD_ROUTE);
}

static enum slu_more
read_resume(const struct reading *reading)
{
    const int step = reading->exchange->step;
    if (step == SLU_E2B_NETWORK)
        return read_network(reading);
    if (step == SLU_E2B_CHECK)
        return read_resume_check(reading);
    if (reading->response->status == 404 && step == SLU_E2B_FIRST)
        return next(reading, SLU_E2B_CHECK);
    if (!is_made(reading->response))
        return fail(reading);
    if (!take_made(reading))
        return end(reading, SLU_OUTCOME_AMBIGUOUS, "the answer names no sandbox");
    if (reading->dialect->egress && has_egress_rules(reading->call))
        return next(reading, SLU_E2B_NETWORK);
    reading->exchange->facts.outcome = SLU_OUTCOME_DONE;
    return SLU_LAST;
}

static enum slu_more
read_pause_check(const struct reading *reading)
{
    SLU_AUTO_JSON json_t *sandbox = NULL;
    if (!read_look(reading, &sandbox))
        return SLU_LAST;
    if (reading->exchange->facts.seen[0].life == SLU_LIFE_PAUSED) {
        reading->exchange->facts.outcome = SLU_OUTCOME_DONE;
        return SLU_LAST;
    }
    return end(reading, SLU_OUTCOME_BUSY, "refused, and a look shows it is not paused");
}

static enum slu_more
read_pause(const struct reading *reading)
{
    const struct slu_http_response *response = reading->response;
    if (reading->exchange->step == SLU_E2B_CHECK)
        return read_pause_check(reading);
    if (response->status == 204) {
        reading->exchange->facts.outcome = SLU_OUTCOME_DONE;
        return SLU_LAST;
    }
    fail(reading);
    const bool says_already = strstr(reading->exchange->facts.message, "already paused") != NULL;
    if (response->status == 404 || (response->status == 409 && says_already))
        return next(reading, SLU_E2B_CHECK);
    return SLU_LAST;
}

static enum slu_more
read_delete(const struct reading *reading)
{
    if (reading->response->status != 204 && !slu_e2b_says_gone(reading->response))
        return fail(reading);
    reading->exchange->facts.outcome = SLU_OUTCOME_DONE;
    return SLU_LAST;
}

/* A paused sandbox has no time-out to set: that is a 404 as well, and ends as "look again". */
static enum slu_more
read_extend_check(const struct reading *reading)
{
    SLU_AUTO_JSON json_t *sandbox = NULL;
    if (!read_look(reading, &sandbox))
        return SLU_LAST;
    return end(reading, SLU_OUTCOME_AMBIGUOUS, "there is a sandbox, but it takes no time-out now");
}

static enum slu_more
read_extend(const struct reading *reading)
{
    if (reading->exchange->step == SLU_E2B_CHECK)
        return read_extend_check(reading);
    if (reading->response->status == 404)
        return next(reading, SLU_E2B_CHECK);
    if (reading->response->status != 204)
        return fail(reading);
    reading->exchange->facts.outcome = SLU_OUTCOME_DONE;
    return SLU_LAST;
}

static enum slu_more
read_init(const struct reading *reading)
{
    if (reading->exchange->step == SLU_E2B_START) {
        slu_e2b_init_response(reading->instance, reading->call, &reading->exchange->facts,
                              reading->response);
        return SLU_LAST;
    }
    SLU_AUTO_JSON json_t *sandbox = NULL;
    if (!read_look(reading, &sandbox))
        return SLU_LAST;
    if (reading->exchange->facts.seen[0].life != SLU_LIFE_RUNNING)
        return end(reading, SLU_OUTCOME_AMBIGUOUS, "the sandbox does not run");
    slu_e2b_init_address(sandbox, reading->exchange);
    return next(reading, SLU_E2B_START);
}

/* No answer. Nothing was sent at all only when this was the call's first exchange. */
static enum slu_more
read_silence(const struct reading *reading)
{
    const struct slu_exchange *exchange = reading->exchange;
    const bool nothing_sent = reading->response->end == SLU_HTTP_NEVER_SENT &&
                              exchange->step == SLU_E2B_FIRST && exchange->page == 0;
    return end(reading, nothing_sent ? SLU_OUTCOME_NEVER_SENT : SLU_OUTCOME_AMBIGUOUS,
               reading->response->error);
}

enum slu_more
slu_e2b_response(const struct slu_e2b_dialect *dialect,
                 const struct slu_provider_instance *instance,
                 const struct slu_call *call,
                 struct slu_exchange *exchange,
                 const struct slu_http_response *response)
{
    const struct reading reading = {dialect, instance, call, exchange, response};
    if (response->end != SLU_HTTP_ANSWERED)
        return read_silence(&reading);

    switch (call->action) {
    case SLU_ACTION_INSPECT:
        return read_inspect(&reading);
    case SLU_ACTION_CREATE:
        return read_create(&reading);
    case SLU_ACTION_RESUME:
        return read_resume(&reading);
    case SLU_ACTION_PAUSE:
        return read_pause(&reading);
    case SLU_ACTION_DELETE:
        return read_delete(&reading);
    case SLU_ACTION_EXTEND:
        return read_extend(&reading);
    case SLU_ACTION_INIT:
        return read_init(&reading);
    case SLU_ACTION_NONE:
    case SLU_ACTION_CHECKPOINT:
    case SLU_ACTION_REWIND:
    case SLU_ACTION_RESTORE:
    case SLU_ACTION_COUNT:
        break;
    }
    return end(&reading, SLU_OUTCOME_PERMANENT, "this provider has no such operation");
}
