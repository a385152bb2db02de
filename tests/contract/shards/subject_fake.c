/* SPDX-License-Identifier: Apache-2.0 */
/* A log in memory, for the shards suite. */
#include "fake_shards.h"
#include "shards_subject.h"
#include "slu/base/memory.h"

#include <stdlib.h>
#include <string.h>

struct subject {
    struct fake_log *log;
};

void
subject_start(void)
{
}

void
subject_stop(void)
{
}

bool
subject_is_real(void)
{
    return false;
}

struct subject *
subject_new(int shard_count, int inputs)
{
    struct subject *subject = slu_alloc(sizeof(*subject));
    subject->log = fake_log_new(shard_count, inputs);
    return subject;
}

void
subject_free(struct subject *subject)
{
    if (!subject)
        return;
    fake_log_free(subject->log);
    free(subject);
}

void
subject_settings(const struct subject *subject, struct slu_shards_settings *ret_settings)
{
    ret_settings->brokers = fake_log_address(subject->log);
    ret_settings->topic_prefix = "";
}

int64_t
subject_put(struct subject *subject,
            enum slu_topic topic,
            int partition,
            const char *key,
            const void *value,
            size_t value_size)
{
    return fake_log_put(subject->log, topic, partition, key, value, value_size);
}

void
subject_put_aborted(struct subject *subject, enum slu_topic topic, int partition)
{
    fake_log_put_hole(subject->log, topic, partition); /* The record, … */
    fake_log_put_hole(subject->log, topic, partition); /* … and the mark that aborts it. */
}

void
subject_put_committed(struct subject *subject,
                      enum slu_topic topic,
                      int partition,
                      const char *key,
                      const char *value)
{
    fake_log_put(subject->log, topic, partition, key, value, strlen(value));
    fake_log_put_hole(subject->log, topic, partition);
}

void
subject_each(struct subject *subject,
             enum slu_topic topic,
             int partition,
             void (*visit)(void *context, const struct slu_record *record),
             void *context)
{
    fake_log_each(subject->log, topic, partition, visit, context);
}

void
subject_delete_before(struct subject *subject, int partition, int64_t offset)
{
    fake_log_delete_before(subject->log, partition, offset);
}

void
subject_fault(struct subject *subject, int shard, enum subject_fault fault)
{
    static const enum fake_fault faults[] = {
        [SUBJECT_ABORTED] = FAKE_ABORTED,
        [SUBJECT_UNCLEAR_COMMITTED] = FAKE_UNCLEAR_COMMITTED,
        [SUBJECT_UNCLEAR_LOST] = FAKE_UNCLEAR_LOST,
        [SUBJECT_FENCED_IDLE] = FAKE_FENCED_IDLE,
        [SUBJECT_FENCED_LED] = FAKE_FENCED_LED,
    };

    fake_log_fault(subject->log, shard, faults[fault]);
}
