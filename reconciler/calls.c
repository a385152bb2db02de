/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include "providers.h"
#include "slu/base/log.h"
#include "slu/base/memory.h"
#include "slu/port/clock.h"
#include "turn.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call and where it stands. Lives until it is answered or dropped. */
struct slu_flight {
    struct slu_shard *shard;
    uint64_t life; /* Of the shard when the call was decided. */
    int slot;
    bool is_fence; /* Our own look that shows the epoch; the engine knows nothing of it. */
    bool held;     /* may_send said no: wait for a younger proof. */
    struct slu_call *call;
    struct slu_exchange exchange;
    int64_t decided_ms, sent_ms; /* BOOTTIME; sent: the first byte of the first exchange. */
    struct slu_flight *next;     /* Of those that wait. */
};

static void
free_flight(struct slu_flight *flight)
{
    slu_call_free(flight->call);
    explicit_bzero(&flight->exchange, sizeof(flight->exchange)); /* It may hold a token. */
    free(flight);
}

static bool
is_current(const struct slu_flight *flight)
{
    return flight->life == flight->shard->life && flight->shard->engine;
}

static struct slu_provider_slot *
slot_of(const struct slu_flight *flight)
{
    return &flight->shard->replica->providers[flight->slot];
}

static bool
is_proven(const struct slu_shard *shard)
{
    return slu_clock_boottime_ms() - shard->proof_boottime_ms < SLU_PROOF_MS;
}

static void
wait_turn(struct slu_flight *flight)
{
    flight->next = flight->shard->waiting;
    flight->shard->waiting = flight;
}

/* --- the end of a call -------------------------------------------------------------------------
 */

static void
count(const struct slu_flight *flight)
{
    struct slu_metrics *metrics = &flight->shard->replica->metrics;
    metrics->outcomes[flight->slot][flight->call->action][flight->exchange.facts.outcome]++;
    if (flight->sent_ms)
        slu_histogram_add(&metrics->calls[flight->slot], slu_clock_boottime_ms() - flight->sent_ms);
}

/* An answer leads to the next request of its exchange, and one that cannot be sent is an answer:
 * the chain ends with the exchange, whose steps the provider numbers. */
// NOLINTBEGIN(misc-no-recursion)
static void
fence_is_answered(struct slu_flight *flight)
{
    struct slu_shard *shard = flight->shard;
    const enum slu_outcome outcome = flight->exchange.facts.outcome;
    if (outcome == SLU_OUTCOME_DONE) {
        shard->fences[flight->slot] = SLU_FENCE_SHOWN;
        slu_calls_retry(shard);
        return;
    }
    /* Whoever waits is told that nothing was sent; the next change asks again. */
    shard->fences[flight->slot] = SLU_FENCE_UNKNOWN;
    struct slu_flight *all = slu_steal(shard->waiting);
    while (all) {
        struct slu_flight *one = all;
        all = one->next;
        if (one->slot != flight->slot) {
            wait_turn(one);
            continue;
        }
        one->exchange.facts = (struct slu_facts){.outcome = SLU_OUTCOME_NEVER_SENT};
        snprintf(one->exchange.facts.message, sizeof(one->exchange.facts.message),
                 "the provider could not be shown this leader's epoch: %.300s",
                 flight->exchange.facts.message);
        count(one);
        slu_engine_answer(shard->engine, one->call->id, &one->exchange.facts, slu_turn_now(shard));
        free_flight(one);
    }
}

/* The provider asked for quiet: it gets it for all calls, not only for this one. */
static void
hold_queue(const struct slu_flight *flight)
{
    const struct slu_facts *facts = &flight->exchange.facts;
    if (facts->outcome == SLU_OUTCOME_CAPACITY && facts->retry_after_ms > 0) {
        const int64_t most_ms = 60000;
        slu_http_queue_hold(slot_of(flight)->queue,
                            facts->retry_after_ms < most_ms ? facts->retry_after_ms : most_ms);
    }
}

static void
finish(struct slu_flight *flight)
{
    struct slu_shard *shard = flight->shard;
    if (is_current(flight)) {
        count(flight);
        hold_queue(flight);
        if (flight->exchange.facts.outcome == SLU_OUTCOME_REJECTED)
            slu_turn_want_proof(shard); /* Says whether we still lead. */
        if (flight->is_fence)
            fence_is_answered(flight);
        else
            slu_engine_answer(shard->engine, flight->call->id, &flight->exchange.facts,
                              slu_turn_now(shard));
        slu_turn_soon(shard);
    }
    free_flight(flight);
}

static void
fail(struct slu_flight *flight, enum slu_outcome outcome, const char *message)
{
    struct slu_facts *facts = &flight->exchange.facts;
    facts->outcome = outcome;
    snprintf(facts->message, sizeof(facts->message), "%s", message);
    finish(flight);
}

/* --- exchanges -----------------------------------------------------------------------------------
 */

/* Asked last, right before the first byte leaves. */
static bool
may_send(void *context)
{
    struct slu_flight *flight = context;
    if (!is_current(flight))
        return false;
    const bool first = flight->exchange.step == 0 && flight->exchange.page == 0;
    if (first && flight->shard->replica->stage != SLU_STAGE_RUNNING)
        return false;
    if (flight->call->changes && !is_proven(flight->shard)) {
        flight->held = true;
        return false;
    }
    if (!flight->sent_ms) {
        flight->sent_ms = slu_clock_boottime_ms();
        slu_histogram_add(&flight->shard->replica->metrics.queued,
                          flight->sent_ms - flight->decided_ms);
    }
    return true;
}

static void send_next(struct slu_flight *flight);

static void
on_answer(void *context, const struct slu_http_response *response)
{
    struct slu_flight *flight = context;
    struct slu_provider_slot *slot = slot_of(flight);
    flight->shard->flying--;
    if (!is_current(flight)) {
        free_flight(flight);
        return;
    }
    if (flight->held && response->end == SLU_HTTP_NEVER_SENT) {
        flight->held = false;
        wait_turn(flight);
        slu_turn_want_proof(flight->shard);
        return;
    }
    slu_providers_heard(flight->shard->replica, slot, response);
    if (slot->provider->response(slot->instance, flight->call, &flight->exchange, response) ==
        SLU_MORE)
        send_next(flight);
    else
        finish(flight);
}

static void
send_next(struct slu_flight *flight)
{
    const struct slu_provider_slot *slot = slot_of(flight);
    struct slu_error error = {0};
    struct slu_http_job job = {
        .low_lane = flight->call->low_lane,
        .tenant = flight->call->tenant,
        .may_send = may_send,
        .done = on_answer,
        .context = flight,
    };
    if (slot->provider->request(slot->instance, flight->call, &flight->exchange, &job.request,
                                &error)) {
        slu_http_request_done(&job.request);
        fail(flight, SLU_OUTCOME_PERMANENT, error.message);
        return;
    }
    flight->shard->flying++;
    slu_http_submit(slot->queue, &job);
}

/* --- fences
 * ---------------------------------------------------------------------------------------- */

/* A look for a key that nobody can have: it changes nothing, and its headers show the epoch. */
static void
show_fence(struct slu_shard *shard, const struct slu_flight *cause)
{
    struct slu_flight *flight = slu_alloc(sizeof(*flight));
    flight->shard = shard;
    flight->life = shard->life;
    flight->slot = cause->slot;
    flight->is_fence = true;
    flight->decided_ms = slu_clock_boottime_ms();
    flight->call = slu_call_copy(cause->call);
    flight->call->action = SLU_ACTION_INSPECT;
    flight->call->by_label = true;
    flight->call->changes = false;
    flight->call->low_lane = false;
    flight->call->timeout_ms = slot_of(flight)->instance->timeout_ms[SLU_ACTION_INSPECT];
    free(flight->call->key);
    flight->call->key = slu_strdup("fence/-");
    shard->fences[cause->slot] = SLU_FENCE_ASKED;
    send_next(flight);
}

static bool
fence_is_shown(struct slu_flight *flight)
{
    struct slu_shard *shard = flight->shard;
    if (!slu_instance_has(slot_of(flight)->instance, "fences"))
        return true;
    if (shard->fences[flight->slot] == SLU_FENCE_UNKNOWN)
        show_fence(shard, flight);
    return shard->fences[flight->slot] == SLU_FENCE_SHOWN;
}

static void
send_or_wait(struct slu_flight *flight)
{
    if (!flight->call->changes) {
        send_next(flight);
        return;
    }
    if (!is_proven(flight->shard)) {
        wait_turn(flight);
        slu_turn_want_proof(flight->shard);
    } else if (!fence_is_shown(flight)) {
        wait_turn(flight);
    } else {
        send_next(flight);
    }
}

/* --- what the shard asks for
 * ------------------------------------------------------------------------- */

void
slu_calls_start(struct slu_shard *shard, struct slu_call *call)
{
    struct slu_flight *flight = slu_alloc(sizeof(*flight));
    flight->shard = shard;
    flight->life = shard->life;
    flight->call = call;
    flight->decided_ms = slu_clock_boottime_ms();
    flight->slot = slu_providers_find(shard->replica, call->provider);
    if (flight->slot < 0) {
        flight->slot = 0;
        struct slu_facts facts = {.outcome = SLU_OUTCOME_PERMANENT};
        snprintf(facts.message, sizeof(facts.message),
                 "provider \"%s\" is not configured at this replica", call->provider);
        slu_engine_answer(shard->engine, call->id, &facts, slu_turn_now(shard));
        slu_turn_soon(shard);
        free_flight(flight);
        return;
    }
    send_or_wait(flight);
}

void
slu_calls_retry(struct slu_shard *shard)
{
    /* Turned round once, so that the first to wait is the first to go. */
    struct slu_flight *all = slu_steal(shard->waiting);
    struct slu_flight *in_order = NULL;
    while (all) {
        struct slu_flight *flight = all;
        all = flight->next;
        flight->next = in_order;
        in_order = flight;
    }
    while (in_order) {
        struct slu_flight *flight = in_order;
        in_order = flight->next;
        send_or_wait(flight);
    }
}

// NOLINTEND(misc-no-recursion)

void
slu_calls_drop(struct slu_shard *shard)
{
    while (shard->waiting) {
        struct slu_flight *flight = shard->waiting;
        shard->waiting = flight->next;
        free_flight(flight);
    }
}
