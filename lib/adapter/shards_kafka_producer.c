/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt to commit: begin, produce, commit, and what the answers mean.
 *
 * Errors are read in the library's own order: fatal, abortable, retriable, everything else fatal.
 * The library tries again by itself until the time is up, so "retriable" means that the time is up:
 * the request may still be on its way and hit a later transaction of the same producer. Such a
 * producer is not used again. */
#include "shards_kafka_producer.h"

#include "slu/base/memory.h"
#include "slu/port/clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    METADATA_TIMEOUT_MS = 5 * 1000,
    INIT_TIMEOUT_MS = 1000,
    COMMIT_TIMEOUT_MS = 9 * 1000, /* message.timeout.ms first: a clean abort is better. */
    ABORT_TIMEOUT_MS = 5 * 1000,
    CALL_MS = 500, /* Of a call that is made again and again until then. */
    QUEUE_FULL_WAIT_MS = 10,
    QUEUE_FULL_TRIES = 800, /* 8 s, as message.timeout.ms. */
};

struct slu_producer {
    rd_kafka_t *client;
    rd_kafka_topic_t *topics[SLU_TOPIC_COUNT];
    int partitions[SLU_TOPIC_COUNT];
    const atomic_bool *stop; /* NULL: never. */

    /* The attempt that runs, for the delivery reports. */
    struct slu_attempt *attempt;
    uintptr_t attempt_number; /* Marks the shard record: reports of earlier attempts are stale. */
    const char *refused;      /* Topic of an output that the broker will never take. */
};

static void
on_report(rd_kafka_t *client, const rd_kafka_message_t *message, void *context)
{
    (void) client;
    struct slu_producer *producer = context;
    if (message->err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
        message->err == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE ||
        message->err == RD_KAFKA_RESP_ERR_INVALID_RECORD) /* No key, in a compacted topic. */
        producer->refused = rd_kafka_topic_name(message->rkt);
    if (message->err || !producer->attempt ||
        (uintptr_t) message->_private != producer->attempt_number)
        return;
    producer->attempt->append_ms = rd_kafka_message_timestamp(message, NULL);
    producer->attempt->done_boottime_ms = slu_clock_boottime_ms();
    producer->attempt->reported = true;
}

static rd_kafka_t *
make_client(const struct slu_kafka *kafka,
            const char *transactional_id,
            struct slu_producer *producer,
            struct slu_error *reterr)
{
    const struct slu_kafka_property rows[] = {
        {"transactional.id", transactional_id},
        {"transaction.timeout.ms", "10000"},
        {"message.timeout.ms", "8000"},
        {"acks", "all"},
        {"linger.ms", "1"},
        {"compression.type", "lz4"},
        {"message.max.bytes", "2031616"}, /* 2 MiB − 64 KiB. */
        {"batch.size", "1000000"}, /* Small records together must fit a topic of 1 MiB, too. */
        {"allow.auto.create.topics", "false"},
    };
    rd_kafka_conf_t *conf = slu_kafka_conf_new(kafka, rows, SLU_COUNT(rows), reterr);
    if (!conf)
        return NULL;
    rd_kafka_conf_set_opaque(conf, producer);
    rd_kafka_conf_set_dr_msg_cb(conf, on_report); /* Without one, commits wait in steps of 10 ms. */
    return slu_kafka_new(RD_KAFKA_PRODUCER, conf, reterr);
}

/* Learns how many partitions each topic has: a record for one that does not exist would wait. */
static enum slu_status
warm_up(struct slu_producer *producer, struct slu_error *reterr)
{
    const struct rd_kafka_metadata *metadata;
    const rd_kafka_resp_err_t code =
        rd_kafka_metadata(producer->client, 0, NULL, &metadata, METADATA_TIMEOUT_MS);
    if (code)
        return slu_kafka_fail_code(reterr, SLU_RETRY, "asking Kafka for its topics", code);

    for (int i = 0; i < SLU_TOPIC_COUNT; i++) {
        const char *name = rd_kafka_topic_name(producer->topics[i]);
        for (int each = 0; each < metadata->topic_cnt; each++) {
            if (strcmp(metadata->topics[each].topic, name) == 0 && !metadata->topics[each].err)
                producer->partitions[i] = metadata->topics[each].partition_cnt;
        }
        if (producer->partitions[i] == 0) {
            rd_kafka_metadata_destroy(metadata);
            return slu_fail(reterr, SLU_RETRY, "topic %s does not exist; run: sluice topics create",
                            name);
        }
    }
    rd_kafka_metadata_destroy(metadata);
    return SLU_OK;
}

enum slu_status
slu_producer_open(const struct slu_kafka *kafka,
                  const char *transactional_id,
                  const atomic_bool *stop,
                  struct slu_producer **ret_producer,
                  struct slu_error *reterr)
{
    struct slu_producer *producer = slu_alloc(sizeof(*producer));
    producer->stop = stop;
    producer->client = make_client(kafka, transactional_id, producer, reterr);
    if (!producer->client) {
        free(producer);
        return SLU_INVALID;
    }
    slu_kafka_topics_open(kafka, producer->client, producer->topics);
    *ret_producer = producer; /* Also when its topics are not known: the caller closes it. */
    return warm_up(producer, reterr);
}

enum slu_status
slu_producer_init(struct slu_producer *producer, struct slu_error *reterr)
{
    rd_kafka_error_t *error = rd_kafka_init_transactions(producer->client, INIT_TIMEOUT_MS);
    if (!error)
        return SLU_OK;
    const bool again = !rd_kafka_error_is_fatal(error) && rd_kafka_error_is_retriable(error);
    return slu_kafka_fail(reterr, again ? SLU_RETRY : SLU_FATAL, "taking the shard's producer id",
                          error);
}

void
slu_producer_close(struct slu_producer *producer, struct slu_reaper *reaper)
{
    if (!producer)
        return;
    slu_kafka_topics_close(producer->topics);
    slu_reaper_take(reaper, producer->client);
    free(producer);
}

static rd_kafka_headers_t *
make_headers(const struct slu_output *output)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(output->header_count);
    for (size_t i = 0; i < output->header_count; i++)
        rd_kafka_header_add(headers, output->headers[i].name, -1, output->headers[i].value, -1);
    return headers;
}

static rd_kafka_resp_err_t
produce(struct slu_producer *producer, const struct slu_output *output, uintptr_t mark)
{
    /* The dead letters have fewer partitions than there are shards. */
    const int partition = output->topic == SLU_TOPIC_DEADLETTER
                              ? output->partition % producer->partitions[SLU_TOPIC_DEADLETTER]
                              : output->partition;
    if (partition < 0 || partition >= producer->partitions[output->topic])
        return RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;

    rd_kafka_headers_t *headers = make_headers(output);
    /* Copied: a producer that is being destroyed may hold its messages longer than the batch. */
    const rd_kafka_resp_err_t code = rd_kafka_producev(
        producer->client, RD_KAFKA_V_RKT(producer->topics[output->topic]),
        RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY(output->key, output->key_size),
        RD_KAFKA_V_VALUE(output->value, output->value_size), RD_KAFKA_V_HEADERS(headers),
        RD_KAFKA_V_OPAQUE((void *) mark), RD_KAFKA_V_END); /* NOLINT: a number, never followed. */
    if (code)
        rd_kafka_headers_destroy(headers);
    return code;
}

static rd_kafka_resp_err_t
produce_when_room(struct slu_producer *producer, const struct slu_output *output, uintptr_t mark)
{
    rd_kafka_resp_err_t code = produce(producer, output, mark);
    for (int i = 0; code == RD_KAFKA_RESP_ERR__QUEUE_FULL && i < QUEUE_FULL_TRIES; i++) {
        rd_kafka_poll(producer->client, QUEUE_FULL_WAIT_MS);
        code = produce(producer, output, mark);
    }
    return code;
}

typedef rd_kafka_error_t *(ending_fn) (rd_kafka_t *client, int timeout_ms);

/* Commits or aborts, in calls short enough to notice that the program stops. */
static rd_kafka_error_t *
end_transaction(struct slu_producer *producer, ending_fn *end, int64_t patience_ms)
{
    const int64_t until_ms = slu_clock_boottime_ms() + patience_ms;
    for (;;) {
        rd_kafka_error_t *error = end(producer->client, CALL_MS);
        const bool again = error && !rd_kafka_error_is_fatal(error) &&
                           !rd_kafka_error_txn_requires_abort(error) &&
                           rd_kafka_error_is_retriable(error);
        if (!again || slu_clock_boottime_ms() >= until_ms ||
            (producer->stop && atomic_load(producer->stop)))
            return error;
        rd_kafka_error_destroy(error);
    }
}

/* What the transaction was is known only when the abort went through. */
static enum slu_attempt_end
abort_attempt(struct slu_producer *producer)
{
    rd_kafka_error_t *error =
        end_transaction(producer, rd_kafka_abort_transaction, ABORT_TIMEOUT_MS);
    if (!error)
        return SLU_ATTEMPT_ABORTED;
    rd_kafka_error_destroy(error);
    return SLU_ATTEMPT_UNCLEAR;
}

static enum slu_attempt_end
refuse(struct slu_producer *producer, const char *topic, struct slu_attempt *attempt)
{
    const enum slu_attempt_end end = abort_attempt(producer);
    if (end != SLU_ATTEMPT_ABORTED)
        return end;
    (void) slu_fail(
        &attempt->error, SLU_INVALID,
        "a record for %s will never be taken: it is too large for topic or client, has a "
        "partition that does not exist, or no key where the topic is compacted",
        topic);
    return SLU_ATTEMPT_REFUSED;
}

static enum slu_attempt_end
produce_all(struct slu_producer *producer,
            const struct slu_batch *batch,
            struct slu_attempt *attempt)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct slu_output *output = &batch->outputs[i];
        const rd_kafka_resp_err_t code = produce_when_room(
            producer, output, i + 1 == batch->count ? producer->attempt_number : 0);
        if (code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
            code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
            return refuse(producer, rd_kafka_topic_name(producer->topics[output->topic]), attempt);
        if (code) {
            (void) slu_kafka_fail_code(&attempt->error, SLU_RETRY, "producing", code);
            return abort_attempt(producer);
        }
    }
    return SLU_ATTEMPT_COMMITTED;
}

static enum slu_attempt_end
finish(struct slu_producer *producer, struct slu_attempt *attempt)
{
    rd_kafka_error_t *error =
        end_transaction(producer, rd_kafka_commit_transaction, COMMIT_TIMEOUT_MS);
    if (!error)
        return SLU_ATTEMPT_COMMITTED;
    const bool must_abort =
        !rd_kafka_error_is_fatal(error) && rd_kafka_error_txn_requires_abort(error);
    (void) slu_kafka_fail(&attempt->error, SLU_RETRY, "committing", error);
    if (!must_abort)
        return SLU_ATTEMPT_UNCLEAR;
    return producer->refused ? refuse(producer, producer->refused, attempt)
                             : abort_attempt(producer);
}

enum slu_attempt_end
slu_producer_commit(struct slu_producer *producer,
                    const struct slu_batch *batch,
                    struct slu_attempt *ret_attempt)
{
    assert(batch->count > 0);
    assert(batch->outputs[batch->count - 1].topic == SLU_TOPIC_SHARDS);
    *ret_attempt = (struct slu_attempt){.began_boottime_ms = slu_clock_boottime_ms()};
    producer->attempt = ret_attempt;
    producer->attempt_number++;
    producer->refused = NULL;

    enum slu_attempt_end end = SLU_ATTEMPT_UNCLEAR;
    rd_kafka_error_t *error = rd_kafka_begin_transaction(producer->client);
    if (error)
        (void) slu_kafka_fail(&ret_attempt->error, SLU_RETRY, "beginning", error);
    else
        end = produce_all(producer, batch, ret_attempt);
    if (!error && end == SLU_ATTEMPT_COMMITTED)
        end = finish(producer, ret_attempt);

    producer->attempt = NULL;
    return end;
}
