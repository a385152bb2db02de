/* SPDX-License-Identifier: Apache-2.0 */
/* librdkafka settings that count here: no Nagle and short fetch waits (a person is waiting), end of
 * partition told, its log kept off the terminal: the last error is shown where it matters. */
#include "kafka.h"

#include "output.h"
#include "slu/base/buffer.h"
#include "slu/base/memory.h"
#include "slu/model/time.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static char trouble[256];
static pthread_mutex_t trouble_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t stop;

static void
note_interrupt(int number)
{
    (void) number;
    stop = 1;
}

void
catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = note_interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_DFL); /* `sluice events -f | head` ends quietly. */
}

bool
interrupted(void)
{
    return stop != 0;
}

static void
note_trouble(const char *text)
{
    pthread_mutex_lock(&trouble_lock);
    snprintf(trouble, sizeof(trouble), "%s", text);
    pthread_mutex_unlock(&trouble_lock);
}

const char *
kafka_trouble(void)
{
    static char copy[sizeof(trouble)];
    pthread_mutex_lock(&trouble_lock);
    memcpy(copy, trouble, sizeof(copy));
    pthread_mutex_unlock(&trouble_lock);
    return copy[0] ? copy : "no answer";
}

static void
take_error(rd_kafka_t *kafka, int error, const char *reason, void *context)
{
    (void) kafka;
    (void) error;
    (void) context;
    note_trouble(reason);
}

static void
drop_log(const rd_kafka_t *kafka, int level, const char *facility, const char *text)
{
    (void) kafka;
    (void) level;
    (void) facility;
    (void) text;
}

void
kafka_topic_name(const struct cli *cli, enum slu_topic topic, char ret_name[256])
{
    snprintf(ret_name, 256, "%s%s", cli->settings.topic_prefix, slu_topic_names[topic]);
}

/* --- clients --------------------------------------------------------------------------------- */

static bool
set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char error[256];
    if (rd_kafka_conf_set(conf, name, value, error, sizeof(error)) == RD_KAFKA_CONF_OK)
        return true;
    complain("Kafka property %s: %s", name, error);
    return false;
}

/* "name=value;name=value". */
static bool
set_properties(rd_kafka_conf_t *conf, const char *properties)
{
    char *copy = slu_strdup(properties);
    bool good = true;
    for (char *at = copy, *next; good && *at; at = next) {
        char *end = at + strcspn(at, ";");
        next = *end ? end + 1 : end;
        *end = '\0';
        char *equals = strchr(at, '=');
        if (equals)
            *equals = '\0';
        good = equals && set(conf, at, equals + 1);
        if (!equals)
            complain("--kafka-properties-file: '%s' is no name=value", at);
    }
    explicit_bzero(copy, strlen(properties));
    free(copy);
    return good;
}

static rd_kafka_t *
open_client(const struct cli *cli, rd_kafka_type_t type, rd_kafka_conf_t *conf)
{
    rd_kafka_conf_set_error_cb(conf, take_error);
    rd_kafka_conf_set_log_cb(conf, drop_log);
    char error[256] = "";
    rd_kafka_t *client = NULL;
    if (set(conf, "bootstrap.servers", cli->settings.kafka_brokers) &&
        set(conf, "client.id", "sluice") && set(conf, "socket.nagle.disable", "true") &&
        set(conf, "socket.timeout.ms", "10000") &&
        set_properties(conf, cli->kafka_properties ? cli->kafka_properties : "")) {
        client = rd_kafka_new(type, conf, error, sizeof(error));
        if (!client)
            complain("Kafka client: %s", error);
    }
    if (!client)
        rd_kafka_conf_destroy(conf);
    return client;
}

static void
complain_about_brokers(const struct cli *cli)
{
    complain("Kafka at %s does not answer: %s", cli->settings.kafka_brokers, kafka_trouble());
    hint("is it running, and is --kafka-brokers (SLU_KAFKA_BROKERS) right?");
}

static int
partition_count(const struct cli *cli, rd_kafka_t *client, enum slu_topic topic)
{
    char name[256];
    kafka_topic_name(cli, topic, name);
    rd_kafka_topic_t *handle = rd_kafka_topic_new(client, name, NULL);
    const rd_kafka_metadata_t *metadata = NULL;
    const rd_kafka_resp_err_t error =
        handle ? rd_kafka_metadata(client, 0, handle, &metadata, KAFKA_CALL_MS)
               : RD_KAFKA_RESP_ERR__FAIL;
    int count = 0;
    if (error)
        complain_about_brokers(cli);
    else if (metadata->topic_cnt == 1 && !metadata->topics[0].err)
        count = metadata->topics[0].partition_cnt;
    if (!error && count == 0) {
        complain("there is no topic %s", name);
        hint("`sluice topics create` makes the topics; --topic-prefix says which");
    }
    if (metadata)
        rd_kafka_metadata_destroy(metadata);
    if (handle)
        rd_kafka_topic_destroy(handle);
    return count;
}

int
kafka_shard_count(const struct cli *cli)
{
    rd_kafka_t *client = open_client(cli, RD_KAFKA_PRODUCER, rd_kafka_conf_new());
    const int count = client ? partition_count(cli, client, SLU_TOPIC_SHARDS) : 0;
    if (client)
        rd_kafka_destroy(client);
    return count;
}

/* --- reading --------------------------------------------------------------------------------- */

struct kafka_reader {
    const struct cli *cli;
    rd_kafka_t *client;
    rd_kafka_topic_partition_list_t *partitions;
    bool *ended; /* By index in `partitions`. */
    int left;    /* Partitions whose end was not seen yet. */
    rd_kafka_message_t *message;
    bool failed;
};

struct kafka_reader *
kafka_reader_new(const struct cli *cli, bool committed)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (!set(conf, "group.id", "sluice-cli") || !set(conf, "enable.auto.commit", "false") ||
        !set(conf, "enable.auto.offset.store", "false") ||
        !set(conf, "enable.partition.eof", "true") || !set(conf, "fetch.wait.max.ms", "50") ||
        !set(conf, "auto.offset.reset", "earliest") ||
        !set(conf, "isolation.level", committed ? "read_committed" : "read_uncommitted")) {
        rd_kafka_conf_destroy(conf);
        return NULL;
    }
    rd_kafka_t *client = open_client(cli, RD_KAFKA_CONSUMER, conf);
    if (!client)
        return NULL;
    rd_kafka_poll_set_consumer(client);
    struct kafka_reader *reader = slu_alloc(sizeof(*reader));
    reader->cli = cli;
    reader->client = client;
    reader->partitions = rd_kafka_topic_partition_list_new(16);
    return reader;
}

void
kafka_reader_free(struct kafka_reader *reader)
{
    if (!reader)
        return;
    if (reader->message)
        rd_kafka_message_destroy(reader->message);
    rd_kafka_topic_partition_list_destroy(reader->partitions);
    rd_kafka_consumer_close(reader->client);
    rd_kafka_destroy(reader->client);
    free(reader->ended);
    free(reader);
}

bool
kafka_reader_range(struct kafka_reader *reader,
                   enum slu_topic topic,
                   int partition,
                   int64_t *ret_low,
                   int64_t *ret_high)
{
    char name[256];
    kafka_topic_name(reader->cli, topic, name);
    const rd_kafka_resp_err_t error = rd_kafka_query_watermark_offsets(
        reader->client, name, partition, ret_low, ret_high, KAFKA_CALL_MS);
    if (!error)
        return true;
    reader->failed = true;
    if (error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
        error == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
        error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        complain("%s has no partition %d", name, partition);
    else
        complain_about_brokers(reader->cli);
    return false;
}

void
kafka_reader_add(struct kafka_reader *reader, enum slu_topic topic, int partition, int64_t offset)
{
    char name[256];
    kafka_topic_name(reader->cli, topic, name);
    rd_kafka_topic_partition_list_add(reader->partitions, name, partition)->offset = offset;
}

bool
kafka_reader_add_all(struct kafka_reader *reader, enum slu_topic topic, int64_t count)
{
    const int partitions = partition_count(reader->cli, reader->client, topic);
    for (int i = 0; i < partitions; i++) {
        int64_t low, high;
        if (!kafka_reader_range(reader, topic, i, &low, &high))
            return false;
        const int64_t from = count > 0 && high - count > low ? high - count : low;
        kafka_reader_add(reader, topic, i, from);
    }
    return partitions > 0;
}

bool
kafka_reader_start(struct kafka_reader *reader)
{
    reader->left = reader->partitions->cnt;
    reader->ended = slu_alloc(sizeof(bool) * (size_t) (reader->left + 1));
    return rd_kafka_assign(reader->client, reader->partitions) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void
note_end(struct kafka_reader *reader, const rd_kafka_message_t *message)
{
    for (int i = 0; i < reader->partitions->cnt; i++) {
        const rd_kafka_topic_partition_t *one = &reader->partitions->elems[i];
        if (one->partition != message->partition || reader->ended[i] ||
            strcmp(one->topic, rd_kafka_topic_name(message->rkt)) != 0)
            continue;
        reader->ended[i] = true;
        reader->left--;
    }
}

static enum slu_topic
topic_of(const struct kafka_reader *reader, const rd_kafka_message_t *message)
{
    const char *name = rd_kafka_topic_name(message->rkt);
    for (int topic = 0; topic < SLU_TOPIC_COUNT; topic++) {
        char known[256];
        kafka_topic_name(reader->cli, (enum slu_topic) topic, known);
        if (strcmp(known, name) == 0)
            return (enum slu_topic) topic;
    }
    return SLU_TOPIC_COUNT;
}

static void
lend_record(const rd_kafka_message_t *message, struct slu_record *ret_record)
{
    *ret_record = (struct slu_record){.partition = message->partition,
                                      .offset = message->offset,
                                      .timestamp_ms = rd_kafka_message_timestamp(message, NULL),
                                      .key = message->key,
                                      .key_size = message->key_len,
                                      .value = message->payload,
                                      .value_size = message->len};
    rd_kafka_headers_t *headers;
    if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    while (ret_record->header_count < SLU_RECORD_HEADERS_MAX) {
        struct slu_header *header = &ret_record->headers[ret_record->header_count];
        if (rd_kafka_header_get_all(headers, ret_record->header_count, &header->name,
                                    &header->value, &header->size) != RD_KAFKA_RESP_ERR_NO_ERROR)
            break;
        ret_record->header_count++;
    }
}

/* One step of at most `wait_ms`: 1 a record, 0 nothing. */
static bool
poll_once(struct kafka_reader *reader, int wait_ms)
{
    if (reader->message)
        rd_kafka_message_destroy(reader->message);
    reader->message = rd_kafka_consumer_poll(reader->client, wait_ms);
    if (!reader->message)
        return false;
    const rd_kafka_resp_err_t error = reader->message->err;
    if (error == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        note_end(reader, reader->message);
    } else if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
        reader->failed = true;
        complain_about_brokers(reader->cli);
    } else if (error) {
        note_trouble(rd_kafka_message_errstr(reader->message));
    }
    return !error;
}

bool
kafka_reader_next(struct kafka_reader *reader,
                  bool until_end,
                  int wait_ms,
                  enum slu_topic *ret_topic,
                  struct slu_record *ret_record)
{
    const int64_t until_ms = wall_ms() + wait_ms;
    while (!interrupted() && !reader->failed && !(until_end && reader->left == 0)) {
        const int64_t left_ms = until_ms - wall_ms();
        if (left_ms <= 0)
            return false;
        if (!poll_once(reader, left_ms < 100 ? (int) left_ms : 100))
            continue;
        *ret_topic = topic_of(reader, reader->message);
        lend_record(reader->message, ret_record);
        return true;
    }
    return false;
}

bool
kafka_reader_failed(const struct kafka_reader *reader)
{
    return reader->failed;
}

const char *
kafka_header(const struct slu_record *record, const char *name, char *ret_text, size_t size)
{
    const struct slu_header *header = slu_record_header(record, name);
    ret_text[0] = '\0';
    if (header && header->value && header->size < size) {
        memcpy(ret_text, header->value, header->size);
        ret_text[header->size] = '\0';
    }
    return ret_text;
}

/* --- publishing ------------------------------------------------------------------------------ */

static void
take_report(rd_kafka_t *client, const rd_kafka_message_t *report, void *context)
{
    (void) client;
    (void) context;
    struct kafka_message *message = report->_private;
    message->ended = true;
    message->offset = report->err ? -1 : report->offset;
    if (report->err)
        note_trouble(rd_kafka_err2str(report->err));
}

static void
add_header(rd_kafka_headers_t *headers, const char *name, const char *value)
{
    if (rd_kafka_header_add(headers, name, -1, value, -1) != RD_KAFKA_RESP_ERR_NO_ERROR)
        abort(); /* Out of memory. */
}

static rd_kafka_headers_t *
make_headers(const struct kafka_message *message)
{
    uint64_t bytes[2];
    char id[40], time[SLU_TIME_TEXT_SIZE], type[64];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t) sizeof(bytes))
        abort(); /* Never for so few bytes. */
    snprintf(id, sizeof(id), "%016" PRIx64 "%016" PRIx64, bytes[0], bytes[1]);
    slu_time_write(wall_ms(), time);
    snprintf(type, sizeof(type), "dev.sluice.%s.desired", message->kind_word);
    rd_kafka_headers_t *headers = rd_kafka_headers_new(8);
    add_header(headers, "ce_specversion", "1.0");
    add_header(headers, "ce_id", id);
    add_header(headers, "ce_source", "/sluice/cli");
    add_header(headers, "ce_type", type);
    add_header(headers, "ce_time", time);
    add_header(headers, "ce_subject", message->key);
    add_header(headers, "content-type", "application/json");
    if (message->redrive)
        add_header(headers, "slu-redrive", "1");
    return headers;
}

static bool
hand_over(rd_kafka_t *client, const char *topic, struct kafka_message *message)
{
    rd_kafka_headers_t *headers = make_headers(message);
    rd_kafka_resp_err_t error;
    do {
        error = rd_kafka_producev(
            client, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(message->partition),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
            RD_KAFKA_V_KEY(message->key, strlen(message->key)),
            RD_KAFKA_V_VALUE((void *) (uintptr_t) message->value, message->size),
            RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(message), RD_KAFKA_V_END);
        if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL)
            rd_kafka_poll(client, 100);
    } while (error == RD_KAFKA_RESP_ERR__QUEUE_FULL && !interrupted());
    if (!error)
        return true;
    rd_kafka_headers_destroy(headers);
    complain("%s: %s", message->key, rd_kafka_err2str(error));
    return false;
}

bool
kafka_publish(const struct cli *cli, struct kafka_message *messages, size_t count)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_dr_msg_cb(conf, take_report);
    if (!set(conf, "enable.idempotence", "true") || !set(conf, "linger.ms", "1") ||
        !set(conf, "message.timeout.ms", "15000") || !set(conf, "message.max.bytes", "2031616")) {
        rd_kafka_conf_destroy(conf);
        return false;
    }
    rd_kafka_t *client = open_client(cli, RD_KAFKA_PRODUCER, conf);
    if (!client)
        return false;
    char topic[256];
    kafka_topic_name(cli, SLU_TOPIC_DESIRED, topic);
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        messages[i].offset = -1;
        good = hand_over(client, topic, &messages[i]);
    }
    rd_kafka_flush(client, KAFKA_CALL_MS + 6000);
    for (size_t i = 0; i < count; i++) {
        if (!good || messages[i].offset >= 0)
            continue;
        good = false;
        complain("%s was not written: %s", messages[i].key, kafka_trouble());
        hint("it may be safe to repeat: a document with `generation` is taken once");
    }
    rd_kafka_purge(client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_destroy(client);
    return good;
}
