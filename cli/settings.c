/* SPDX-License-Identifier: Apache-2.0 */
/* Settings and options by the table of slu/base/settings.h. Variables and file members of other
 * programs are left alone: one environment and one --config file serve them all. */
#include "cli.h"
#include "slu/base/buffer.h"
#include "slu/base/macros.h"
#include "slu/base/memory.h"

#include <jansson.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MAX = 32,
    ARGUMENTS_MAX = 4096,
    VARIABLES_MAX = 32,
    PROPERTIES_MAX = 16 * 1024,
};

/* Where a value goes: the kind, the place in struct cli, the size. */
/* NOLINTBEGIN(bugprone-macro-parentheses): names of members. */
#define PLACE(kind, part, member)                          \
    SLU_SETTING_##kind, offsetof(struct cli, part.member), \
        sizeof(((struct cli *) NULL)->part.member)
#define TEXT(part, member)   PLACE(TEXT, part, member)
#define SECRET(part, member) PLACE(SECRET, part, member)
#define NUMBER(part, member) PLACE(NUMBER, part, member)
#define SWITCH(part, member) PLACE(SWITCH, part, member)
/* NOLINTEND(bugprone-macro-parentheses) */

/* clang-format off */
const struct slu_setting cli_setting_rows[] = {
    {"config", TEXT(settings, config), "", 0, 0, "JSON file with these settings by member name, and the object `providers`"},
    {"kafka-brokers", TEXT(settings, kafka_brokers), "localhost:9092", 0, 0, "brokers to start from, host:port, comma-separated"},
    {"kafka-properties-file", SECRET(settings, kafka_properties_file), "", 0, 0, "further librdkafka properties (TLS, SASL), one name=value a line"},
    {"topic-prefix", TEXT(settings, topic_prefix), "sluice.", 0, 0, "what the topics' names begin with"},
    {"redis-url", TEXT(settings, redis_url), "redis://localhost:6379", 0, 0, "where the views are"},
    {"redis-password-file", SECRET(settings, redis_password_file), "", 0, 0, "file that holds the password"},
    {"redis-key-prefix", TEXT(settings, redis_key_prefix), "slu:", 0, 0, "what the keys begin with"},
};
const size_t cli_setting_count = SLU_COUNT(cli_setting_rows);

static const struct slu_setting option_rows[] = {
    {"file", TEXT(options, file), "", 0, 0, "file of documents; - is the standard input"},
    {"follow", SWITCH(options, follow), "false", 0, 0, "go on with what comes, until interrupted"},
    {"json", SWITCH(options, json), "false", 0, 0, "one JSON object a line, for programs"},
    {"last", NUMBER(options, last), "1000", 0, 1000000000, "look through so many records of each shard; 0: all there are"},
    {"no-wait", SWITCH(options, no_wait), "false", 0, 0, "do not wait for the judgement"},
    {"partitions", NUMBER(options, partitions), "16", 1, 1024, "number of shards"},
    {"project", TEXT(options, project), "", 0, 0, "only of this project"},
    {"tenant", TEXT(options, tenant), "", 0, 0, "only of this tenant"},
    {"timeout-seconds", NUMBER(options, timeout_seconds), "30", 1, 3600, "how long to wait for the judgement"},
    {"to", TEXT(options, to), "beginning", 0, 0, "`beginning` judges again what is still in the log, `end` skips it"},
    {"watch", SWITCH(options, watch), "false", 0, 0, "then show each change, until interrupted"},
    {"yes", SWITCH(options, yes), "false", 0, 0, "do it without asking"},
};

/* clang-format on */

const struct slu_setting *
cli_option_find(const char *name, size_t size)
{
    for (size_t i = 0; i < SLU_COUNT(option_rows); i++) {
        if (strlen(option_rows[i].name) == size && strncmp(option_rows[i].name, name, size) == 0)
            return &option_rows[i];
    }
    return NULL;
}

bool
cli_option_next(const char **at, const char **ret_name, size_t *ret_size, char *ret_letter)
{
    *at += strspn(*at, " ");
    if (!**at)
        return false;
    *ret_name = *at;
    *ret_size = strcspn(*at, " /");
    *at += *ret_size;
    *ret_letter = '\0';
    if (**at == '/') {
        *ret_letter = (*at)[1];
        *at += 2;
    }
    return true;
}

/* The rows this command takes: every setting and its own options. Defaults of the others are set
 * too. */
static size_t
collect_rows(const struct cli_command *command, struct slu_setting ret_rows[ROWS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < SLU_COUNT(cli_setting_rows); i++)
        ret_rows[count++] = cli_setting_rows[i];
    const char *at = command->options, *name;
    size_t size;
    char letter;
    while (cli_option_next(&at, &name, &size, &letter))
        ret_rows[count++] = *cli_option_find(name, size);
    return count;
}

/* "-f" and "-fX" as "--file" and "--file=X"; other words as they are. */
static char *
spell_out(const struct cli_command *command, const char *word)
{
    if (word[0] != '-' || word[1] == '-' || word[1] == '\0')
        return slu_strdup(word);
    const char *at = command->options, *name;
    size_t size;
    char letter;
    while (cli_option_next(&at, &name, &size, &letter)) {
        if (letter != word[1])
            continue;
        struct slu_buffer spelt = {0};
        slu_buffer_printf(&spelt, "--%.*s%s%s", (int) size, name, word[2] ? "=" : "", word + 2);
        return slu_buffer_take(&spelt);
    }
    struct slu_buffer unknown = {0};
    slu_buffer_printf(&unknown, "-%s", word); /* "--x": refused with the nearest name. */
    return slu_buffer_take(&unknown);
}

/* Whether "SLU_KAFKA_BROKERS=…" is the variable of "kafka-brokers". */
static bool
is_variable_of(const char *entry, const char *name)
{
    if (strncmp(entry, "SLU_", 4) != 0)
        return false;
    for (entry += 4; *name; name++, entry++) {
        if (*entry != (*name == '-' ? '_' : toupper((unsigned char) *name)))
            return false;
    }
    return *entry == '=';
}

/* Variables of our rows only. Options have none: a forgotten SLU_YES must not answer questions. */
static void
pick_variables(char **environment, char *ret_picked[VARIABLES_MAX + 1])
{
    size_t count = 0;
    for (; *environment; environment++) {
        for (size_t i = 0; i < SLU_COUNT(cli_setting_rows) && count < VARIABLES_MAX; i++) {
            if (is_variable_of(*environment, cli_setting_rows[i].name))
                ret_picked[count++] = *environment;
        }
    }
    ret_picked[count] = NULL;
}

static const char *
file_member(void *context, const char *member)
{
    if (!slu_settings_has_member(cli_setting_rows, SLU_COUNT(cli_setting_rows), member))
        return NULL; /* Options neither. */
    const json_t *value = json_object_get(context, member);
    return json_is_string(value) ? json_string_value(value) : NULL;
}

static enum slu_status
read_file(const char *path, json_t **ret_file, struct slu_error *reterr)
{
    json_error_t where;
    *ret_file = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    if (!*ret_file)
        return slu_fail(reterr, SLU_INVALID, "--config %s: line %d: %s", path, where.line,
                        where.text);
    if (json_is_object(*ret_file))
        return SLU_OK;
    json_decref(*ret_file);
    *ret_file = NULL;
    return slu_fail(reterr, SLU_INVALID, "--config %s: it must hold one JSON object", path);
}

/* The lines of the file, joined by `;` as slu/adapter/topics.h wants them. */
static enum slu_status
read_properties(const char *path, char **ret_properties, struct slu_error *reterr)
{
    struct slu_buffer text = {0};
    FILE *file = path[0] ? fopen(path, "re") : NULL;
    if (path[0] && !file)
        return slu_fail(reterr, SLU_INVALID, "--kafka-properties-file %s: %s", path,
                        strerrordesc_np(errno));
    char line[1024];
    while (file && text.size < PROPERTIES_MAX && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] && line[0] != '#')
            slu_buffer_printf(&text, "%s%s", text.size ? ";" : "", line);
    }
    if (file)
        fclose(file);
    *ret_properties = slu_buffer_take(&text);
    return SLU_OK;
}

static enum slu_status
load(const struct cli_command *command,
     int *argc,
     char **argv,
     char **environment,
     struct cli *ret_cli,
     struct slu_error *reterr)
{
    struct slu_setting rows[ROWS_MAX];
    char *variables[VARIABLES_MAX + 1];
    const size_t count = collect_rows(command, rows);
    pick_variables(environment, variables);
    json_t *file = NULL;
    const char *config = slu_settings_peek(*argc, argv, variables, "config");
    enum slu_status status = config && config[0] ? read_file(config, &file, reterr) : SLU_OK;
    if (!status) {
        status = slu_settings_load(rows, count, argc, argv, variables, file ? file_member : NULL,
                                   file, ret_cli, reterr);
    }
    json_decref(file);
    return status;
}

enum slu_status
cli_settings_read(const struct cli_command *command,
                  int argc,
                  char **argv,
                  char **environment,
                  struct cli *ret_cli,
                  struct slu_error *reterr)
{
    /* Both live as long as the process, like argv: loading takes the flags out of `words`. */
    static char *spelt[ARGUMENTS_MAX + 1];
    static char *words[ARGUMENTS_MAX + 1];
    if (argc > ARGUMENTS_MAX)
        return slu_fail(reterr, SLU_INVALID, "more than %d arguments", ARGUMENTS_MAX);
    for (int i = 0; i < argc; i++)
        words[i] = spelt[i] = spell_out(command, argv[i]);

    *ret_cli = (struct cli){.options = {.timeout_seconds = 30, .partitions = 16, .last = 1000}};
    enum slu_status status = load(command, &argc, words, environment, ret_cli, reterr);
    ret_cli->argc = argc - 1; /* words[0] is the command. */
    ret_cli->argv = words + 1;
    if (!status) {
        status = read_properties(ret_cli->settings.kafka_properties_file,
                                 &ret_cli->kafka_properties, reterr);
    }
    return status;
}

void
cli_done(struct cli *cli)
{
    if (cli->kafka_properties)
        explicit_bzero(cli->kafka_properties, strlen(cli->kafka_properties));
    slu_free_ptr(&cli->kafka_properties);
}
