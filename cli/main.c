/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice`: finds the command, reads its settings, runs it. */
#include "cli.h"
#include "kafka.h"
#include "output.h"

#include <curl/curl.h>
#include <hiredis/hiredis.h>
#include <jansson.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
cli_version(struct cli *cli)
{
    (void) cli;
    printf("sluice %s (librdkafka %s, libcurl %s, hiredis %d.%d.%d, jansson %s)\n", SLU_VERSION,
           rd_kafka_version_str(), curl_version_info(CURLVERSION_NOW)->version, HIREDIS_MAJOR,
           HIREDIS_MINOR, HIREDIS_PATCH, JANSSON_VERSION);
    return CLI_OK;
}

static bool
wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

static int
complain_about_command(const char *name)
{
    complain("there is no command '%s'", name);
    hint("`sluice help` lists the commands");
    return CLI_USAGE;
}

/* `sluice help [<command>]`, `sluice --help`, `sluice <command> --help`. */
static int
help(const char *name)
{
    const struct cli_command *command = name ? cli_command_find(name) : NULL;
    if (name && !command)
        return complain_about_command(name);
    cli_print_help(command);
    return CLI_OK;
}

static int
check_count(const struct cli_command *command, const struct cli *cli)
{
    if (cli->argc >= command->arguments_min && cli->argc <= command->arguments_max)
        return CLI_OK;
    complain("usage: sluice %s %s", command->name, command->arguments);
    hint("`sluice help %s` teaches it", command->name);
    return CLI_USAGE;
}

int
main(int argc, char **argv)
{
    output_setup(environ);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help(NULL);
    if (strcmp(argv[1], "help") == 0)
        return help(argc > 2 ? argv[2] : NULL);
    const char *name = strcmp(argv[1], "--version") == 0 ? "version" : argv[1];
    const struct cli_command *command = cli_command_find(name);
    if (!command)
        return complain_about_command(name);
    if (wants_help(argc - 1, argv + 1))
        return help(name);

    catch_interrupts();
    struct cli cli;
    struct slu_error error = {0};
    int status = CLI_USAGE;
    if (cli_settings_read(command, argc - 1, argv + 1, environ, &cli, &error)) {
        complain("%s", error.message);
        hint("`sluice help %s` lists its options", command->name);
    } else if (check_count(command, &cli) == CLI_OK) {
        status = command->run(&cli);
    }
    cli_done(&cli);
    return status;
}
