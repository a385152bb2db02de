/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of librdkafka as every part of the Kafka adapter wants them: one place for addresses,
 * properties, topic names and error texts. Never talks to a broker by itself. */
#ifndef SLU_ADAPTER_SHARDS_KAFKA_CLIENT_H
#define SLU_ADAPTER_SHARDS_KAFKA_CLIENT_H

#include "slu/base/status.h"
#include "slu/model/record.h"

#include <librdkafka/rdkafka.h>

/* Where the log is and how to log in. Owns copies. */
struct slu_kafka {
    char *brokers;
    char *prefix;
    char *client_id;
    char *properties; /* "name=value;…" of the operator. */
};

void slu_kafka_init(struct slu_kafka *kafka,
                    const char *brokers,
                    const char *prefix,
                    const char *client_id,
                    const char *properties);
void slu_kafka_done(struct slu_kafka *kafka);

struct slu_kafka_property {
    const char *name;
    const char *value;
};

/* Properties in rising strength: the house's, the operator's, `rows` (what correctness rests on).
 */
rd_kafka_conf_t *slu_kafka_conf_new(const struct slu_kafka *kafka,
                                    const struct slu_kafka_property *rows,
                                    size_t row_count,
                                    struct slu_error *reterr);

/* Takes `conf`, also when it fails. NULL on failure. */
rd_kafka_t *slu_kafka_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, struct slu_error *reterr);

/* A plain consumer: no group, committed records only, ends are reported, a position outside the log
 * is an error. */
rd_kafka_conf_t *slu_kafka_reading_conf(const struct slu_kafka *kafka,
                                        const char *fetch_wait_ms,
                                        struct slu_error *reterr);

/* Handles of the six topics; asked for once, they keep the client's metadata warm. */
void slu_kafka_topics_open(const struct slu_kafka *kafka,
                           rd_kafka_t *client,
                           rd_kafka_topic_t *ret_topics[SLU_TOPIC_COUNT]);
void slu_kafka_topics_close(rd_kafka_topic_t *topics[SLU_TOPIC_COUNT]);

/* The caller frees. */
char *slu_kafka_topic_name(const struct slu_kafka *kafka, enum slu_topic topic);

/* Lends everything from the message. */
void slu_kafka_record(const rd_kafka_message_t *message, struct slu_record *ret_record);

/* `status` with the library's words; ends `error`. */
enum slu_status slu_kafka_fail(struct slu_error *reterr,
                               enum slu_status status,
                               const char *doing,
                               rd_kafka_error_t *error);
enum slu_status slu_kafka_fail_code(struct slu_error *reterr,
                                    enum slu_status status,
                                    const char *doing,
                                    rd_kafka_resp_err_t code);

void slu_kafka_drop_list(rd_kafka_topic_partition_list_t **list);
void slu_kafka_drop_queue(rd_kafka_queue_t **queue);
void slu_kafka_drop_message(rd_kafka_message_t **message);

#define SLU_AUTO_KAFKA_LIST    SLU_AUTO(slu_kafka_drop_list)
#define SLU_AUTO_KAFKA_QUEUE   SLU_AUTO(slu_kafka_drop_queue)
#define SLU_AUTO_KAFKA_MESSAGE SLU_AUTO(slu_kafka_drop_message)

#endif
