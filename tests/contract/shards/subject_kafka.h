/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of Kafka alone need to know of the log behind a subject. */
#ifndef SLU_TESTS_SHARDS_SUBJECT_KAFKA_H
#define SLU_TESTS_SHARDS_SUBJECT_KAFKA_H

#include "shards_subject.h"
#include "slu/adapter/topics.h"

#include <librdkafka/rdkafka.h>

void subject_topics(const struct subject *subject, struct slu_topics_settings *ret_settings);
const char *subject_topic_name(const struct subject *subject, enum slu_topic topic); /* Static. */

/* A subject whose topics nobody has made yet. */
struct subject *subject_bare(void);

/* What a reader of committed records sees now, were there an open transaction or not. */
void subject_each_stable(struct subject *subject,
                         enum slu_topic topic,
                         int partition,
                         void (*visit)(void *context, const struct slu_record *record),
                         void *context);

/* A topic with settings of the test's own: "name=value" pairs, ended by NULL. */
void subject_make_topic(struct subject *subject,
                        enum slu_topic topic,
                        int partitions,
                        const char *const *pairs);
rd_kafka_t *subject_client(rd_kafka_type_t type, const char *transactional_id);

#endif
