/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice shards`: who leads each shard, how far its input is judged, what holds it up. Takes the
 * log's word for all of it but the views. */
#include "cli.h"
#include "kafka.h"
#include "output.h"
#include "resources.h"
#include "slu/adapter/topics.h"
#include "slu/base/memory.h"
#include "slu/model/shard_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_WAIT_MS = 15000,
    TAIL = 200, /* Offsets of a shard's partition that surely hold its newest record. */
    WATCH_MS = 2000,
};

struct shard_row {
    bool known;
    struct slu_shard_record record;
    int64_t written_ms;
    int64_t admitted, end; /* Of the desired partition. */
    int64_t open;          /* Offsets behind an open transaction, of any of its topics. */
    struct view_pointer view;
};

static bool
read_records(const struct cli *cli, struct shard_row *rows, int64_t tail)
{
    struct kafka_reader *reader = kafka_reader_new(cli, true);
    bool good = reader && kafka_reader_add_all(reader, SLU_TOPIC_SHARDS, tail) &&
                kafka_reader_start(reader);
    enum slu_topic topic;
    struct slu_record record;
    while (good && kafka_reader_next(reader, true, READ_WAIT_MS, &topic, &record)) {
        struct shard_row *row = &rows[record.partition];
        struct slu_shard_record parsed;
        struct slu_error error;
        if (!record.value ||
            slu_shard_record_read(record.value, record.value_size, &parsed, &error))
            continue;
        if (row->known)
            slu_shard_record_done(&row->record);
        row->record = parsed;
        row->known = true;
        row->written_ms = record.timestamp_ms;
    }
    good = good && !kafka_reader_failed(reader);
    kafka_reader_free(reader);
    return good;
}

/* Where reading with and without transactions ends: the difference is held back by an open one. */
static bool
read_ends(const struct cli *cli, struct shard_row *rows, int count)
{
    struct kafka_reader *stable = kafka_reader_new(cli, true), *all = kafka_reader_new(cli, false);
    bool good = stable && all;
    for (int i = 0; good && i < count; i++) {
        int64_t low, high, readable;
        good = kafka_reader_range(stable, SLU_TOPIC_DESIRED, i, &low, &readable) &&
               kafka_reader_range(all, SLU_TOPIC_DESIRED, i, &low, &high);
        if (!good)
            break;
        rows[i].open = high - readable;
        rows[i].end = readable;
        rows[i].admitted = rows[i].known ? slu_shard_record_admitted(&rows[i].record, i) : 0;
        if (rows[i].admitted < low)
            rows[i].admitted = low;
    }
    kafka_reader_free(stable);
    kafka_reader_free(all);
    return good;
}

static void
print_json(const struct shard_row *row, int shard)
{
    json_t *line = json_pack(
        "{s:i, s:b, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "shard", shard, "led",
        row->known && row->record.owner[0], "owner", row->known ? row->record.owner : "", "epoch",
        (json_int_t) (row->known ? row->record.epoch : 0), "seq",
        (json_int_t) (row->known ? row->record.seq : 0), "admitted", (json_int_t) row->admitted,
        "end", (json_int_t) row->end, "open", (json_int_t) row->open, "claims",
        (json_int_t) (row->known ? row->record.claims : 0), "writtenAtMs",
        (json_int_t) row->written_ms);
    if (row->known && row->record.trying[0])
        json_object_set_new(line, "trying", json_string(row->record.trying));
    if (row->view.there) {
        json_object_set_new(line, "view",
                            json_pack("{s:I, s:I}", "epoch", (json_int_t) row->view.epoch, "seq",
                                      (json_int_t) row->view.seq));
    }
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(line);
}

/* What a person must know about this shard; "" when all is well. */
static void
write_note(const struct shard_row *row, char *ret_text, size_t size)
{
    ret_text[0] = '\0';
    if (!row->known)
        snprintf(ret_text, size, "no record: `sluice topics create` writes the first one");
    else if (!row->record.owner[0])
        snprintf(ret_text, size, "never led: is a reconciler running?");
    else if (wall_ms() - row->written_ms > 10000)
        snprintf(ret_text, size, "its leader is silent");
    else if (row->open > 0)
        snprintf(ret_text, size, "an open transaction holds %" PRId64 " records back", row->open);
    else if (row->record.trying[0])
        snprintf(ret_text, size, "judging %s alone", row->record.trying);
    else if (row->record.claims > 2)
        snprintf(ret_text, size, "claimed %" PRId64 " times without getting on",
                 row->record.claims);
}

static void
add_row(struct table *table, const struct shard_row *row, int shard)
{
    char span[SPAN_SIZE], note[200];
    const int64_t silent_ms = row->known ? wall_ms() - row->written_ms : 0;
    write_note(row, note, sizeof(note));
    table_cell(table, TONE_PLAIN, "%d", shard);
    table_cell(table, TONE_PLAIN, "%s", row->known ? row->record.owner : "");
    table_cell(table, TONE_PLAIN, "%" PRId64, row->known ? row->record.epoch : 0);
    table_cell(table, TONE_PLAIN, "%" PRId64, row->known ? row->record.seq : 0);
    table_cell(table, TONE_PLAIN, "%" PRId64, row->admitted);
    table_cell(table, row->end > row->admitted ? TONE_BUSY : TONE_PLAIN, "%" PRId64,
               row->end - row->admitted);
    table_cell(table, TONE_PLAIN, "%s", span_text(silent_ms > 0 ? silent_ms : 1, span));
    if (row->view.there)
        table_cell(table, TONE_PLAIN, "%lld.%lld", row->view.epoch, row->view.seq);
    else
        table_cell(table, TONE_PLAIN, "-");
    table_cell(table, note[0] ? TONE_BAD : TONE_PLAIN, "%s", note);
}

static void
print_rows(const struct cli *cli, const struct shard_row *rows, int count)
{
    static const char *const titles[] = {"SHARD",  "LEADER",    "EPOCH", "SEQ", "ADMITTED",
                                         "BEHIND", "COMMITTED", "VIEW",  "NOTE"};
    struct table *table = table_new(titles, SLU_COUNT(titles));
    for (int i = 0; i < count; i++) {
        if (cli->options.json)
            print_json(&rows[i], i);
        else
            add_row(table, &rows[i], i);
    }
    if (!cli->options.json)
        table_print(table);
    fflush(stdout);
    table_free(table);
}

static int
show(const struct cli *cli, int count)
{
    struct shard_row *rows = slu_alloc((size_t) count * sizeof(*rows));
    struct view_pointer *views = slu_alloc((size_t) count * sizeof(*views));
    char why[256];
    bool good = read_records(cli, rows, TAIL);
    for (int i = 0; good && i < count; i++) {
        if (!rows[i].known) /* Its record lies deeper than the tail: all of it, once. */
            good = read_records(cli, rows, 0);
    }
    good = good && read_ends(cli, rows, count);
    if (good && views_pointers(cli, count, views, why, sizeof(why)) == CLI_OK) {
        for (int i = 0; i < count; i++)
            rows[i].view = views[i];
    } else if (good) {
        fprintf(stderr, "sluice: no views in Redis at %s: %s\n", cli->settings.redis_url, why);
    }
    if (good)
        print_rows(cli, rows, count);
    for (int i = 0; i < count; i++) {
        if (rows[i].known)
            slu_shard_record_done(&rows[i].record);
    }
    free(rows);
    free(views);
    return good ? CLI_OK : CLI_FAILED;
}

static int
show_all(const struct cli *cli)
{
    const int count = kafka_shard_count(cli);
    int status = count > 0 ? CLI_OK : CLI_FAILED;
    do {
        if (status == CLI_OK && cli->options.watch && !cli->options.json && isatty(STDOUT_FILENO))
            fputs("\033[H\033[2J", stdout);
        if (status == CLI_OK)
            status = show(cli, count);
        if (status == CLI_OK && cli->options.watch)
            nanosleep(&(struct timespec){.tv_sec = WATCH_MS / 1000}, NULL);
    } while (status == CLI_OK && cli->options.watch && !interrupted());
    return status;
}

/* --- reset ----------------------------------------------------------------------------------- */

/* The question is answered by the shard's number: a `y` typed by habit does nothing. */
static bool
is_confirmed(const struct cli *cli, int shard, const char *to)
{
    if (cli->options.yes)
        return true;
    if (!isatty(STDIN_FILENO)) {
        complain("shards reset asks before it acts, and there is nobody to ask; --yes goes on");
        return false;
    }
    printf("Shard %d's position in its input will be moved to the %s of the log%s.\n"
           "A leader that runs is stopped and reads the shard anew. Type the shard's number to go "
           "on: ",
           shard, to,
           strcmp(to, "end") == 0 ? "; what has not been judged yet will never be"
                                  : "; all that is still there will be judged again");
    fflush(stdout);
    char typed[32] = "", expected[32];
    snprintf(expected, sizeof(expected), "%d\n", shard);
    if (fgets(typed, sizeof(typed), stdin) && strcmp(typed, expected) == 0)
        return true;
    complain("nothing was changed");
    return false;
}

static int
reset(const struct cli *cli)
{
    char *end;
    const long shard = cli->argc == 2 ? strtol(cli->argv[1], &end, 10) : -1;
    const char *to = cli->options.to[0] ? cli->options.to : "beginning";
    if (shard < 0 || shard >= SLU_SHARD_COUNT_MAX || *end != '\0') {
        complain("shards reset: which shard? expected its number, as in `sluice shards reset 3`");
        return CLI_USAGE;
    }
    if (strcmp(to, "beginning") != 0 && strcmp(to, "end") != 0) {
        complain("--to: \"%s\" is not allowed: it must be beginning or end", to);
        return CLI_USAGE;
    }
    if (!is_confirmed(cli, (int) shard, to))
        return CLI_USAGE;
    const struct slu_topics_settings settings = {.brokers = cli->settings.kafka_brokers,
                                                 .topic_prefix = cli->settings.topic_prefix,
                                                 .client_id = "sluice",
                                                 .properties = cli->kafka_properties};
    struct slu_shard_record record;
    struct slu_error error;
    const enum slu_topics_edge edge =
        strcmp(to, "end") == 0 ? SLU_TOPICS_END : SLU_TOPICS_BEGINNING;
    if (slu_topics_shard_reset(&settings, (int) shard, edge, &record, &error)) {
        complain("%s", error.message);
        return CLI_FAILED;
    }
    printf("Shard %ld goes on at offset %" PRId64 ", epoch %" PRId64 ".\n", shard,
           slu_shard_record_admitted(&record, (int) shard), record.epoch);
    slu_shard_record_done(&record);
    return CLI_OK;
}

int
cli_shards(struct cli *cli)
{
    if (cli->argc == 0)
        return show_all(cli);
    if (strcmp(cli->argv[0], "reset") == 0)
        return reset(cli);
    complain("shards: '%s' is not reset; without a word the shards are shown", cli->argv[0]);
    return CLI_USAGE;
}
