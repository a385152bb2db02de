/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice get`: a table of resources, or their status documents, one a line. With --watch the log
 * is followed from a place taken before the table was read: nothing in between is missed. */
#include "cli.h"
#include "kafka.h"
#include "output.h"
#include "resources.h"
#include "slu/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WATCH_WAIT_MS = 3600 * 1000
};

static const char *const titles[] = {"KEY",         "PHASE",    "READY", "GENERATION",
                                     "INCARNATION", "PROVIDER", "SINCE", "WHY"};

/* Why it is not as wished: the reason of the first condition that says so. */
static void
write_why(const json_t *status, char *ret_text, size_t size)
{
    static const char *const types[] = {"Blocked", "Accepted", "Initialized", "Ready"};
    ret_text[0] = '\0';
    for (size_t i = 0; i < SLU_COUNT(types) && !ret_text[0]; i++) {
        const json_t *one = condition(status, types[i]);
        const bool expected = strcmp(types[i], "Blocked") == 0
                                  ? strcmp(member_text(one, "status"), "True") != 0
                                  : strcmp(member_text(one, "status"), "False") != 0;
        if (one && !expected) {
            const char *message = member_text(one, "message");
            snprintf(ret_text, size, "%s%s%s", member_text(one, "reason"), message[0] ? ": " : "",
                     message);
        }
    }
}

static void
add_row(struct table *table, const char *key, const json_t *status)
{
    const char *phase = member_text(status, "phase");
    const json_t *ready = condition(status, "Ready");
    const int64_t since_ms = member_number(ready, "lastTransitionAtMs");
    char why[400], span[SPAN_SIZE];
    write_why(status, why, sizeof(why));
    table_cell(table, TONE_PLAIN, "%s", key);
    table_cell(table, tone_of_phase(phase), "%s", phase);
    table_cell(table, TONE_PLAIN, "%s", member_text(ready, "status"));
    table_cell(table, TONE_PLAIN, "%" PRId64, member_number(status, "observedGeneration"));
    table_cell(table, TONE_PLAIN, "%" PRId64, member_number(status, "incarnation"));
    table_cell(table, TONE_PLAIN, "%s", member_text(status, "spec.provider"));
    table_cell(table, TONE_PLAIN, "%s", span_text(since_ms ? wall_ms() - since_ms : 0, span));
    table_cell(table, TONE_PLAIN, "%s", why);
}

/* One document on one line, as it was written. */
static void
print_document(const struct resource *resource)
{
    fwrite(resource->text, 1, resource->size, stdout);
    putchar('\n');
}

static void
print_all(const struct cli *cli, struct table *table, const struct resources *found)
{
    for (size_t i = 0; i < found->count; i++) {
        if (cli->options.json)
            print_document(&found->items[i]);
        else
            add_row(table, found->items[i].key, found->items[i].status);
    }
    if (!cli->options.json && found->count > 0)
        table_print(table);
    fflush(stdout);
}

static void
print_change(const struct cli *cli,
             struct table *table,
             const struct selection *selection,
             const struct slu_record *record)
{
    struct resources one = {0};
    char *key = slu_memdup(record->key ? record->key : "", record->key_size);
    const struct resource *added =
        record->value && strchr(key, '/')
            ? resources_add(&one, key, record->key_size, record->value, record->value_size)
            : NULL;
    if (added && selection_matches(selection, key, added->status)) {
        print_all(cli, table, &one);
    } else if (!record->value && strchr(key, '/') && selection_matches(selection, key, NULL)) {
        json_t *line = json_pack("{s:s, s:n}", "key", key, "status");
        if (cli->options.json) {
            json_dumpf(line, stdout, JSON_COMPACT);
            putchar('\n');
        } else {
            printf("%s  %sforgotten%s\n", key, tone_begin(TONE_QUIET), tone_end());
        }
        fflush(stdout);
        json_decref(line);
    }
    resources_done(&one);
    free(key);
}

static int
watch(const struct cli *cli,
      struct kafka_reader *reader,
      struct table *table,
      const struct selection *selection)
{
    enum slu_topic topic;
    struct slu_record record;
    while (!interrupted() && !kafka_reader_failed(reader)) {
        if (kafka_reader_next(reader, false, WATCH_WAIT_MS, &topic, &record))
            print_change(cli, table, selection, &record);
    }
    return kafka_reader_failed(reader) ? CLI_FAILED : CLI_OK;
}

static struct kafka_reader *
take_places(const struct cli *cli)
{
    struct kafka_reader *reader = kafka_reader_new(cli, true);
    const int shards = reader ? kafka_shard_count(cli) : 0;
    bool good = shards > 0;
    for (int shard = 0; good && shard < shards; shard++) {
        int64_t low, high;
        good = kafka_reader_range(reader, SLU_TOPIC_STATUS, shard, &low, &high);
        if (good)
            kafka_reader_add(reader, SLU_TOPIC_STATUS, shard, high);
    }
    if (good && kafka_reader_start(reader))
        return reader;
    kafka_reader_free(reader);
    return NULL;
}

static int
complain_about_nothing(const struct cli *cli, const struct selection *selection)
{
    if (selection->key[0] || selection->id[0]) {
        complain("there is no %s%s%s", selection->key[0] ? selection->key : selection->kind,
                 selection->key[0] ? "" : "/", selection->key[0] ? "" : selection->id);
        return CLI_NOT_FOUND;
    }
    if (!cli->options.json && !cli->options.watch) {
        fprintf(stderr, "There is nothing yet. `sluice apply -f examples/01-sandbox.json` makes a "
                        "sandbox.\n");
    }
    return CLI_OK;
}

int
cli_get(struct cli *cli)
{
    struct selection selection = {.tenant = cli->options.tenant, .project = cli->options.project};
    if (cli->argc > 0 && !selection_read(cli->argv[0], &selection))
        return CLI_USAGE;
    struct kafka_reader *reader = NULL;
    if (cli->options.watch) {
        reader = take_places(cli);
        if (!reader)
            return CLI_FAILED;
    }
    struct resources found = {0};
    struct table *table = table_new(titles, SLU_COUNT(titles));
    int status = resources_read(cli, &selection, &found);
    if (status == CLI_OK && found.count == 0)
        status = complain_about_nothing(cli, &selection);
    else if (status == CLI_OK)
        print_all(cli, table, &found);
    resources_done(&found);
    if (reader && status != CLI_FAILED)
        status = watch(cli, reader, table, &selection);
    table_free(table);
    kafka_reader_free(reader);
    return status;
}
