/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of librdkafka: configuration, topic handles, records, error texts. */
#include "shards_kafka_client.h"

#include "slu/base/memory.h"

#include <stdlib.h>
#include <string.h>

static const char *
text_or(const char *text, const char *fallback)
{
    return text && *text ? text : fallback;
}

void
slu_kafka_init(struct slu_kafka *kafka,
               const char *brokers,
               const char *prefix,
               const char *client_id,
               const char *properties)
{
    *kafka = (struct slu_kafka){
        .brokers = slu_strdup(text_or(brokers, "127.0.0.1:9092")),
        .prefix = slu_strdup(text_or(prefix, "sluice.")),
        .client_id = slu_strdup(text_or(client_id, "sluice")),
        .properties = slu_strdup(text_or(properties, "")),
    };
}

void
slu_kafka_done(struct slu_kafka *kafka)
{
    free(kafka->brokers);
    free(kafka->prefix);
    free(kafka->client_id);
    free(kafka->properties);
    *kafka = (struct slu_kafka){0};
}

static enum slu_status
set_property(rd_kafka_conf_t *conf, const char *name, const char *value, struct slu_error *reterr)
{
    char why[256];
    if (rd_kafka_conf_set(conf, name, value, why, sizeof(why)) == RD_KAFKA_CONF_OK)
        return SLU_OK;
    /* The value may be a password: it is never repeated. */
    return slu_fail(reterr, SLU_INVALID,
                    "Kafka property \"%s\" was refused: no such property, or "
                    "a value outside its range; see librdkafka's CONFIGURATION.md",
                    name);
}

/* "name=value;…". A value may hold '=' but no ';'. */
static enum slu_status
set_properties(rd_kafka_conf_t *conf, const char *text, struct slu_error *reterr)
{
    SLU_AUTO_FREE char *copy = slu_strdup(text);
    char *rest = copy;
    char *pair;
    while ((pair = strsep(&rest, ";"))) {
        pair += strspn(pair, " \t\n");
        if (!*pair)
            continue;
        char *value = strchr(pair, '=');
        if (!value)
            return slu_fail(reterr, SLU_INVALID,
                            "Kafka properties are \"name=value;…\": \"%.64s\" has no '='", pair);
        *value++ = '\0';
        const enum slu_status status = set_property(conf, pair, value, reterr);
        if (status)
            return status;
    }
    return SLU_OK;
}

static enum slu_status
set_rows(rd_kafka_conf_t *conf,
         const struct slu_kafka_property *rows,
         size_t row_count,
         struct slu_error *reterr)
{
    enum slu_status status = SLU_OK;
    for (size_t i = 0; i < row_count && !status; i++)
        status = set_property(conf, rows[i].name, rows[i].value, reterr);
    return status;
}

rd_kafka_conf_t *
slu_kafka_conf_new(const struct slu_kafka *kafka,
                   const struct slu_kafka_property *rows,
                   size_t row_count,
                   struct slu_error *reterr)
{
    /* Short reconnects and request time-outs: a dead broker must not hide a living coordinator for
     * long. Nagle's algorithm costs 5 ms a transaction. */
    static const struct slu_kafka_property house[] = {
        {"socket.nagle.disable", "true"},
        {"socket.keepalive.enable", "true"},
        {"socket.timeout.ms", "8000"},
        {"reconnect.backoff.ms", "50"},
        {"reconnect.backoff.max.ms", "1000"},
        {"topic.metadata.refresh.interval.ms", "10000"},
        {"topic.metadata.refresh.fast.interval.ms", "100"},
        {"retry.backoff.ms", "5"},
    };
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    enum slu_status status = set_property(conf, "bootstrap.servers", kafka->brokers, reterr);
    if (!status)
        status = set_property(conf, "client.id", kafka->client_id, reterr);
    if (!status)
        status = set_rows(conf, house, SLU_COUNT(house), reterr);
    if (!status)
        status = set_properties(conf, kafka->properties, reterr);
    if (!status)
        status = set_rows(conf, rows, row_count, reterr);
    if (status) {
        rd_kafka_conf_destroy(conf);
        return NULL;
    }
    rd_kafka_conf_set_log_cb(conf, NULL); /* Only programs log; errors come back as errors. */
    return conf;
}

rd_kafka_t *
slu_kafka_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, struct slu_error *reterr)
{
    char why[256];
    rd_kafka_t *client = rd_kafka_new(type, conf, why, sizeof(why));
    if (!client) {
        rd_kafka_conf_destroy(conf);
        (void) slu_fail(reterr, SLU_INVALID, "no Kafka client: %s", why);
    }
    return client;
}

rd_kafka_conf_t *
slu_kafka_reading_conf(const struct slu_kafka *kafka,
                       const char *fetch_wait_ms,
                       struct slu_error *reterr)
{
    const struct slu_kafka_property rows[] = {
        {"enable.auto.commit", "false"},        {"enable.auto.offset.store", "false"},
        {"allow.auto.create.topics", "false"},  {"isolation.level", "read_committed"},
        {"enable.partition.eof", "true"},       {"auto.offset.reset", "error"},
        {"fetch.wait.max.ms", fetch_wait_ms},   {"fetch.error.backoff.ms", "50"},
        {"fetch.message.max.bytes", "4194304"}, {"queued.max.messages.kbytes", "16384"},
    };
    return slu_kafka_conf_new(kafka, rows, SLU_COUNT(rows), reterr);
}

char *
slu_kafka_topic_name(const struct slu_kafka *kafka, enum slu_topic topic)
{
    struct slu_buffer name = {0};
    slu_buffer_puts(&name, kafka->prefix);
    slu_buffer_puts(&name, slu_topic_names[topic]);
    return slu_buffer_take(&name);
}

void
slu_kafka_topics_open(const struct slu_kafka *kafka,
                      rd_kafka_t *client,
                      rd_kafka_topic_t *ret_topics[SLU_TOPIC_COUNT])
{
    for (int i = 0; i < SLU_TOPIC_COUNT; i++) {
        SLU_AUTO_FREE char *name = slu_kafka_topic_name(kafka, (enum slu_topic) i);
        ret_topics[i] = rd_kafka_topic_new(client, name, NULL);
    }
}

void
slu_kafka_topics_close(rd_kafka_topic_t *topics[SLU_TOPIC_COUNT])
{
    for (int i = 0; i < SLU_TOPIC_COUNT; i++) {
        if (topics[i])
            rd_kafka_topic_destroy(topics[i]);
        topics[i] = NULL;
    }
}

void
slu_kafka_record(const rd_kafka_message_t *message, struct slu_record *ret_record)
{
    ret_record->partition = message->partition;
    ret_record->offset = message->offset;
    ret_record->timestamp_ms = rd_kafka_message_timestamp(message, NULL);
    ret_record->key = message->key;
    ret_record->key_size = message->key_len;
    ret_record->value = message->payload;
    ret_record->value_size = message->len;
    ret_record->header_count = 0;

    rd_kafka_headers_t *headers;
    if (rd_kafka_message_headers(message, &headers))
        return;
    while (ret_record->header_count < SLU_RECORD_HEADERS_MAX) {
        struct slu_header *header = &ret_record->headers[ret_record->header_count];
        if (rd_kafka_header_get_all(headers, ret_record->header_count, &header->name,
                                    &header->value, &header->size))
            return;
        ret_record->header_count++;
    }
}

enum slu_status
slu_kafka_fail(struct slu_error *reterr,
               enum slu_status status,
               const char *doing,
               rd_kafka_error_t *error)
{
    const enum slu_status failed =
        slu_fail(reterr, status, "%s: %s", doing, rd_kafka_error_string(error));
    if (reterr)
        reterr->code = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    return failed;
}

enum slu_status
slu_kafka_fail_code(struct slu_error *reterr,
                    enum slu_status status,
                    const char *doing,
                    rd_kafka_resp_err_t code)
{
    const enum slu_status failed =
        slu_fail(reterr, status, "%s: %s", doing, rd_kafka_err2str(code));
    if (reterr)
        reterr->code = code;
    return failed;
}

void
slu_kafka_drop_list(rd_kafka_topic_partition_list_t **list)
{
    /* A leaked list keeps its partitions alive, and rd_kafka_destroy then hangs for ever. */
    if (*list)
        rd_kafka_topic_partition_list_destroy(*list);
    *list = NULL;
}

void
slu_kafka_drop_queue(rd_kafka_queue_t **queue)
{
    if (*queue)
        rd_kafka_queue_destroy(*queue);
    *queue = NULL;
}

void
slu_kafka_drop_message(rd_kafka_message_t **message)
{
    if (*message)
        rd_kafka_message_destroy(*message);
    *message = NULL;
}
