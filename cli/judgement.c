/* SPDX-License-Identifier: Apache-2.0 */
/* The place where events are read from is taken before anything is published, so that no answer can
 * be missed. A record that is no document gets no event but a dead letter; that is an answer too.
 */
#include "judgement.h"

#include "output.h"
#include "resources.h"
#include "slu/base/memory.h"

#include <jansson.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum verdict {
    UNANSWERED,
    PUBLISHED,
    ACCEPTED,
    UNCHANGED,
    REFUSED
};

static const char *const verdict_words[] = {"unanswered", "published", "accepted", "unchanged",
                                            "refused"};

struct answer {
    enum verdict verdict;
    int64_t generation;
    char code[64], field[300];
    char message[1024];
};

void
judgement_address(const struct slu_key *key, int shards, struct kafka_message *ret)
{
    slu_key_write(key, ret->key, sizeof(ret->key));
    ret->partition = slu_key_shard(key, shards);
    ret->kind_word = slu_kinds[key->kind].key_word;
}

/* --- reading answers ------------------------------------------------------------------------- */

static void
read_event(const struct slu_record *record, const char *type, struct answer *ret)
{
    json_t *data = json_loadb(record->value ? record->value : "", record->value_size, 0, NULL);
    ret->generation = member_number(data, "generation");
    if (strcmp(type, "refused") == 0) {
        ret->verdict = REFUSED;
        snprintf(ret->code, sizeof(ret->code), "%s", member_text(data, "code"));
        snprintf(ret->field, sizeof(ret->field), "%s", member_text(data, "field"));
        snprintf(ret->message, sizeof(ret->message), "%s", member_text(data, "message"));
    } else {
        ret->verdict = json_is_true(member(data, "repeated")) ? UNCHANGED : ACCEPTED;
    }
    json_decref(data);
}

/* "<partition>/<offset>", with anything behind a further slash. */
static bool
read_cause(const char *text, int *ret_partition, int64_t *ret_offset)
{
    char *end;
    *ret_partition = (int) strtol(text, &end, 10);
    if (end == text || *end != '/')
        return false;
    const char *offset = end + 1;
    *ret_offset = strtoll(offset, &end, 10);
    return end != offset && (*end == '\0' || *end == '/');
}

/* The answer this record holds, about which message; NULL when it is about none of ours. */
static const struct kafka_message *
read_answer(enum slu_topic topic,
            const struct slu_record *record,
            const struct kafka_message *messages,
            size_t count,
            struct answer *ret)
{
    char cause[128], type[256];
    int partition;
    int64_t offset;
    *ret = (struct answer){0};
    const char *dot = NULL;
    if (topic == SLU_TOPIC_DEADLETTER) {
        kafka_header(record, "slu-origin", cause, sizeof(cause));
        ret->verdict = REFUSED;
        snprintf(ret->code, sizeof(ret->code), "INVALID");
        kafka_header(record, "slu-reason", ret->message, sizeof(ret->message));
    } else {
        kafka_header(record, "ce_id", cause, sizeof(cause));
        dot = strrchr(kafka_header(record, "ce_type", type, sizeof(type)), '.');
        if (!dot || (strcmp(dot, ".accepted") != 0 && strcmp(dot, ".refused") != 0))
            return NULL;
    }
    if (!read_cause(cause, &partition, &offset))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (messages[i].partition != partition || messages[i].offset != offset)
            continue;
        if (dot)
            read_event(record, dot + 1, ret);
        return &messages[i];
    }
    return NULL;
}

/* --- telling --------------------------------------------------------------------------------- */

static void
print_json(const struct kafka_message *message, const struct answer *answer)
{
    json_t *line = json_pack("{s:s, s:s, s:i, s:I}", "key", message->key, "verdict",
                             verdict_words[answer->verdict], "partition", message->partition,
                             "offset", (json_int_t) message->offset);
    if (answer->verdict == ACCEPTED || answer->verdict == UNCHANGED)
        json_object_set_new(line, "generation", json_integer(answer->generation));
    if (answer->code[0])
        json_object_set_new(line, "code", json_string(answer->code));
    if (answer->field[0])
        json_object_set_new(line, "field", json_string(answer->field));
    if (answer->message[0])
        json_object_set_new(line, "message", json_string(answer->message));
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(line);
}

static void
print_words(const struct kafka_message *message, const struct answer *answer)
{
    static const enum tone tones[] = {TONE_BUSY, TONE_PLAIN, TONE_GOOD, TONE_QUIET, TONE_BAD};

    printf("%s  %s%s%s", message->key, tone_begin(tones[answer->verdict]),
           verdict_words[answer->verdict], tone_end());
    if (answer->verdict == ACCEPTED || answer->verdict == UNCHANGED)
        printf("  generation %" PRId64, answer->generation);
    if (answer->verdict == REFUSED)
        printf("  %s: %s", answer->code, answer->message);
    printf("  (partition %d, offset %" PRId64 ")\n", message->partition, message->offset);
}

static void
print_answer(const struct cli *cli,
             const struct kafka_message *message,
             const struct answer *answer)
{
    if (cli->options.json)
        print_json(message, answer);
    else
        print_words(message, answer);
    fflush(stdout);
}

/* --- publishing ------------------------------------------------------------------------------ */

static bool
add_place(struct kafka_reader *reader, enum slu_topic topic, int partition)
{
    int64_t low, high;
    if (!kafka_reader_range(reader, topic, partition, &low, &high))
        return false;
    kafka_reader_add(reader, topic, partition, high);
    return true;
}

static struct kafka_reader *
take_places(const struct cli *cli, const struct kafka_message *messages, size_t count)
{
    struct kafka_reader *reader = kafka_reader_new(cli, true);
    bool good = reader && add_place(reader, SLU_TOPIC_DEADLETTER, 0);
    for (size_t i = 0; good && i < count; i++) {
        bool known = false;
        for (size_t j = 0; j < i && !known; j++)
            known = messages[j].partition == messages[i].partition;
        good = known || add_place(reader, SLU_TOPIC_EVENTS, messages[i].partition);
    }
    if (good && kafka_reader_start(reader))
        return reader;
    kafka_reader_free(reader);
    return NULL;
}

/* Returns how many are left without answer. */
static size_t
wait_for_answers(const struct cli *cli,
                 struct kafka_reader *reader,
                 struct kafka_message *messages,
                 size_t count,
                 bool *ret_refused)
{
    const int64_t until_ms = wall_ms() + cli->options.timeout_seconds * 1000;
    bool *answered = slu_alloc(count);
    size_t left = count;
    enum slu_topic topic;
    struct slu_record record;
    int64_t wait_ms;
    while (left > 0 && (wait_ms = until_ms - wall_ms()) > 0 &&
           kafka_reader_next(reader, false, (int) wait_ms, &topic, &record)) {
        struct answer answer;
        const struct kafka_message *message = read_answer(topic, &record, messages, count, &answer);
        if (!message || answered[message - messages])
            continue;
        answered[message - messages] = true;
        left--;
        *ret_refused = *ret_refused || answer.verdict == REFUSED;
        print_answer(cli, message, &answer);
    }
    for (size_t i = 0; i < count; i++) {
        if (!answered[i])
            print_answer(cli, &messages[i], &(struct answer){.verdict = UNANSWERED});
    }
    free(answered);
    return left;
}

int
judgement_publish(const struct cli *cli, struct kafka_message *messages, size_t count)
{
    if (cli->options.no_wait) {
        if (!kafka_publish(cli, messages, count))
            return CLI_FAILED;
        for (size_t i = 0; i < count; i++)
            print_answer(cli, &messages[i], &(struct answer){.verdict = PUBLISHED});
        return CLI_OK;
    }
    struct kafka_reader *reader = take_places(cli, messages, count);
    if (!reader)
        return CLI_FAILED;
    bool refused = false;
    int status = CLI_FAILED;
    if (kafka_publish(cli, messages, count)) {
        const size_t left = wait_for_answers(cli, reader, messages, count, &refused);
        status = refused ? CLI_REFUSED : left > 0 ? CLI_UNANSWERED : CLI_OK;
        if (left > 0) {
            complain("%zu of %zu published, and not judged within %" PRId64 " s", left, count,
                     cli->options.timeout_seconds);
            hint("they stay in the log and are judged when a leader reads them: see `sluice "
                 "shards`");
        }
    }
    kafka_reader_free(reader);
    return status;
}
