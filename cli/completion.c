/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice completion`: scripts made from the table of commands, so that they cannot fall behind it.
 */
#include "cli.h"
#include "output.h"

#include <stdio.h>
#include <string.h>

/* What may follow a command as its first word. */
static const char *
words_of(const struct cli_command *command)
{
    static const struct {
        const char *name, *words;
    } table[] = {
        {"get", "sandbox checkpoint activity snapshot"},
        {"topics", "create check"},
        {"shards", "reset"},
        {"completion", "bash zsh"},
    };

    for (size_t i = 0; i < SLU_COUNT(table); i++) {
        if (strcmp(table[i].name, command->name) == 0)
            return table[i].words;
    }
    return "";
}

static void
print_flags(const struct cli_command *command)
{
    const char *at = command->options, *name;
    size_t size;
    char letter;
    while (cli_option_next(&at, &name, &size, &letter))
        printf(" --%.*s", (int) size, name);
}

static void
print_bash(void)
{
    fputs("# SPDX-License-Identifier: Apache-2.0\n"
          "# Completion of sluice for bash: made by `sluice completion bash`.\n"
          "_sluice() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
          "command=${COMP_WORDS[1]} words\n"
          "    case $before in\n"
          "    -f | --file | --config | --*-file)\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
          "        return\n"
          "        ;;\n"
          "    --to) words='beginning end' ;;\n"
          "    esac\n"
          "    if [[ -z ${words:-} ]]; then\n"
          "        if ((COMP_CWORD == 1)); then command=''; fi\n"
          "        case $command in\n"
          "        '' | help) words='",
          stdout);
    for (const struct cli_command *command = cli_commands; command->name; command++)
        printf("%s ", command->name);
    fputs("help' ;;\n", stdout);
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        printf("        %s) words='%s", command->name, words_of(command));
        print_flags(command);
        fputs(" --help' ;;\n", stdout);
    }
    fputs("        esac\n"
          "        if [[ $word == --* ]]; then words+='",
          stdout);
    for (size_t i = 0; i < cli_setting_count; i++)
        printf(" --%s", cli_setting_rows[i].name);
    fputs("'; fi\n"
          "    fi\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
          "}\n"
          "complete -o default -F _sluice sluice\n",
          stdout);
}

/* Single quotes end a zsh description. */
static void
print_quoted(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (*text == '[' || *text == ']' || *text == ':')
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void
print_zsh_option(const struct slu_setting *row, char letter)
{
    const bool is_file = strcmp(row->name, "file") == 0 || strcmp(row->name, "config") == 0 ||
                         row->kind == SLU_SETTING_SECRET;
    const char *action = strcmp(row->name, "to") == 0 ? "(beginning end)" : is_file ? "_files" : "";
    if (letter)
        printf(" \\\n            '(-%c --%s)'{-%c,--%s}'[", letter, row->name, letter, row->name);
    else
        printf(" \\\n            '--%s[", row->name);
    print_quoted(row->help);
    putchar(']');
    if (row->kind != SLU_SETTING_SWITCH)
        printf(":%s:%s", row->name, action);
    putchar('\'');
}

static void
print_zsh_command(const struct cli_command *command)
{
    printf("    %s)\n        _arguments", command->name);
    const char *at = command->options, *name;
    size_t size;
    char letter;
    while (cli_option_next(&at, &name, &size, &letter))
        print_zsh_option(cli_option_find(name, size), letter);
    for (size_t i = 0; i < cli_setting_count; i++)
        print_zsh_option(&cli_setting_rows[i], '\0');
    if (strcmp(command->name, "apply") == 0)
        fputs(" \\\n            '*:file:_files'", stdout);
    else if (words_of(command)[0])
        printf(" \\\n            '1:word:(%s)'", words_of(command));
    fputs("\n        ;;\n", stdout);
}

static void
print_zsh(void)
{
    fputs("#compdef sluice\n"
          "# SPDX-License-Identifier: Apache-2.0\n"
          "# Completion of sluice for zsh: made by `sluice completion zsh`.\n"
          "_sluice() {\n"
          "    local -a commands=(\n",
          stdout);
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        printf("        '%s:", command->name);
        print_quoted(command->summary);
        fputs("'\n", stdout);
    }
    fputs("        'help:teaches a command'\n"
          "    )\n"
          "    if ((CURRENT == 2)); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    case $command in\n"
          "    help) _describe command commands ;;\n",
          stdout);
    for (const struct cli_command *command = cli_commands; command->name; command++)
        print_zsh_command(command);
    fputs("    esac\n"
          "}\n"
          "_sluice \"$@\"\n",
          stdout);
}

int
cli_completion(struct cli *cli)
{
    if (strcmp(cli->argv[0], "bash") == 0) {
        print_bash();
        return CLI_OK;
    }
    if (strcmp(cli->argv[0], "zsh") == 0) {
        print_zsh();
        return CLI_OK;
    }
    complain("completion: '%s' is neither bash nor zsh", cli->argv[0]);
    return CLI_USAGE;
}
