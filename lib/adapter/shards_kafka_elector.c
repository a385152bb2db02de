/* SPDX-License-Identifier: Apache-2.0 */
/* The elector's thread.
 *
 * Everything that touches the group happens here, so "no rebalance came in between" is a comparison
 * of two numbers. It polls only while the loop ticks: a process whose loop hangs leaves the group
 * after max.poll.interval.ms, although this thread is well. Assignments are taken eagerly: while a
 * rebalance goes on the present assignment is empty, and candidacy stays as last confirmed. */
#include "shards_kafka_elector.h"

#include "slu/base/memory.h"
#include "slu/port/clock.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TICK_MAX_MS = 3 * 1000,
    NAP_MS = 100,
    COMMIT_TIMEOUT_MS = 5 * 1000,
    CONFIRM_RETRY_MS = 20,
    DRAIN_MS = 3 * 1000,
    LOST_COORDINATOR_MS = 60 * 1000,
};

struct request {
    struct request *next;
    int shard;
    bool tell;
    bool answered;
    enum slu_confirmed answer;
    struct slu_error error;
};

struct slu_elector {
    struct slu_elector_settings settings;
    char *group;
    char *topic;
    int bell;
    atomic_llong ticked_ms;
    pthread_t thread;
    bool started; /* Caller's thread. */
    atomic_bool stopping;

    pthread_mutex_t lock; /* Guards `requests`, their answers and `serving`. */
    pthread_cond_t changed;
    struct request *requests;
    bool serving; /* The thread runs and answers. */

    /* The elector's thread alone. */
    rd_kafka_t *client;
    bool *assigned;  /* By shard: in the present assignment. */
    bool *candidate; /* By shard: as last told. */
    bool has_assignment;
    bool unconfirmed; /* The present assignment was not confirmed yet. */
    int64_t rebalances;
    int64_t confirm_at_ms;
    int64_t away_until_ms; /* 0: a member, or trying to be. */
    int64_t joining_since_ms;
};

struct slu_elector *
slu_elector_new(const struct slu_elector_settings *settings)
{
    struct slu_elector *elector = slu_alloc(sizeof(*elector));
    elector->settings = *settings;
    elector->group = slu_strdup(settings->group);
    elector->topic = slu_kafka_topic_name(settings->kafka, SLU_TOPIC_SHARDS);
    elector->assigned = slu_alloc((size_t) settings->shard_count * sizeof(bool));
    elector->candidate = slu_alloc((size_t) settings->shard_count * sizeof(bool));
    elector->bell = slu_bell_open();
    slu_lock_init(&elector->lock, &elector->changed);
    slu_elector_tick(elector);
    return elector;
}

void
slu_elector_tick(struct slu_elector *elector)
{
    atomic_store(&elector->ticked_ms, slu_clock_boottime_ms());
}

static bool
is_ticking(struct slu_elector *elector)
{
    return slu_clock_boottime_ms() - atomic_load(&elector->ticked_ms) <= TICK_MAX_MS;
}

static void
tell(struct slu_elector *elector, enum slu_shard_event_kind kind, int shard, const char *why)
{
    struct slu_shard_event event = {.kind = kind, .shard = shard};
    if (why)
        (void) slu_fail(&event.error, SLU_RETRY, "%s", why);
    slu_events_put(elector->settings.events, &event);
}

/* --- the group ------------------------------------------------------------------------------- */

static void
take_assignment(struct slu_elector *elector, rd_kafka_topic_partition_list_t *partitions)
{
    /* An absolute offset: nothing is asked about positions that nobody reads. */
    for (int i = 0; i < partitions->cnt; i++) {
        partitions->elems[i].offset = 0;
        if (partitions->elems[i].partition < elector->settings.shard_count)
            elector->assigned[partitions->elems[i].partition] = true;
    }
    rd_kafka_assign(elector->client, partitions);
    rd_kafka_pause_partitions(elector->client, partitions);
    elector->has_assignment = true;
    elector->unconfirmed = true;
    elector->confirm_at_ms = 0;
}

static void
drop_assignment(struct slu_elector *elector)
{
    for (int i = 0; i < elector->settings.shard_count; i++)
        elector->assigned[i] = false;
    rd_kafka_assign(elector->client, NULL);
    elector->has_assignment = false;
    elector->unconfirmed = false;
    elector->joining_since_ms = slu_clock_boottime_ms();
}

static void
on_rebalance(rd_kafka_t *client,
             rd_kafka_resp_err_t code,
             rd_kafka_topic_partition_list_t *partitions,
             void *context)
{
    (void) client;
    struct slu_elector *elector = context;
    elector->rebalances++;
    if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
        take_assignment(elector, partitions);
    else
        drop_assignment(elector);
}

static void
on_error(rd_kafka_t *client, int code, const char *why, void *context)
{
    (void) client;
    struct slu_elector *elector = context;
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
        elector->settings.suspect(elector->settings.context, why);
}

static rd_kafka_t *
make_member(struct slu_elector *elector, struct slu_error *reterr)
{
    char session[24];
    char poll_interval[24];
    const int64_t session_ms = elector->settings.session_timeout_ms;
    snprintf(session, sizeof(session), "%lld", (long long) session_ms);
    snprintf(poll_interval, sizeof(poll_interval), "%lld",
             (long long) (session_ms > 6000 ? session_ms : 6000));
    const struct slu_kafka_property rows[] = {
        {"group.id", elector->group},
        {"partition.assignment.strategy", "range"}, /* cooperative-sticky aborts 2.0.2. */
        {"session.timeout.ms", session},
        {"max.poll.interval.ms", poll_interval},
        {"heartbeat.interval.ms", "200"},
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"},
        {"allow.auto.create.topics", "false"},
        {"auto.offset.reset", "latest"},
    };
    rd_kafka_conf_t *conf =
        slu_kafka_conf_new(elector->settings.kafka, rows, SLU_COUNT(rows), reterr);
    if (!conf)
        return NULL;
    rd_kafka_conf_set_opaque(conf, elector);
    rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
    rd_kafka_conf_set_error_cb(conf, on_error);
    return slu_kafka_new(RD_KAFKA_CONSUMER, conf, reterr);
}

static void
subscribe(struct slu_elector *elector)
{
    SLU_AUTO_KAFKA_LIST rd_kafka_topic_partition_list_t *topics =
        rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, elector->topic, RD_KAFKA_PARTITION_UA);
    rd_kafka_subscribe(elector->client, topics);
    elector->joining_since_ms = slu_clock_boottime_ms();
}

static bool
join(struct slu_elector *elector)
{
    struct slu_error error;
    elector->client = make_member(elector, &error);
    if (!elector->client) {
        tell(elector, SLU_SHARD_ALARM, -1, error.message);
        return false;
    }
    rd_kafka_poll_set_consumer(elector->client);
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(elector->client);
    const uint64_t one = 1;
    rd_kafka_queue_io_event_enable(queue, elector->bell, &one, sizeof(one));
    rd_kafka_queue_destroy(queue);
    subscribe(elector);
    return true;
}

/* Serves everything the library has to say. True: this member cannot go on. */
static bool
serve_member(struct slu_elector *elector)
{
    bool is_dead = false;
    rd_kafka_message_t *message;
    while ((message = rd_kafka_consumer_poll(elector->client, 0))) {
        is_dead = is_dead || message->err == RD_KAFKA_RESP_ERR__FATAL;
        rd_kafka_message_destroy(message);
    }
    return is_dead;
}

/* Unsubscribing with a rebalance callback sends LeaveGroup at once; closing alone may not. */
static void
leave(struct slu_elector *elector)
{
    rd_kafka_unsubscribe(elector->client);
    const int64_t until_ms = slu_clock_boottime_ms() + DRAIN_MS;
    while (elector->has_assignment && slu_clock_boottime_ms() < until_ms) {
        slu_bell_sleep(elector->bell, CONFIRM_RETRY_MS);
        (void) serve_member(elector);
    }
    (void) serve_member(elector);
}

/* A client that lost its coordinator for good, or met a fatal error, is replaced. */
static bool
start_over(struct slu_elector *elector)
{
    drop_assignment(elector);
    slu_reaper_take(elector->settings.reaper, slu_steal(elector->client));
    return join(elector);
}

/* --- confirm --------------------------------------------------------------------------------- */

static enum slu_status
wait_for_commit(rd_kafka_queue_t *queue, struct slu_error *reterr)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, COMMIT_TIMEOUT_MS);
    if (!event)
        return slu_fail(reterr, SLU_RETRY, "confirming: the group's coordinator does not answer");
    const rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    rd_kafka_event_destroy(event);
    return code ? slu_kafka_fail_code(reterr, SLU_RETRY, "confirming", code) : SLU_OK;
}

/* The synchronous offset commit: the coordinator refuses it from a member of a past generation. */
static enum slu_status
commit_offsets(struct slu_elector *elector, const bool *wanted, struct slu_error *reterr)
{
    SLU_AUTO_KAFKA_LIST rd_kafka_topic_partition_list_t *offsets =
        rd_kafka_topic_partition_list_new(elector->settings.shard_count);
    for (int i = 0; i < elector->settings.shard_count; i++) {
        if (wanted[i])
            rd_kafka_topic_partition_list_add(offsets, elector->topic, i)->offset = 0;
    }
    /* With no shard of ours the generation is confirmed all the same. */
    if (offsets->cnt == 0)
        rd_kafka_topic_partition_list_add(offsets, elector->topic, 0)->offset = 0;

    SLU_AUTO_KAFKA_QUEUE rd_kafka_queue_t *queue = rd_kafka_queue_new(elector->client);
    const rd_kafka_resp_err_t code =
        rd_kafka_commit_queue(elector->client, offsets, queue, NULL, NULL);
    if (code)
        return slu_kafka_fail_code(reterr, SLU_RETRY, "confirming", code);
    return wait_for_commit(queue, reterr);
}

/* True when the present assignment was confirmed: served before, committed, and no rebalance was
 * waiting to be served after. */
static bool
confirm_assignment(struct slu_elector *elector, const bool *wanted, struct slu_error *reterr)
{
    if (!elector->has_assignment) {
        (void) slu_fail(reterr, SLU_RETRY, "confirming: the group has not assigned its shards yet");
        return false;
    }
    const int64_t rebalances = elector->rebalances;
    if (commit_offsets(elector, wanted, reterr))
        return false;
    (void) serve_member(elector);
    if (rebalances != elector->rebalances || rd_kafka_assignment_lost(elector->client)) {
        (void) slu_fail(reterr, SLU_RETRY, "confirming: a rebalance came in between");
        return false;
    }
    return true;
}

/* The assignment is confirmed: tells who became and who ceased to be a candidate. */
static void
tell_candidacy(struct slu_elector *elector)
{
    elector->unconfirmed = false;
    for (int i = 0; i < elector->settings.shard_count; i++) {
        if (elector->assigned[i] == elector->candidate[i])
            continue;
        elector->candidate[i] = elector->assigned[i];
        tell(elector, elector->assigned[i] ? SLU_SHARD_CANDIDATE : SLU_SHARD_NOT_CANDIDATE, i,
             elector->assigned[i] ? NULL : "the group gave the shard to another replica");
    }
}

static void
answer_all(struct slu_elector *elector,
           struct request *requests,
           bool confirmed,
           const struct slu_error *error)
{
    pthread_mutex_lock(&elector->lock);
    while (requests) {
        struct request *request = requests;
        requests = request->next;
        request->answer = SLU_CONFIRMED_NOT_YET;
        if (confirmed)
            request->answer =
                elector->assigned[request->shard] ? SLU_CONFIRMED_YES : SLU_CONFIRMED_NO;
        request->error = *error;
        if (request->answer == SLU_CONFIRMED_NO) {
            (void) slu_fail(&request->error, SLU_CONFLICT, "the group did not assign the shard");
            const bool is_news = elector->candidate[request->shard];
            elector->candidate[request->shard] = false;
            if (request->tell || is_news)
                tell(elector, SLU_SHARD_NOT_CANDIDATE, request->shard, request->error.message);
        }
        request->answered = true;
    }
    pthread_cond_broadcast(&elector->changed);
    pthread_mutex_unlock(&elector->lock);
}

static struct request *
take_requests(struct slu_elector *elector)
{
    pthread_mutex_lock(&elector->lock);
    struct request *requests = slu_steal(elector->requests);
    pthread_mutex_unlock(&elector->lock);
    return requests;
}

/* One commit answers everybody who waits, and confirms a new assignment by the way. */
static void
serve_confirms(struct slu_elector *elector)
{
    struct request *requests = take_requests(elector);
    const bool is_due = elector->unconfirmed && slu_clock_boottime_ms() >= elector->confirm_at_ms;
    if (!requests && !is_due)
        return;

    struct slu_error error = {0};
    if (elector->away_until_ms) { /* Out of the group by our own will: that is an answer. */
        answer_all(elector, requests, true, &error);
        return;
    }
    SLU_AUTO_FREE bool *wanted = slu_alloc((size_t) elector->settings.shard_count * sizeof(bool));
    for (const struct request *each = requests; each; each = each->next)
        wanted[each->shard] = elector->assigned[each->shard];

    const bool confirmed = confirm_assignment(elector, wanted, &error);
    if (confirmed)
        tell_candidacy(elector);
    elector->confirm_at_ms = slu_clock_boottime_ms() + CONFIRM_RETRY_MS;
    answer_all(elector, requests, confirmed, &error);
}

/* --- the thread ------------------------------------------------------------------------------ */

/* Shards that this replica leads go on until another one fences it; the stuck one is given up. */
static void
go_away(struct slu_elector *elector, int stuck_shard)
{
    char why[160];
    const int64_t away_s = elector->settings.away_ms / 1000;
    snprintf(why, sizeof(why),
             "shard %d could not be claimed for %lld s: leaving the group for as long", stuck_shard,
             (long long) away_s);
    tell(elector, SLU_SHARD_ALARM, stuck_shard, why);
    leave(elector);
    elector->away_until_ms = slu_clock_boottime_ms() + elector->settings.away_ms;
    elector->candidate[stuck_shard] = false;
    tell(elector, SLU_SHARD_NOT_CANDIDATE, stuck_shard, why);
}

static bool
keep_membership(struct slu_elector *elector)
{
    const int64_t now_ms = slu_clock_boottime_ms();
    if (elector->away_until_ms) {
        if (now_ms < elector->away_until_ms)
            return true;
        elector->away_until_ms = 0;
        subscribe(elector);
        return true;
    }
    const int stuck_shard = elector->settings.stuck(elector->settings.context);
    if (stuck_shard >= 0)
        go_away(elector, stuck_shard);
    else if (!elector->has_assignment && now_ms - elector->joining_since_ms > LOST_COORDINATOR_MS)
        return start_over(elector);
    return true;
}

static void
set_serving(struct slu_elector *elector, bool serving)
{
    pthread_mutex_lock(&elector->lock);
    elector->serving = serving;
    pthread_mutex_unlock(&elector->lock);
}

static void *
run_elector(void *context)
{
    struct slu_elector *elector = context;
    struct slu_error silent;
    (void) slu_fail(&silent, SLU_RETRY, "confirming: the loop has not ticked for %d ms",
                    TICK_MAX_MS);

    bool alive = join(elector);
    while (alive && !atomic_load(&elector->stopping)) {
        slu_bell_sleep(elector->bell, elector->unconfirmed ? CONFIRM_RETRY_MS : NAP_MS);
        if (!is_ticking(elector)) {
            answer_all(elector, take_requests(elector), false, &silent);
            continue;
        }
        if (serve_member(elector))
            alive = start_over(elector);
        if (alive) {
            serve_confirms(elector);
            alive = keep_membership(elector);
        }
    }

    set_serving(elector, false);
    answer_all(elector, take_requests(elector), false, &silent);
    if (elector->client) {
        leave(elector);
        rd_kafka_consumer_close(elector->client);
    }
    return NULL;
}

void
slu_elector_elect(struct slu_elector *elector)
{
    if (elector->started)
        return;
    set_serving(elector, true);
    elector->started = slu_thread_start(&elector->thread, "slu-elector", run_elector, elector);
    if (elector->started)
        return;
    set_serving(elector, false);
    tell(elector, SLU_SHARD_ALARM, -1, "no thread for the elector: too many are running");
}

bool
slu_elector_stop(struct slu_elector *elector, int64_t patience_ms)
{
    atomic_store(&elector->stopping, true);
    slu_bell_ring(elector->bell);
    return !elector->started || slu_thread_join(elector->thread, patience_ms);
}

void
slu_elector_free(struct slu_elector *elector)
{
    if (!elector)
        return;
    slu_reaper_take(elector->settings.reaper, elector->client);
    slu_lock_done(&elector->lock, &elector->changed);
    slu_bell_close(elector->bell);
    free(elector->group);
    free(elector->topic);
    free(elector->assigned);
    free(elector->candidate);
    free(elector);
}

enum slu_confirmed
slu_elector_confirm(struct slu_elector *elector, int shard, bool tell_no, struct slu_error *reterr)
{
    struct request request = {.shard = shard, .tell = tell_no};
    assert(shard >= 0 && shard < elector->settings.shard_count);

    pthread_mutex_lock(&elector->lock);
    if (!elector->serving) {
        pthread_mutex_unlock(&elector->lock);
        (void) slu_fail(reterr, SLU_RETRY, "confirming: this replica is in no group");
        return SLU_CONFIRMED_NOT_YET;
    }
    request.next = elector->requests;
    elector->requests = &request;
    slu_bell_ring(elector->bell);
    while (!request.answered)
        pthread_cond_wait(&elector->changed, &elector->lock);
    pthread_mutex_unlock(&elector->lock);

    if (request.answer != SLU_CONFIRMED_YES && reterr)
        *reterr = request.error;
    return request.answer;
}
