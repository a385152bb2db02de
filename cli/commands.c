/* SPDX-License-Identifier: Apache-2.0 */
/* The commands, each with the text that teaches it. The same rows make --help, the completions and
 * the man page's checks. */
#include "cli.h"
#include "output.h"
#include "slu/base/macros.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
const struct cli_command cli_commands[] = {
    {"apply", "[-f FILE|-] [FILE…]", "publishes desired documents and tells what became of them",
     "Publishes each document of the files, byte for byte, to the desired topic: into the partition\n"
     "of its root, under the key that its `kind`, root and `id` make. Then waits for the leader's\n"
     "judgement of each record and prints it. A file may hold one document, several one after the\n"
     "other, or an array of them; - is the standard input.\n"
     "\n"
     "  sluice apply -f examples/01-sandbox.json\n"
     "  jq '.spec.state = \"paused\" | del(.generation)' sandbox.json | sluice apply -f -\n"
     "  sluice apply --json *.json | jq -r 'select(.verdict == \"refused\") | .message'\n"
     "\n"
     "accepted   the document is the accepted wish now, with this generation\n"
     "unchanged  it says what is accepted already\n"
     "refused    nothing changed; the message names the field, the value and what would be right\n",
     "file/f no-wait timeout-seconds json", 0, 63, cli_apply},
    {"get", "[<kind> | <kind>/<id> | <key>]", "lists resources, or follows them",
     "Shows resources as the leaders describe them: from the views in Redis, or, when Redis is away,\n"
     "from the status topic. READY says whether it is as wished, WHY what stands in the way.\n"
     "\n"
     "  sluice get                          everything\n"
     "  sluice get sandbox -w               all sandboxes, then each change\n"
     "  sluice get sandbox/sbx-1 --json | jq .spec\n"
     "  sluice get checkpoint/sbx-1/cp-7    a child by its whole key\n"
     "  sluice get checkpoint/cp-7          … or by its id alone\n"
     "  sluice get --tenant acme --project web\n",
     "watch/w tenant project json", 0, 1, cli_get},
    {"describe", "<key> | <sandbox id>", "tells everything about one resource",
     "Phase, conditions, instance, deadlines, the accepted spec, and its last events.\n"
     "\n"
     "  sluice describe sbx-1\n"
     "  sluice describe checkpoint/sbx-1/cp-7\n"
     "  sluice describe sbx-1 --json | jq '.events[].type'\n",
     "last json", 1, 1, cli_describe},
    {"events", "[<key>]", "shows history, or follows it",
     "Each judgement and each transition leaves exactly one event; they are kept for seven days.\n"
     "\n"
     "  sluice events                        the last ones of all\n"
     "  sluice events sandbox/sbx-1 -f       of one resource, then what comes\n"
     "  sluice events --last 0 --json | jq -r 'select(.type | endswith(\".lost\")) | .subject'\n",
     "follow/f last json", 0, 1, cli_events},
    {"pause", "<sandbox id>", "wishes a sandbox paused",
     "Publishes the accepted spec with `state` \"paused\", on condition that nobody has changed it\n"
     "meanwhile. Returns when the wish is accepted; `sluice get sandbox/ID -w` shows it carried out.\n"
     "\n"
     "  sluice pause sbx-1\n",
     "no-wait timeout-seconds json", 1, 1, cli_pause},
    {"resume", "<sandbox id>", "wishes a sandbox running",
     "As pause, with `state` \"running\".\n"
     "\n"
     "  sluice resume sbx-1\n",
     "no-wait timeout-seconds json", 1, 1, cli_resume},
    {"stop", "<sandbox id>", "wishes a sandbox stopped, for good",
     "As pause, with `state` \"stopped\": the instance is deleted, the record is kept, and a later\n"
     "`running` is refused.\n"
     "\n"
     "  sluice stop sbx-1\n",
     "no-wait timeout-seconds json", 1, 1, cli_stop},
    {"delete", "<sandbox id>", "wishes a sandbox gone",
     "Publishes a tombstone: the instance is deleted whatever state it is in, then the record. A\n"
     "document for the same id begins a new life.\n"
     "\n"
     "  sluice delete sbx-1\n",
     "no-wait timeout-seconds json", 1, 1, cli_delete},
    {"redrive", "<sandbox id>", "tries a parked sandbox again, now",
     "After several failures a resource is parked and tried again every ten minutes. This publishes\n"
     "the accepted spec once more with the header `slu-redrive: 1`: the leader tries at once. The wish\n"
     "does not change, so the answer is `unchanged`.\n"
     "\n"
     "  sluice redrive sbx-1\n",
     "no-wait timeout-seconds json", 1, 1, cli_redrive},
    {"shards", "[reset <shard>]", "shows who leads each shard, and how far it is",
     "BEHIND is the number of offsets in its input not judged yet; COMMITTED how long ago its leader\n"
     "committed (idle leaders do every two seconds); VIEW what Redis holds of it (epoch.sequence).\n"
     "\n"
     "reset moves a shard's position when it lies outside the log (the topic was made anew, or its\n"
     "records were deleted before they were judged) and the shard therefore stopped. It asks first.\n"
     "\n"
     "  sluice shards -w\n"
     "  sluice shards reset 3                      judge again what is still in the log\n"
     "  sluice shards reset 3 --to end --yes       skip it\n",
     "watch/w to yes json", 0, 2, cli_shards},
    {"topics", "create | check", "makes or checks the topics",
     "create makes what is missing: six topics, and the first record of each shard. It changes nothing\n"
     "that is there and may be repeated. check names every deviation.\n"
     "\n"
     "  sluice topics create --partitions 16\n"
     "  sluice topics check\n",
     "partitions json", 1, 1, cli_topics},
    {"providers", "", "shows the configured providers, their health and what they can do",
     "Reads the reconciler's file and asks each instance's /health.\n"
     "\n"
     "  sluice providers --config /etc/sluice/sluice.json\n",
     "json", 0, 0, cli_providers},
    {"version", "", "prints the versions of sluice and its libraries", "  sluice version\n", "", 0, 0,
     cli_version},
    {"completion", "bash | zsh", "prints a completion script for a shell",
     "  source <(sluice completion bash)\n"
     "  sluice completion zsh > \"${fpath[1]}/_sluice\"\n",
     "", 1, 1, cli_completion},
    {0},
};

/* clang-format on */

const struct cli_command *
cli_command_find(const char *name)
{
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        if (strcmp(command->name, name) == 0)
            return command;
    }
    return NULL;
}

static void
print_option(const char *name, size_t size, char letter)
{
    const struct slu_setting *row = cli_option_find(name, size);
    char flag[64], short_flag[8] = "    ", value[80] = "";
    if (letter)
        snprintf(short_flag, sizeof(short_flag), "-%c, ", letter);
    snprintf(flag, sizeof(flag), "--%s%s", row->name,
             row->kind == SLU_SETTING_SWITCH   ? ""
             : row->kind == SLU_SETTING_NUMBER ? " N"
             : strcmp(row->name, "file") == 0  ? " FILE"
                                               : " TEXT");
    if (row->fallback[0] && row->kind != SLU_SETTING_SWITCH)
        snprintf(value, sizeof(value), " (default %s)", row->fallback);
    printf("  %s%-20s  %s%s\n", short_flag, flag, row->help, value);
}

static void
print_command_help(const struct cli_command *command)
{
    printf("Usage: sluice %s%s%s [options]\n\n", command->name, command->arguments[0] ? " " : "",
           command->arguments);
    printf("sluice %s %s.\n\n%s", command->name, command->summary, command->help);
    const char *at = command->options, *name;
    size_t size;
    char letter;
    if (command->options[0])
        puts("\nOptions:");
    while (cli_option_next(&at, &name, &size, &letter))
        print_option(name, size, letter);
    puts("\nWhere Kafka and Redis are: `sluice help` lists the settings, such as --kafka-brokers.");
}

static void
print_program_help(void)
{
    puts("Usage: sluice <command> [arguments] [options]\n"
         "\n"
         "Keeps agent sandboxes as their owners asked for them: publish what you wish, see what "
         "is.\n"
         "\n"
         "Commands (`sluice help <command>` teaches one):");
    for (const struct cli_command *command = cli_commands; command->name; command++)
        printf("  %-11s %s\n", command->name, command->summary);
    puts("\n"
         "To begin with:\n"
         "  sluice topics create\n"
         "  sluice apply -f examples/01-sandbox.json\n"
         "  sluice get -w\n"
         "\n"
         "Settings: a flag is stronger than its variable, a variable than the member of the file.");
    slu_settings_help(cli_setting_rows, cli_setting_count, stdout);
    puts("\n"
         "Exit status: 0 done; 1 Kafka, Redis or a file failed; 2 wrong arguments or settings;\n"
         "3 refused, nothing changed; 4 not found; 5 published, but not judged in time; 6 a check\n"
         "found something wrong.\n"
         "\n"
         "Colours only on a terminal, and never with NO_COLOR. --json prints one object a line.");
}

void
cli_print_help(const struct cli_command *command)
{
    if (command)
        print_command_help(command);
    else
        print_program_help();
}
