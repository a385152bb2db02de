/* SPDX-License-Identifier: Apache-2.0 */
/* A log on a real broker. Reads and writes with clients of its own: nothing here goes through the
 * code under test, but for making topics. */
#include "subject_kafka.h"

#include "broker.h"
#include "proxy.h"
#include "slu/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    WAIT_MS = 30 * 1000
};

struct subject {
    char prefix[32];
    rd_kafka_t *plain;    /* A producer. */
    rd_kafka_t *upstream; /* One with transactions; made when needed. */
    rd_kafka_t *consumer; /* Likewise. */
    rd_kafka_t *whole;    /* Likewise: sees uncommitted records. */
};

static int subjects;

void
subject_start(void)
{
    broker_start();
}

void
subject_stop(void)
{
    broker_stop();
}

bool
subject_is_real(void)
{
    return true;
}

static void
set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char why[256];
    if (rd_kafka_conf_set(conf, name, value, why, sizeof(why)))
        fail_msg("%s", why);
}

static void
on_report(rd_kafka_t *client, const rd_kafka_message_t *message, void *context)
{
    (void) client;
    (void) context;
    assert_int_equal(message->err, 0);
    if (message->_private)
        *(int64_t *) message->_private = message->offset;
}

static rd_kafka_t *
make_client(rd_kafka_type_t type, const char *transactional_id, const char *isolation)
{
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", broker_address());
    rd_kafka_conf_set_log_cb(conf, NULL);
    if (type == RD_KAFKA_CONSUMER) {
        set(conf, "group.id", "test-reader");
        set(conf, "enable.auto.commit", "false");
        set(conf, "enable.partition.eof", "true");
        set(conf, "auto.offset.reset", "earliest");
        set(conf, "fetch.wait.max.ms", "10");
        set(conf, "isolation.level", isolation);
    } else {
        set(conf, "linger.ms", "0");
        set(conf, "message.max.bytes", "2097152");
        rd_kafka_conf_set_dr_msg_cb(conf, on_report);
        if (transactional_id)
            set(conf, "transactional.id", transactional_id);
    }
    rd_kafka_t *client = rd_kafka_new(type, conf, why, sizeof(why));
    if (!client)
        fail_msg("%s", why);
    return client;
}

rd_kafka_t *
subject_client(rd_kafka_type_t type, const char *transactional_id)
{
    return make_client(type, transactional_id, "read_committed");
}

static void
check(rd_kafka_error_t *error)
{
    if (error)
        fail_msg("%s", rd_kafka_error_string(error));
}

const char *
subject_topic_name(const struct subject *subject, enum slu_topic topic)
{
    static char name[64];
    snprintf(name, sizeof(name), "%s%s", subject->prefix, slu_topic_names[topic]);
    return name;
}

void
subject_topics(const struct subject *subject, struct slu_topics_settings *ret_settings)
{
    *ret_settings = (struct slu_topics_settings){
        .brokers = broker_address(), .topic_prefix = subject->prefix, .client_id = "test"};
}

void
subject_settings(const struct subject *subject, struct slu_shards_settings *ret_settings)
{
    ret_settings->brokers = broker_address();
    ret_settings->topic_prefix = subject->prefix;
}

/* --- topics ---------------------------------------------------------------------------------- */

struct subject *
subject_bare(void)
{
    struct subject *subject = slu_alloc(sizeof(*subject));
    snprintf(subject->prefix, sizeof(subject->prefix), "t%d.", subjects++);
    subject->plain = subject_client(RD_KAFKA_PRODUCER, NULL);
    return subject;
}

static void
wait_for_admin(rd_kafka_queue_t *queue)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, WAIT_MS);
    assert_non_null(event);
    assert_int_equal(rd_kafka_event_error(event), 0);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
}

static void
add_partitions(struct subject *subject, enum slu_topic topic, int partitions)
{
    char why[256];
    rd_kafka_queue_t *queue = rd_kafka_queue_new(subject->plain);
    rd_kafka_NewPartitions_t *wish = rd_kafka_NewPartitions_new(
        subject_topic_name(subject, topic), (size_t) partitions, why, sizeof(why));
    rd_kafka_CreatePartitions(subject->plain, &wish, 1, NULL, queue);
    wait_for_admin(queue);
    rd_kafka_NewPartitions_destroy(wish);
}

void
subject_make_topic(struct subject *subject,
                   enum slu_topic topic,
                   int partitions,
                   const char *const *pairs)
{
    char why[256];
    rd_kafka_queue_t *queue = rd_kafka_queue_new(subject->plain);
    rd_kafka_NewTopic_t *wish =
        rd_kafka_NewTopic_new(subject_topic_name(subject, topic), partitions, 1, why, sizeof(why));
    for (; *pairs; pairs++) {
        char name[64];
        const char *value = strchr(*pairs, '=');
        snprintf(name, sizeof(name), "%.*s", (int) (value - *pairs), *pairs);
        rd_kafka_NewTopic_set_config(wish, name, value + 1);
    }
    rd_kafka_CreateTopics(subject->plain, &wish, 1, NULL, queue);
    wait_for_admin(queue);
    rd_kafka_NewTopic_destroy(wish);
}

struct subject *
subject_new(int shard_count, int inputs)
{
    struct subject *subject = subject_bare();
    struct slu_topics_settings settings;
    struct slu_error error = {0};
    char cluster[SLU_CLUSTER_SIZE];
    subject_topics(subject, &settings);
    if (slu_topics_create(&settings, shard_count, cluster, &error))
        fail_msg("%s", error.message);
    if (inputs > shard_count)
        add_partitions(subject, SLU_TOPIC_DESIRED, inputs);
    return subject;
}

void
subject_free(struct subject *subject)
{
    if (!subject)
        return;
    if (subject->upstream)
        rd_kafka_destroy(subject->upstream);
    if (subject->consumer)
        rd_kafka_destroy(subject->consumer);
    if (subject->whole)
        rd_kafka_destroy(subject->whole);
    rd_kafka_destroy(subject->plain);
    free(subject);
}

/* --- writing --------------------------------------------------------------------------------- */

static void
produce(rd_kafka_t *client, const char *topic, const struct slu_record *what, int64_t *ret_offset)
{
    /* The library takes no const, and copies. */
    void *key = (void *) (uintptr_t) what->key;
    void *value = (void *) (uintptr_t) what->value;
    const rd_kafka_resp_err_t code = rd_kafka_producev(
        client, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(what->partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, what->key_size),
        RD_KAFKA_V_VALUE(value, what->value_size), RD_KAFKA_V_OPAQUE(ret_offset), RD_KAFKA_V_END);
    assert_int_equal(code, 0);
    assert_int_equal(rd_kafka_flush(client, WAIT_MS), 0);
}

static struct slu_record
record_of(int partition, const char *key, const void *value, size_t value_size)
{
    return (struct slu_record){.partition = partition,
                               .key = key,
                               .key_size = strlen(key),
                               .value = value,
                               .value_size = value_size};
}

int64_t
subject_put(struct subject *subject,
            enum slu_topic topic,
            int partition,
            const char *key,
            const void *value,
            size_t value_size)
{
    int64_t offset = -1;
    const struct slu_record record = record_of(partition, key, value, value_size);
    produce(subject->plain, subject_topic_name(subject, topic), &record, &offset);
    return offset;
}

static rd_kafka_t *
upstream_of(struct subject *subject)
{
    if (!subject->upstream) {
        char id[64];
        snprintf(id, sizeof(id), "%supstream", subject->prefix);
        subject->upstream = subject_client(RD_KAFKA_PRODUCER, id);
        check(rd_kafka_init_transactions(subject->upstream, WAIT_MS));
    }
    check(rd_kafka_begin_transaction(subject->upstream));
    return subject->upstream;
}

void
subject_put_aborted(struct subject *subject, enum slu_topic topic, int partition)
{
    rd_kafka_t *client = upstream_of(subject);
    const struct slu_record record = record_of(partition, "never", "seen", 4);
    produce(client, subject_topic_name(subject, topic), &record, NULL);
    check(rd_kafka_abort_transaction(client, WAIT_MS));
}

void
subject_put_committed(struct subject *subject,
                      enum slu_topic topic,
                      int partition,
                      const char *key,
                      const char *value)
{
    rd_kafka_t *client = upstream_of(subject);
    const struct slu_record record = record_of(partition, key, value, strlen(value));
    produce(client, subject_topic_name(subject, topic), &record, NULL);
    check(rd_kafka_commit_transaction(client, WAIT_MS));
}

/* Kafka deletes records only of topics whose policy has "delete". */
static void
allow_deleting(struct subject *subject, enum slu_topic topic)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_new(subject->plain);
    rd_kafka_ConfigResource_t *wish =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, subject_topic_name(subject, topic));
    rd_kafka_ConfigResource_set_config(wish, "cleanup.policy", "compact,delete");
    rd_kafka_AlterConfigs(subject->plain, &wish, 1, NULL, queue);
    rd_kafka_ConfigResource_destroy(wish);
    wait_for_admin(queue);
}

void
subject_delete_before(struct subject *subject, int partition, int64_t offset)
{
    allow_deleting(subject, SLU_TOPIC_DESIRED);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(subject->plain);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, subject_topic_name(subject, SLU_TOPIC_DESIRED),
                                      partition)
        ->offset = offset;
    rd_kafka_DeleteRecords_t *wish = rd_kafka_DeleteRecords_new(list);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_DeleteRecords(subject->plain, &wish, 1, NULL, queue);

    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, WAIT_MS);
    assert_non_null(event);
    assert_int_equal(rd_kafka_event_error(event), 0);
    const rd_kafka_topic_partition_list_t *done =
        rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
    assert_int_equal(done->elems[0].err, 0);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_DeleteRecords_destroy(wish);
}

/* --- reading --------------------------------------------------------------------------------- */

static void
visit_message(const rd_kafka_message_t *message,
              void (*visit)(void *context, const struct slu_record *record),
              void *context)
{
    struct slu_record record = {
        .partition = message->partition,
        .offset = message->offset,
        .timestamp_ms = rd_kafka_message_timestamp(message, NULL),
        .key = message->key,
        .key_size = message->key_len,
        .value = message->payload,
        .value_size = message->len,
    };
    rd_kafka_headers_t *headers;
    if (!rd_kafka_message_headers(message, &headers)) {
        struct slu_header *header = record.headers;
        while (!rd_kafka_header_get_all(headers, record.header_count, &header->name, &header->value,
                                        &header->size)) {
            record.header_count++;
            header++;
        }
    }
    visit(context, &record);
}

/* A commit is answered before its partitions show it: waits until nothing is open. */
static void
await_stable(struct subject *subject, const char *topic, int partition)
{
    int64_t begin;
    int64_t stable;
    int64_t end;
    do {
        assert_int_equal(rd_kafka_query_watermark_offsets(subject->consumer, topic, partition,
                                                          &begin, &stable, WAIT_MS),
                         0);
        assert_int_equal(rd_kafka_query_watermark_offsets(subject->whole, topic, partition, &begin,
                                                          &end, WAIT_MS),
                         0);
    } while (stable != end);
}

void
subject_each_stable(struct subject *subject,
                    enum slu_topic topic,
                    int partition,
                    void (*visit)(void *context, const struct slu_record *record),
                    void *context)
{
    if (!subject->consumer)
        subject->consumer = subject_client(RD_KAFKA_CONSUMER, NULL);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, subject_topic_name(subject, topic), partition)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
    assert_int_equal(rd_kafka_assign(subject->consumer, list), 0);
    rd_kafka_topic_partition_list_destroy(list);
    bool at_end = false;
    while (!at_end) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(subject->consumer, WAIT_MS);
        assert_non_null(message);
        at_end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
        if (!message->err)
            visit_message(message, visit, context);
        rd_kafka_message_destroy(message);
    }
    rd_kafka_assign(subject->consumer, NULL);
}

void
subject_each(struct subject *subject,
             enum slu_topic topic,
             int partition,
             void (*visit)(void *context, const struct slu_record *record),
             void *context)
{
    if (!subject->consumer)
        subject->consumer = subject_client(RD_KAFKA_CONSUMER, NULL);
    if (!subject->whole)
        subject->whole = make_client(RD_KAFKA_CONSUMER, NULL, "read_uncommitted");
    await_stable(subject, subject_topic_name(subject, topic), partition);
    subject_each_stable(subject, topic, partition, visit, context);
}

/* --- faults ---------------------------------------------------------------------------------- */

static void
keep_newest(void *context, const struct slu_record *record)
{
    struct slu_shard_record *newest = context;
    slu_shard_record_done(newest);
    assert_int_equal(slu_shard_record_read(record->value, record->value_size, newest, NULL), 0);
}

/* Somebody else under the shard's id. */
static void
take_id(struct subject *subject, int shard, bool lead)
{
    struct slu_shard_record newest = {0};
    subject_each(subject, SLU_TOPIC_SHARDS, shard, keep_newest, &newest);
    char id[96];
    char key[16];
    snprintf(id, sizeof(id), "%s-shard-%d", newest.cluster, shard);
    snprintf(key, sizeof(key), "%d", shard);
    rd_kafka_t *stranger = subject_client(RD_KAFKA_PRODUCER, id);
    check(rd_kafka_init_transactions(stranger, WAIT_MS));
    if (lead) {
        struct slu_buffer value = {0};
        newest.epoch++;
        newest.seq++;
        snprintf(newest.owner, sizeof(newest.owner), "http://stranger");
        slu_shard_record_write(&newest, &value);
        check(rd_kafka_begin_transaction(stranger));
        const struct slu_record record = record_of(shard, key, value.data, value.size);
        produce(stranger, subject_topic_name(subject, SLU_TOPIC_SHARDS), &record, NULL);
        check(rd_kafka_commit_transaction(stranger, WAIT_MS));
        slu_buffer_done(&value);
    }
    slu_shard_record_done(&newest);
    rd_kafka_destroy(stranger);
}

void
subject_fault(struct subject *subject, int shard, enum subject_fault fault)
{
    switch (fault) {
    case SUBJECT_ABORTED: /* The records do not get through in time. */
        proxy_lose(&(struct proxy_loss){PROXY_PRODUCE, PROXY_END_TXN, false});
        break;
    case SUBJECT_UNCLEAR_COMMITTED:
        proxy_lose(&(struct proxy_loss){PROXY_END_TXN, PROXY_INIT_PRODUCER_ID, true});
        break;
    case SUBJECT_UNCLEAR_LOST:
        proxy_lose(&(struct proxy_loss){PROXY_END_TXN, PROXY_INIT_PRODUCER_ID, false});
        break;
    case SUBJECT_FENCED_IDLE:
        take_id(subject, shard, false);
        break;
    case SUBJECT_FENCED_LED:
        take_id(subject, shard, true);
        break;
    }
}
