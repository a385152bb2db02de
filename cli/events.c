/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice events`: history as the leaders wrote it, in the order of its times. */
#include "history.h"
#include "kafka.h"
#include "output.h"
#include "resources.h"
#include "slu/base/memory.h"
#include "slu/model/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READ_WAIT_MS = 30000,
    FOLLOW_WAIT_MS = 3600 * 1000,
};

/* "dev.sluice.sandbox.created" → "created". */
static const char *
verb_of(const char *type)
{
    const char *dot = strrchr(type, '.');
    return dot ? dot + 1 : type;
}

bool
happening_read(const struct slu_record *record, struct happening *ret)
{
    static const char *const attributes[] = {"id",   "source",  "type",
                                             "time", "subject", "traceparent"};
    json_t *data = json_loadb(record->value ? record->value : "", record->value_size, 0, NULL);
    if (!data)
        return false;
    *ret = (struct happening){.at_ms = record->timestamp_ms,
                              .partition = record->partition,
                              .offset = record->offset,
                              .event = json_pack("{s:s}", "specversion", "1.0")};
    for (size_t i = 0; i < SLU_COUNT(attributes); i++) {
        char name[24], value[700];
        snprintf(name, sizeof(name), "%s%s", strcmp(attributes[i], "traceparent") == 0 ? "" : "ce_",
                 attributes[i]);
        if (kafka_header(record, name, value, sizeof(value))[0])
            json_object_set_new(ret->event, attributes[i], json_string(value));
    }
    json_object_set_new(ret->event, "data", data);
    slu_time_read(member_text(ret->event, "time"), &ret->at_ms);
    snprintf(ret->verb, sizeof(ret->verb), "%s", verb_of(member_text(ret->event, "type")));
    snprintf(ret->key, sizeof(ret->key), "%.*s", (int) record->key_size,
             record->key ? (const char *) record->key : "");
    return true;
}

void
happening_done(struct happening *happening)
{
    json_decref(happening->event);
}

static enum tone
tone_of(const struct happening *happening)
{
    static const char *const bad[] = {"refused", "lost", "init_failed", "stalled", "failed"};
    for (size_t i = 0; i < SLU_COUNT(bad); i++) {
        if (strcmp(happening->verb, bad[i]) == 0)
            return TONE_BAD;
    }
    return strcmp(happening->verb, "accepted") == 0 ? TONE_QUIET : TONE_GOOD;
}

/* "generation 3  running → pausing  Idle: nobody used it". */
static void
print_data(const json_t *data)
{
    const int64_t generation = member_number(data, "generation");
    const int64_t incarnation = member_number(data, "incarnation");
    const char *from = member_text(data, "from"), *to = member_text(data, "to");
    const char *reason = member_text(data, "reason"), *message = member_text(data, "message");
    const char *code = member_text(data, "code");
    if (generation)
        printf("  generation %" PRId64, generation);
    if (incarnation)
        printf("  incarnation %" PRId64, incarnation);
    if (to[0] && strcmp(from, to) != 0)
        printf("  %s → %s", from, to);
    if (json_is_true(member(data, "repeated")))
        printf("  unchanged");
    if (code[0] || reason[0])
        printf("  %s", code[0] ? code : reason);
    if (message[0])
        printf("%s%s", code[0] || reason[0] ? ": " : "  ", message);
}

void
happening_print(const struct cli *cli, const struct happening *happening)
{
    if (cli->options.json) {
        json_dumpf(happening->event, stdout, JSON_COMPACT);
    } else {
        char time[SLU_TIME_TEXT_SIZE];
        slu_time_write(happening->at_ms, time);
        printf("%s  %s  %s%s%s", time, happening->key, tone_begin(tone_of(happening)),
               happening->verb, tone_end());
        print_data(json_object_get(happening->event, "data"));
    }
    putchar('\n');
    fflush(stdout);
}

static int
compare_times(const void *a, const void *b)
{
    const struct happening *left = a, *right = b;
    if (left->at_ms != right->at_ms)
        return left->at_ms < right->at_ms ? -1 : 1;
    if (left->partition != right->partition)
        return left->partition < right->partition ? -1 : 1;
    return (left->offset > right->offset) - (left->offset < right->offset);
}

static void
keep(struct history *history, const char *key, const struct slu_record *record)
{
    struct happening one;
    if (!happening_read(record, &one))
        return;
    if (key[0] && strcmp(one.key, key) != 0) {
        happening_done(&one);
        return;
    }
    if (history->count % 64 == 0) {
        history->items =
            slu_realloc(history->items, (history->count + 64) * sizeof(struct happening));
    }
    history->items[history->count++] = one;
}

void
history_done(struct history *history)
{
    for (size_t i = 0; i < history->count; i++)
        happening_done(&history->items[i]);
    free(history->items);
    *history = (struct history){0};
}

static bool
add_shard(struct kafka_reader *reader, int shard, int64_t last)
{
    int64_t low, high;
    if (!kafka_reader_range(reader, SLU_TOPIC_EVENTS, shard, &low, &high))
        return false;
    kafka_reader_add(reader, SLU_TOPIC_EVENTS, shard,
                     last > 0 && high - last > low ? high - last : low);
    return true;
}

static struct kafka_reader *
open_history(const struct cli *cli, int shard, int64_t last)
{
    struct kafka_reader *reader = kafka_reader_new(cli, true);
    if (reader &&
        (shard >= 0 ? add_shard(reader, shard, last)
                    : kafka_reader_add_all(reader, SLU_TOPIC_EVENTS, last)) &&
        kafka_reader_start(reader))
        return reader;
    kafka_reader_free(reader);
    return NULL;
}

/* What is there now, sorted; the reader then stands at the ends. */
static void
collect(struct kafka_reader *reader, const char *key, struct history *ret)
{
    enum slu_topic topic;
    struct slu_record record;
    while (kafka_reader_next(reader, true, READ_WAIT_MS, &topic, &record))
        keep(ret, key, &record);
    if (ret->count > 1)
        qsort(ret->items, ret->count, sizeof(struct happening), compare_times);
}

int
history_read(const struct cli *cli, const char *key, int shard, int64_t last, struct history *ret)
{
    struct kafka_reader *reader = open_history(cli, shard, last);
    if (!reader)
        return CLI_FAILED;
    collect(reader, key, ret);
    const int status = kafka_reader_failed(reader) ? CLI_FAILED : CLI_OK;
    kafka_reader_free(reader);
    return status;
}

static void
follow(const struct cli *cli, struct kafka_reader *reader, const char *key)
{
    enum slu_topic topic;
    struct slu_record record;
    while (!interrupted() && !kafka_reader_failed(reader)) {
        struct history one = {0};
        if (kafka_reader_next(reader, false, FOLLOW_WAIT_MS, &topic, &record))
            keep(&one, key, &record);
        if (one.count > 0)
            happening_print(cli, &one.items[0]);
        history_done(&one);
    }
}

/* The shard of a key; −1 when it cannot be told (a child without its root). */
static int
shard_of(const struct cli *cli, const char *key)
{
    struct slu_key parsed;
    struct slu_refusal refusal;
    const int shards = kafka_shard_count(cli);
    if (shards == 0)
        return -2;
    return slu_key_parse(key, strlen(key), &parsed, &refusal) ? slu_key_shard(&parsed, shards) : -1;
}

int
cli_events(struct cli *cli)
{
    struct selection selection = {0};
    int shard = -1;
    if (cli->argc > 0) {
        if (!selection_read(cli->argv[0], &selection))
            return CLI_USAGE;
        if (!selection.key[0]) {
            complain("events: '%s' is no whole key; expected for example sandbox/sbx-1",
                     cli->argv[0]);
            return CLI_USAGE;
        }
        shard = shard_of(cli, selection.key);
        if (shard < -1)
            return CLI_FAILED;
    }
    struct kafka_reader *reader = open_history(cli, shard, cli->options.last);
    if (!reader)
        return CLI_FAILED;
    struct history history = {0};
    collect(reader, selection.key, &history);
    for (size_t i = 0; i < history.count; i++)
        happening_print(cli, &history.items[i]);
    if (history.count == 0 && !cli->options.follow && !cli->options.json) {
        fprintf(stderr,
                "No events%s%s in the last %" PRId64 " records of each shard; --last 0 looks "
                "through all.\n",
                selection.key[0] ? " of " : "", selection.key, cli->options.last);
    }
    history_done(&history);
    if (cli->options.follow)
        follow(cli, reader, selection.key);
    const int status = kafka_reader_failed(reader) ? CLI_FAILED : CLI_OK;
    kafka_reader_free(reader);
    return status;
}
