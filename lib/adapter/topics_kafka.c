/* SPDX-License-Identifier: Apache-2.0 */
/* The six topics: their settings as one table, which makes them and checks them. */
#include "topics_kafka.h"

#include "shards_kafka_client.h"
#include "shards_kafka_producer.h"
#include "shards_kafka_reader.h"
#include "slu/adapter/topics.h"
#include "slu/base/memory.h"
#include "slu/port/clock.h"

#include <sodium.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ADMIN_TIMEOUT_MS = 20 * 1000,
    INIT_TRIES = 30,
    READY_NAP_MS = 50,
    REPLICATION = 3,
    CLUSTER_BYTES = 16,
};

struct rule {
    enum slu_topic topic;
    const char *name;
    const char *value;
};

/* clang-format off */
static const struct rule rules[] = {
    {SLU_TOPIC_DESIRED,    "cleanup.policy",         "compact"},
    {SLU_TOPIC_DESIRED,    "min.compaction.lag.ms",  "604800000"}, /* 7 d */
    {SLU_TOPIC_DESIRED,    "delete.retention.ms",    "604800000"},
    {SLU_TOPIC_DESIRED,    "message.timestamp.type", "LogAppendTime"},
    {SLU_TOPIC_DESIRED,    "max.message.bytes",      "1048576"},
    {SLU_TOPIC_STATUS,     "cleanup.policy",         "compact"},
    {SLU_TOPIC_STATUS,     "segment.bytes",          "67108864"},
    {SLU_TOPIC_STATUS,     "segment.ms",             "3600000"},
    {SLU_TOPIC_STATUS,     "max.message.bytes",      "2097152"},
    {SLU_TOPIC_EVENTS,     "cleanup.policy",         "delete"},
    {SLU_TOPIC_EVENTS,     "retention.ms",           "604800000"},
    {SLU_TOPIC_EVENTS,     "max.message.bytes",      "2097152"},
    {SLU_TOPIC_SECRETS,    "cleanup.policy",         "compact"},
    {SLU_TOPIC_SECRETS,    "max.message.bytes",      "1048576"},
    {SLU_TOPIC_SHARDS,     "cleanup.policy",         "compact"},
    {SLU_TOPIC_SHARDS,     "segment.bytes",          "1048576"},
    {SLU_TOPIC_SHARDS,     "segment.ms",             "3600000"},
    {SLU_TOPIC_SHARDS,     "message.timestamp.type", "LogAppendTime"},
    {SLU_TOPIC_DEADLETTER, "cleanup.policy",         "delete"},
    {SLU_TOPIC_DEADLETTER, "retention.ms",           "2592000000"}, /* 30 d */
    {SLU_TOPIC_DEADLETTER, "max.message.bytes",      "2097152"},
};

/* For every topic; the second where there are brokers enough. */
static const struct rule unclean = {SLU_TOPIC_COUNT, "unclean.leader.election.enable", "false"};
static const struct rule in_sync = {SLU_TOPIC_COUNT, "min.insync.replicas", "2"};

/* clang-format on */

/* What the brokers say about our topics. */
struct survey {
    int brokers;
    int partitions[SLU_TOPIC_COUNT]; /* 0: no such topic. */
    int replicas[SLU_TOPIC_COUNT];   /* The fewest of a partition. */
};

struct tool {
    struct slu_kafka kafka;
    struct slu_reader *reader;
};

static enum slu_status
open_tool(const struct slu_topics_settings *settings,
          struct tool *ret_tool,
          struct slu_error *reterr)
{
    slu_kafka_init(&ret_tool->kafka, settings->brokers, settings->topic_prefix, settings->client_id,
                   settings->properties);
    return slu_reader_open(&ret_tool->kafka, &ret_tool->reader, reterr);
}

static void
close_tool(struct tool *tool)
{
    struct slu_reaper *reaper = slu_reaper_new();
    slu_reader_close(tool->reader, reaper);
    (void) slu_reaper_close(reaper, ADMIN_TIMEOUT_MS);
    slu_kafka_done(&tool->kafka);
}

#define AUTO_TOOL SLU_AUTO(close_tool)

/* --- looking --------------------------------------------------------------------------------- */

static void
note_topic(const struct rd_kafka_metadata_topic *topic, int *ret_partitions, int *ret_replicas)
{
    if (topic->err)
        return;
    *ret_partitions = topic->partition_cnt;
    *ret_replicas = topic->partition_cnt ? topic->partitions[0].replica_cnt : 0;
    for (int i = 1; i < topic->partition_cnt; i++) {
        if (topic->partitions[i].replica_cnt < *ret_replicas)
            *ret_replicas = topic->partitions[i].replica_cnt;
    }
}

static enum slu_status
look(struct tool *tool, struct survey *ret_survey, struct slu_error *reterr)
{
    const struct rd_kafka_metadata *metadata;
    *ret_survey = (struct survey){0};
    const rd_kafka_resp_err_t code =
        rd_kafka_metadata(slu_reader_client(tool->reader), 0, NULL, &metadata, ADMIN_TIMEOUT_MS);
    if (code)
        return slu_kafka_fail_code(reterr, SLU_RETRY, "asking Kafka for its topics", code);
    ret_survey->brokers = metadata->broker_cnt;
    for (int i = 0; i < SLU_TOPIC_COUNT; i++) {
        SLU_AUTO_FREE char *name = slu_kafka_topic_name(&tool->kafka, (enum slu_topic) i);
        for (int each = 0; each < metadata->topic_cnt; each++) {
            if (strcmp(metadata->topics[each].topic, name) == 0)
                note_topic(&metadata->topics[each], &ret_survey->partitions[i],
                           &ret_survey->replicas[i]);
        }
    }
    rd_kafka_metadata_destroy(metadata);
    return SLU_OK;
}

static bool
fits(enum slu_topic topic, int partitions, int shard_count)
{
    if (topic == SLU_TOPIC_DEADLETTER)
        return partitions >= 1;
    if (topic == SLU_TOPIC_DESIRED) /* Those beyond N are forwarded from. */
        return partitions >= shard_count && partitions <= shard_count * SLU_ADMITTED_MAX;
    return partitions == shard_count;
}

/* --- the survey of slu_shards_open ----------------------------------------------------------- */

static enum slu_status
compare_partitions(struct slu_reader *reader,
                   struct slu_topics_found *found,
                   struct slu_error *reterr)
{
    for (int i = 0; i < SLU_TOPIC_COUNT; i++) {
        int partitions = 0;
        const enum slu_status status =
            slu_reader_partitions(reader, (enum slu_topic) i, &partitions, reterr);
        if (status == SLU_NOT_FOUND && reterr)
            return slu_fail(reterr, status, "a topic is missing: …%s; run: sluice topics create",
                            slu_topic_names[i]);
        if (status)
            return status;
        if (!fits((enum slu_topic) i, partitions, found->shard_count)) {
            return slu_fail(reterr, SLU_INVALID,
                            "topic …%s has %d partitions, …shards has %d: they must agree; run: "
                            "sluice topics check",
                            slu_topic_names[i], partitions, found->shard_count);
        }
        if (i == SLU_TOPIC_DESIRED)
            found->inputs = partitions;
    }
    return SLU_OK;
}

static enum slu_status
compare_record(const struct slu_shard_record *record,
               int shard,
               int shard_count,
               char cluster[SLU_CLUSTER_SIZE],
               struct slu_error *reterr)
{
    if (record->shard_count != shard_count) {
        return slu_fail(
            reterr, SLU_INVALID,
            "…shards[%d] was made for %d shards, the topic has %d partitions; run: sluice "
            "topics check",
            shard, record->shard_count, shard_count);
    }
    if (!cluster[0])
        memcpy(cluster, record->cluster, SLU_CLUSTER_SIZE);
    if (strcmp(cluster, record->cluster) != 0) {
        return slu_fail(reterr, SLU_INVALID,
                        "…shards[%d] belongs to cluster %s, …shards[0] to %s: records of two "
                        "installations are mixed; run: sluice topics check",
                        shard, record->cluster, cluster);
    }
    return SLU_OK;
}

enum slu_status
slu_topics_survey(struct slu_reader *reader,
                  struct slu_topics_found *ret_found,
                  struct slu_error *reterr)
{
    *ret_found = (struct slu_topics_found){0};
    enum slu_status status =
        slu_reader_partitions(reader, SLU_TOPIC_SHARDS, &ret_found->shard_count, reterr);
    if (status == SLU_NOT_FOUND && reterr) {
        char missing[sizeof(reterr->message)];
        memcpy(missing, reterr->message, sizeof(missing));
        return slu_fail(reterr, status, "%.200s; run: sluice topics create", missing);
    }
    if (!status)
        status = compare_partitions(reader, ret_found, reterr);
    for (int i = 0; i < ret_found->shard_count && !status; i++) {
        struct slu_shard_found found;
        status = slu_reader_newest(reader, i, SLU_READER_STABLE, NULL, &found, reterr);
        if (!status)
            status = compare_record(&found.record, i, ret_found->shard_count, ret_found->cluster,
                                    reterr);
        slu_shard_found_done(&found);
    }
    return status;
}

/* --- making topics --------------------------------------------------------------------------- */

static rd_kafka_NewTopic_t *
describe_topic(const struct tool *tool, enum slu_topic topic, int partitions, int brokers)
{
    char why[256];
    SLU_AUTO_FREE char *name = slu_kafka_topic_name(&tool->kafka, topic);
    rd_kafka_NewTopic_t *wish = rd_kafka_NewTopic_new(
        name, partitions, brokers < REPLICATION ? brokers : REPLICATION, why, sizeof(why));
    for (size_t i = 0; wish && i < SLU_COUNT(rules); i++) {
        if (rules[i].topic == topic)
            rd_kafka_NewTopic_set_config(wish, rules[i].name, rules[i].value);
    }
    if (wish)
        rd_kafka_NewTopic_set_config(wish, unclean.name, unclean.value);
    if (wish && brokers >= REPLICATION)
        rd_kafka_NewTopic_set_config(wish, in_sync.name, in_sync.value);
    return wish;
}

static enum slu_status
read_create_result(rd_kafka_event_t *event, struct slu_error *reterr)
{
    if (rd_kafka_event_error(event))
        return slu_fail(reterr, SLU_RETRY, "making topics: %s", rd_kafka_event_error_string(event));
    size_t count = 0;
    const rd_kafka_topic_result_t **results =
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
    for (size_t i = 0; i < count; i++) {
        const rd_kafka_resp_err_t code = rd_kafka_topic_result_error(results[i]);
        /* Another one who makes them at the same time may have been faster. */
        if (code && code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
            return slu_fail(reterr, SLU_FATAL, "making topic %s: %s",
                            rd_kafka_topic_result_name(results[i]),
                            rd_kafka_topic_result_error_string(results[i]));
        }
    }
    return SLU_OK;
}

static enum slu_status
make_topics(struct tool *tool, rd_kafka_NewTopic_t **wishes, size_t count, struct slu_error *reterr)
{
    rd_kafka_t *client = slu_reader_client(tool->reader);
    SLU_AUTO_KAFKA_QUEUE rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_CREATETOPICS);
    char why[256];
    rd_kafka_AdminOptions_set_operation_timeout(options, ADMIN_TIMEOUT_MS / 2, why, sizeof(why));
    rd_kafka_CreateTopics(client, wishes, count, options, queue);
    rd_kafka_AdminOptions_destroy(options);

    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, ADMIN_TIMEOUT_MS);
    if (!event)
        return slu_fail(reterr, SLU_RETRY, "making topics: Kafka does not answer");
    const enum slu_status status = read_create_result(event, reterr);
    rd_kafka_event_destroy(event);
    return status;
}

static enum slu_status
make_missing(struct tool *tool,
             const struct survey *survey,
             int shard_count,
             struct slu_error *reterr)
{
    rd_kafka_NewTopic_t *wishes[SLU_TOPIC_COUNT];
    size_t count = 0;
    for (int i = 0; i < SLU_TOPIC_COUNT; i++) {
        if (survey->partitions[i])
            continue;
        wishes[count] = describe_topic(
            tool, (enum slu_topic) i, i == SLU_TOPIC_DEADLETTER ? 1 : shard_count, survey->brokers);
        if (wishes[count])
            count++;
    }
    const enum slu_status status = count ? make_topics(tool, wishes, count, reterr) : SLU_OK;
    rd_kafka_NewTopic_destroy_array(wishes, count);
    return status;
}

/* Every partition has a leader that answers. */
static enum slu_status
try_partitions(struct slu_reader *reader, struct slu_error *reterr)
{
    for (int i = 0; i < SLU_TOPIC_COUNT; i++) {
        int partitions = 0;
        int64_t begin;
        int64_t end;
        enum slu_status status =
            slu_reader_partitions(reader, (enum slu_topic) i, &partitions, reterr);
        for (int each = 0; each < partitions && !status; each++) {
            const struct slu_reader_place place = {(enum slu_topic) i, each, SLU_READER_STABLE};
            status = slu_reader_bounds(reader, &place, &begin, &end, reterr);
        }
        if (status)
            return status;
    }
    return SLU_OK;
}

/* Brokers say that a topic is made before everyone of them knows it. */
static enum slu_status
await_topics(struct slu_reader *reader, struct slu_error *reterr)
{
    const int64_t until_ms = slu_clock_boottime_ms() + ADMIN_TIMEOUT_MS;
    enum slu_status status = try_partitions(reader, reterr);
    while (status && slu_clock_boottime_ms() < until_ms) {
        poll(NULL, 0, READY_NAP_MS);
        status = try_partitions(reader, reterr);
    }
    return status;
}

static enum slu_status
refuse_misfits(const struct survey *survey, int shard_count, struct slu_error *reterr)
{
    for (int i = 0; i < SLU_TOPIC_COUNT; i++) {
        if (survey->partitions[i] &&
            !fits((enum slu_topic) i, survey->partitions[i], shard_count)) {
            return slu_fail(reterr, SLU_INVALID,
                            "topic …%s exists with %d partitions, wanted are %d: the number of "
                            "shards is chosen once; name the same number, or another prefix",
                            slu_topic_names[i], survey->partitions[i],
                            i == SLU_TOPIC_DEADLETTER ? 1 : shard_count);
        }
    }
    return SLU_OK;
}

/* --- first records --------------------------------------------------------------------------- */

static void
make_cluster(char ret_cluster[SLU_CLUSTER_SIZE])
{
    unsigned char bytes[CLUSTER_BYTES];
    randombytes_buf(bytes, sizeof(bytes));
    sodium_bin2hex(ret_cluster, SLU_CLUSTER_SIZE, bytes, sizeof(bytes));
}

static void
add_record(struct slu_batch *batch, int shard, const struct slu_shard_record *record)
{
    char key[16];
    struct slu_buffer value = {0};
    const int size = snprintf(key, sizeof(key), "%d", shard);
    slu_shard_record_write(record, &value);

    struct slu_output *output = slu_batch_add(batch, SLU_TOPIC_SHARDS, shard);
    output->key = slu_memdup(key, (size_t) size);
    output->key_size = (size_t) size;
    output->value_size = value.size;
    output->value = slu_buffer_take(&value);
}

/* Which shards have no record, as zeroes in `ret_has`; and the cluster of those that have one. */
static enum slu_status
find_records(struct tool *tool,
             int shard_count,
             bool *ret_has,
             char ret_cluster[SLU_CLUSTER_SIZE],
             struct slu_error *reterr)
{
    ret_cluster[0] = '\0';
    enum slu_status status = SLU_OK;
    for (int i = 0; i < shard_count && !status; i++) {
        struct slu_shard_found found;
        status = slu_reader_newest(tool->reader, i, SLU_READER_STABLE, NULL, &found, reterr);
        ret_has[i] = status == SLU_OK;
        if (!status)
            status = compare_record(&found.record, i, shard_count, ret_cluster, reterr);
        else if (status == SLU_NOT_FOUND)
            status = SLU_OK;
        slu_shard_found_done(&found);
    }
    return status;
}

static enum slu_status
commit_once(struct slu_producer *producer, const struct slu_batch *batch, struct slu_error *reterr)
{
    struct slu_attempt attempt;
    if (slu_producer_commit(producer, batch, &attempt) == SLU_ATTEMPT_COMMITTED)
        return SLU_OK;
    /* Repeating the tool is safe: it looks first. */
    return slu_fail(reterr, SLU_RETRY, "writing shard records: %.300s", attempt.error.message);
}

static enum slu_status
open_producer(const struct tool *tool,
              const char *id,
              struct slu_producer **ret_producer,
              struct slu_error *reterr)
{
    enum slu_status status = slu_producer_open(&tool->kafka, id, NULL, ret_producer, reterr);
    for (int i = 0; !status && i < INIT_TRIES; i++) {
        status = slu_producer_init(*ret_producer, reterr);
        if (status != SLU_RETRY)
            break;
        status = i + 1 < INIT_TRIES ? SLU_OK : SLU_RETRY;
    }
    return status;
}

static void
close_producer(struct slu_producer *producer)
{
    struct slu_reaper *reaper = slu_reaper_new();
    slu_producer_close(producer, reaper);
    (void) slu_reaper_close(reaper, ADMIN_TIMEOUT_MS);
}

/* One transaction under one id: two tools at once cannot give two clusters. */
static enum slu_status
write_first_records(struct tool *tool,
                    int shard_count,
                    char ret_cluster[SLU_CLUSTER_SIZE],
                    struct slu_error *reterr)
{
    SLU_AUTO_FREE bool *has = slu_alloc((size_t) shard_count * sizeof(bool));
    SLU_AUTO_FREE char *id = NULL;
    struct slu_buffer name = {0};
    slu_buffer_printf(&name, "%stopics-create", tool->kafka.prefix);
    id = slu_buffer_take(&name);

    struct slu_producer *producer = NULL;
    struct slu_batch *batch = slu_batch_new(0);
    enum slu_status status = open_producer(tool, id, &producer, reterr);
    if (!status)
        status = find_records(tool, shard_count, has, ret_cluster, reterr);
    if (!status && !ret_cluster[0])
        make_cluster(ret_cluster);
    if (!status) {
        struct slu_shard_record first = {.shard_count = shard_count};
        memcpy(first.cluster, ret_cluster, SLU_CLUSTER_SIZE);
        for (int i = 0; i < shard_count; i++) {
            if (!has[i])
                add_record(batch, i, &first);
        }
        if (batch->count > 0)
            status = commit_once(producer, batch, reterr);
    }
    slu_batch_free(batch);
    close_producer(producer);
    return status;
}

/* A commit is answered before every partition shows it. */
static enum slu_status
await_records(struct slu_reader *reader, struct slu_error *reterr)
{
    struct slu_topics_found found;
    const int64_t until_ms = slu_clock_boottime_ms() + ADMIN_TIMEOUT_MS;
    enum slu_status status = slu_topics_survey(reader, &found, reterr);
    while (status == SLU_NOT_FOUND && slu_clock_boottime_ms() < until_ms) {
        poll(NULL, 0, READY_NAP_MS);
        status = slu_topics_survey(reader, &found, reterr);
    }
    return status;
}

enum slu_status
slu_topics_create(const struct slu_topics_settings *settings,
                  int shard_count,
                  char ret_cluster[SLU_CLUSTER_SIZE],
                  struct slu_error *reterr)
{
    if (shard_count < 1 || shard_count > SLU_SHARD_COUNT_MAX)
        return slu_fail(reterr, SLU_INVALID, "partitions must be 1 … %d, not %d",
                        SLU_SHARD_COUNT_MAX, shard_count);
    if (sodium_init() < 0)
        return slu_fail(reterr, SLU_FATAL, "libsodium found no source of random bytes");

    struct survey survey;
    AUTO_TOOL struct tool tool = {0};
    enum slu_status status = open_tool(settings, &tool, reterr);
    if (!status)
        status = look(&tool, &survey, reterr);
    if (!status)
        status = refuse_misfits(&survey, shard_count, reterr);
    if (!status)
        status = make_missing(&tool, &survey, shard_count, reterr);
    if (status)
        return status;

    /* A client that saw a topic missing remembers it for a while: the records need a new one. */
    AUTO_TOOL struct tool fresh = {0};
    status = open_tool(settings, &fresh, reterr);
    if (!status)
        status = await_topics(fresh.reader, reterr);
    if (!status)
        status = write_first_records(&fresh, shard_count, ret_cluster, reterr);
    if (!status)
        status = await_records(fresh.reader, reterr);
    return status;
}

/* --- checking -------------------------------------------------------------------------------- */

static void
check_setting(const rd_kafka_ConfigResource_t *resource,
              const struct rule *rule,
              struct slu_buffer *words)
{
    size_t count = 0;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &count);
    const char *value = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), rule->name) == 0)
            value = rd_kafka_ConfigEntry_value(entries[i]);
    }
    if (!value || strcmp(value, rule->value) != 0) {
        slu_buffer_printf(words, "topic %s: %s is \"%s\", should be \"%s\"\n",
                          rd_kafka_ConfigResource_name(resource), rule->name, value ? value : "",
                          rule->value);
    }
}

static void
check_resource(const rd_kafka_ConfigResource_t *resource,
               enum slu_topic topic,
               int brokers,
               struct slu_buffer *words)
{
    for (size_t i = 0; i < SLU_COUNT(rules); i++) {
        if (rules[i].topic == topic)
            check_setting(resource, &rules[i], words);
    }
    check_setting(resource, &unclean, words);
    if (brokers >= REPLICATION)
        check_setting(resource, &in_sync, words);
}

static enum slu_status
check_settings(struct tool *tool,
               enum slu_topic topic,
               int brokers,
               struct slu_buffer *words,
               struct slu_error *reterr)
{
    rd_kafka_t *client = slu_reader_client(tool->reader);
    SLU_AUTO_FREE char *name = slu_kafka_topic_name(&tool->kafka, topic);
    SLU_AUTO_KAFKA_QUEUE rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
    rd_kafka_ConfigResource_t *wanted = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name);
    rd_kafka_DescribeConfigs(client, &wanted, 1, NULL, queue);
    rd_kafka_ConfigResource_destroy(wanted);

    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, ADMIN_TIMEOUT_MS);
    if (!event)
        return slu_fail(reterr, SLU_RETRY, "asking for the settings of %s: no answer", name);
    enum slu_status status = SLU_OK;
    size_t count = 0;
    const rd_kafka_ConfigResource_t **resources = NULL;
    if (!rd_kafka_event_error(event))
        resources = rd_kafka_DescribeConfigs_result_resources(
            rd_kafka_event_DescribeConfigs_result(event), &count);
    if (count == 1 && !rd_kafka_ConfigResource_error(resources[0]))
        check_resource(resources[0], topic, brokers, words);
    else
        status = slu_fail(reterr, SLU_RETRY, "asking for the settings of %s: %s", name,
                          rd_kafka_event_error_string(event));
    rd_kafka_event_destroy(event);
    return status;
}

static void
check_counts(const struct survey *survey, const char *prefix, struct slu_buffer *words)
{
    const int shard_count = survey->partitions[SLU_TOPIC_SHARDS];
    const int replicas = survey->brokers < REPLICATION ? survey->brokers : REPLICATION;
    for (int i = 0; i < SLU_TOPIC_COUNT; i++) {
        const char *name = slu_topic_names[i];
        if (!survey->partitions[i]) {
            slu_buffer_printf(words, "topic %s%s is missing; run: sluice topics create\n", prefix,
                              name);
            continue;
        }
        if (shard_count && !fits((enum slu_topic) i, survey->partitions[i], shard_count))
            slu_buffer_printf(words, "topic %s%s has %d partitions, %sshards has %d\n", prefix,
                              name, survey->partitions[i], prefix, shard_count);
        if (survey->replicas[i] < replicas)
            slu_buffer_printf(words, "topic %s%s has a partition with %d replicas, should be %d\n",
                              prefix, name, survey->replicas[i], replicas);
    }
}

static enum slu_status
check_records(struct tool *tool,
              int shard_count,
              struct slu_buffer *words,
              struct slu_error *reterr)
{
    char cluster[SLU_CLUSTER_SIZE] = "";
    for (int i = 0; i < shard_count; i++) {
        struct slu_error why;
        struct slu_shard_found found;
        enum slu_status status =
            slu_reader_newest(tool->reader, i, SLU_READER_STABLE, NULL, &found, &why);
        if (!status)
            status = compare_record(&found.record, i, shard_count, cluster, &why);
        slu_shard_found_done(&found);
        if (status == SLU_RETRY) {
            if (reterr)
                *reterr = why;
            return status;
        }
        if (status)
            slu_buffer_printf(words, "%s\n", why.message);
    }
    return SLU_OK;
}

enum slu_status
slu_topics_check(const struct slu_topics_settings *settings,
                 struct slu_buffer *ret_words,
                 struct slu_error *reterr)
{
    struct survey survey;
    const size_t before = ret_words->size;
    AUTO_TOOL struct tool tool = {0};
    enum slu_status status = open_tool(settings, &tool, reterr);
    if (!status)
        status = look(&tool, &survey, reterr);
    if (status)
        return status;

    check_counts(&survey, tool.kafka.prefix, ret_words);
    for (int i = 0; i < SLU_TOPIC_COUNT && !status; i++) {
        if (survey.partitions[i])
            status = check_settings(&tool, (enum slu_topic) i, survey.brokers, ret_words, reterr);
    }
    if (!status)
        status = check_records(&tool, survey.partitions[SLU_TOPIC_SHARDS], ret_words, reterr);
    if (!status && ret_words->size > before)
        status = slu_fail(reterr, SLU_INVALID, "the topics are not as they should be");
    return status;
}

/* --- reset ----------------------------------------------------------------------------------- */

static enum slu_status
move_positions(struct tool *tool,
               int shard,
               enum slu_topics_edge edge,
               struct slu_shard_record *record,
               struct slu_error *reterr)
{
    int partitions = 0;
    enum slu_status status =
        slu_reader_partitions(tool->reader, SLU_TOPIC_DESIRED, &partitions, reterr);
    for (int i = shard; i < partitions && !status; i += record->shard_count) {
        int64_t begin;
        int64_t end;
        const struct slu_reader_place place = {SLU_TOPIC_DESIRED, i, SLU_READER_STABLE};
        status = slu_reader_bounds(tool->reader, &place, &begin, &end, reterr);
        if (!status)
            slu_shard_record_advance(record, i, edge == SLU_TOPICS_END ? end : begin);
    }
    return status;
}

static enum slu_status
write_reset(struct tool *tool,
            struct slu_producer *producer,
            int shard,
            enum slu_topics_edge edge,
            struct slu_shard_record *record,
            struct slu_error *reterr)
{
    enum slu_status status = move_positions(tool, shard, edge, record, reterr);
    if (status)
        return status;
    record->epoch++;
    record->seq++;
    record->claims = 0;
    record->owner[0] = '\0';
    record->trying[0] = '\0';
    struct slu_batch *batch = slu_batch_new(shard);
    add_record(batch, shard, record);
    status = commit_once(producer, batch, reterr);
    slu_batch_free(batch);
    return status;
}

enum slu_status
slu_topics_shard_reset(const struct slu_topics_settings *settings,
                       int shard,
                       enum slu_topics_edge edge,
                       struct slu_shard_record *ret_record,
                       struct slu_error *reterr)
{
    struct slu_topics_found topics;
    AUTO_TOOL struct tool tool = {0};
    enum slu_status status = open_tool(settings, &tool, reterr);
    if (!status)
        status = slu_topics_survey(tool.reader, &topics, reterr);
    if (!status && (shard < 0 || shard >= topics.shard_count))
        status = slu_fail(reterr, SLU_INVALID, "there is no shard %d: shards are 0 … %d", shard,
                          topics.shard_count - 1);
    if (status)
        return status;

    char id[SLU_CLUSTER_SIZE + 32];
    snprintf(id, sizeof(id), "%s-shard-%d", topics.cluster, shard);
    struct slu_producer *producer = NULL;
    struct slu_shard_found found = {0};
    status = open_producer(&tool, id, &producer, reterr);
    if (!status)
        status = slu_reader_newest(tool.reader, shard, SLU_READER_WHOLE, NULL, &found, reterr);
    if (!status)
        status = write_reset(&tool, producer, shard, edge, &found.record, reterr);
    if (!status) {
        *ret_record = found.record;
        found.record = (struct slu_shard_record){0};
    }
    slu_shard_found_done(&found);
    close_producer(producer);
    return status;
}
