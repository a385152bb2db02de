/* SPDX-License-Identifier: Apache-2.0 */
/* What every command of `sluice` shares: its settings, its options, and the table of commands. */
#ifndef SLU_CLI_CLI_H
#define SLU_CLI_CLI_H

#include "slu/base/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit statuses, as documented in `sluice help` and sluice(1). */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1,  /* Kafka, Redis or a file did not do what it should. */
    CLI_USAGE = 2,   /* Wrong arguments or settings. */
    CLI_REFUSED = 3, /* A document was refused; nothing changed. */
    CLI_NOT_FOUND = 4,
    CLI_UNANSWERED = 5, /* Published, and no judgement came in time: it may still be accepted. */
    CLI_UNHEALTHY = 6,  /* A check found something wrong. */
};

/* Settings: for all commands, by flag, SLU_… variable or file. */
struct cli_settings {
    char config[1024];
    char kafka_brokers[1024];
    char kafka_properties_file[1024];
    char topic_prefix[128];
    char redis_url[512];
    char redis_password_file[1024];
    char redis_key_prefix[65];
};

/* Options: flags of single commands; each command takes those that its row names. */
struct cli_options {
    bool json, watch, follow, no_wait, yes;
    char file[1024];
    char to[16];
    char tenant[129], project[129];
    int64_t timeout_seconds, partitions, last;
};

struct cli {
    struct cli_settings settings;
    struct cli_options options;
    char *kafka_properties; /* "name=value;…" of the file; "" without. */
    int argc;               /* Words after the command. */
    char **argv;
};

struct cli_command {
    const char *name;
    const char *arguments; /* "[<kind>[/<id>] | <key>]" */
    const char *summary;
    const char *help;    /* What it does, with examples. */
    const char *options; /* Names of its options, blank-separated; a short flag as "file/f". */
    int arguments_min, arguments_max;
    int (*run)(struct cli *cli);
};

extern const struct cli_command cli_commands[]; /* Ends with an all-zero row. */
const struct cli_command *cli_command_find(const char *name);

/* The settings' and the options' rows. */
extern const struct slu_setting cli_setting_rows[];
extern const size_t cli_setting_count;
const struct slu_setting *cli_option_find(const char *name, size_t size);

/* Reads flags, variables and the file; what is left are the command's words. */
enum slu_status cli_settings_read(const struct cli_command *command,
                                  int argc,
                                  char **argv,
                                  char **environment,
                                  struct cli *ret_cli,
                                  struct slu_error *reterr);
void cli_done(struct cli *cli);

/* The next option a command names: true with its name and, if any, its short letter. */
bool cli_option_next(const char **at, const char **ret_name, size_t *ret_size, char *ret_letter);

void cli_print_help(const struct cli_command *command); /* NULL: of the program. */

int cli_apply(struct cli *cli);
int cli_get(struct cli *cli);
int cli_describe(struct cli *cli);
int cli_events(struct cli *cli);
int cli_pause(struct cli *cli);
int cli_resume(struct cli *cli);
int cli_stop(struct cli *cli);
int cli_delete(struct cli *cli);
int cli_redrive(struct cli *cli);
int cli_shards(struct cli *cli);
int cli_topics(struct cli *cli);
int cli_providers(struct cli *cli);
int cli_version(struct cli *cli);
int cli_completion(struct cli *cli);

#endif
