/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice describe`: everything there is to say about one resource, for a person; or with --json
 * one object {"status": …, "events": […]}. */
#include "cli.h"
#include "history.h"
#include "kafka.h"
#include "output.h"
#include "resources.h"
#include "slu/base/memory.h"
#include "slu/model/key.h"
#include "slu/model/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EVENTS_SHOWN = 20
};

static void print_line(const char *name, const char *format, ...) SLU_PRINTF(2, 3);

static void
print_line(const char *name, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (text[0])
        printf("%s%-14s%s%s\n", tone_begin(TONE_QUIET), name, tone_end(), text);
}

static void
print_time(const char *name, int64_t at_ms)
{
    char time[SLU_TIME_TEXT_SIZE], span[SPAN_SIZE];
    if (at_ms <= 0)
        return;
    const int64_t left_ms = at_ms - wall_ms();
    slu_time_write(at_ms, time);
    if (left_ms > 0)
        print_line(name, "%s (in %s)", time, span_text(left_ms, span));
    else
        print_line(name, "%s (%s ago)", time, span_text(-left_ms, span));
}

static void
print_conditions(const json_t *status)
{
    static const char *const titles[] = {"CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE"};
    const json_t *conditions = member(status, "conditions");
    if (json_array_size(conditions) == 0)
        return;
    struct table *table = table_new(titles, SLU_COUNT(titles));
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *one = json_array_get(conditions, i);
        const int64_t since_ms = member_number(one, "lastTransitionAtMs");
        char span[SPAN_SIZE];
        table_cell(table, TONE_PLAIN, "%s", member_text(one, "type"));
        table_cell(table, TONE_PLAIN, "%s", member_text(one, "status"));
        table_cell(table, TONE_PLAIN, "%s", member_text(one, "reason"));
        table_cell(table, TONE_PLAIN, "%s", span_text(since_ms ? wall_ms() - since_ms : 0, span));
        table_cell(table, TONE_PLAIN, "%s", member_text(one, "message"));
    }
    putchar('\n');
    table_print(table);
    table_free(table);
}

static void
print_pending(const json_t *status)
{
    const json_t *pending = member(status, "pending");
    for (size_t i = 0; i < json_array_size(pending); i++) {
        const json_t *one = json_array_get(pending, i);
        print_line("Pending", "%s (call %" PRId64 ")", member_text(one, "action"),
                   member_number(one, "call"));
    }
}

static void
print_object(const char *title, const json_t *object)
{
    if (json_object_size(object) == 0)
        return;
    printf("\n%s%s%s\n", tone_begin(TONE_QUIET), title, tone_end());
    json_dumpf(object, stdout, JSON_INDENT(2));
    putchar('\n');
}

static void
print_status(const char *key, const json_t *status)
{
    const char *phase = member_text(status, "phase");
    print_line("Key", "%s", key);
    print_line("Tenant", "%s", member_text(status, "scope.tenantId"));
    print_line("Project", "%s", member_text(status, "scope.projectId"));
    print_line("Uid", "%s", member_text(status, "uid"));
    print_line("Phase", "%s%s%s", tone_begin(tone_of_phase(phase)), phase, tone_end());
    print_line("Wished", "%s", member_text(status, "spec.state"));
    print_line("Generation", "%" PRId64, member_number(status, "observedGeneration"));
    if (member_number(status, "incarnation"))
        print_line("Incarnation", "%" PRId64, member_number(status, "incarnation"));
    print_line("Provider", "%s", member_text(status, "spec.provider"));
    print_line("Instance", "%s", member_text(status, "detail.instance.externalId"));
    print_line("Workspace", "%s", member_text(status, "session.instance.workspacePath"));
    print_line("Init error", "%s", member_text(status, "session.lastInitError"));
    print_pending(status);
    if (member(status, "detail.parked")) {
        print_line("Parked", "%s: %s (`sluice redrive` tries again at once)",
                   member_text(status, "detail.parked.action"),
                   member_text(status, "detail.parked.reason"));
    }
    print_time("Expires", member_number(status, "record.expiresAtMs"));
    print_time("Idle pause", member_number(status, "detail.idleDeadlineAtMs"));
    print_time("Lease until", member_number(status, "detail.lease.expiresAtMs"));
    print_line("Written by", "shard %" PRId64 ", epoch %" PRId64 ", for offset %" PRId64,
               member_number(status, "fence.shard"), member_number(status, "fence.epoch"),
               member_number(status, "fence.desiredOffset"));
    print_conditions(status);
    print_object("Spec", member(status, "spec"));
    print_object("Record", member(status, "record"));
}

static void
print_events(struct cli *cli, const struct history *history)
{
    const size_t skipped = history->count > EVENTS_SHOWN ? history->count - EVENTS_SHOWN : 0;
    printf("\n%sEvents%s\n", tone_begin(TONE_QUIET), tone_end());
    for (size_t i = skipped; i < history->count; i++)
        happening_print(cli, &history->items[i]);
    if (history->count == 0)
        printf("none in the last %" PRId64 " records of its shard\n", cli->options.last);
}

static void
print_json(const struct resource *resource, const struct history *history)
{
    json_t *events = json_array();
    for (size_t i = 0; i < history->count; i++)
        json_array_append(events, history->items[i].event);
    json_t *line = json_pack("{s:s, s:O, s:o}", "key", resource->key, "status", resource->status,
                             "events", events);
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(line);
}

static int
describe_one(struct cli *cli, const struct resource *resource)
{
    struct slu_key key;
    struct slu_refusal refusal;
    const int shards = kafka_shard_count(cli);
    const bool known =
        shards > 0 && slu_key_parse(resource->key, strlen(resource->key), &key, &refusal);
    struct history history = {0};
    if (known) {
        (void) history_read(cli, resource->key, slu_key_shard(&key, shards), cli->options.last,
                            &history);
    }
    if (cli->options.json) {
        print_json(resource, &history);
    } else {
        print_status(resource->key, resource->status);
        if (known)
            print_events(cli, &history);
    }
    history_done(&history);
    return CLI_OK;
}

int
cli_describe(struct cli *cli)
{
    struct selection selection = {0};
    char key[600];
    snprintf(key, sizeof(key), "%s%.560s", strchr(cli->argv[0], '/') ? "" : "sandbox/",
             cli->argv[0]);
    if (!selection_read(key, &selection))
        return CLI_USAGE;
    struct resources found = {0};
    int status = resources_read(cli, &selection, &found);
    if (status == CLI_OK && found.count == 0) {
        complain("there is no %s", key);
        hint("`sluice get` lists what there is");
        status = CLI_NOT_FOUND;
    }
    for (size_t i = 0; i < found.count && status == CLI_OK; i++)
        status = describe_one(cli, &found.items[i]);
    resources_done(&found);
    return status;
}
