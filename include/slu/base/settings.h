/* SPDX-License-Identifier: Apache-2.0 */
/* Settings by table: one row each, used for flags, environment, the --config file, --help, bounds
 * and the README table (tests/unit/base/test_settings.c and tests/tidy compare them).
 * Precedence: flag > SLU_… variable > file > default. Unknown flags, unknown SLU_… variables and
 * unknown file members are errors that name what would be right. */
#ifndef SLU_BASE_SETTINGS_H
#define SLU_BASE_SETTINGS_H

#include "slu/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum slu_setting_kind {
    SLU_SETTING_TEXT,   /* char[size] in the struct. */
    SLU_SETTING_NUMBER, /* int64_t, `min` … `max`. */
    SLU_SETTING_SWITCH, /* bool: true/false/1/0/yes/no; the bare flag means true. */
    SLU_SETTING_SECRET, /* char[size], a path of a file that holds it: masked nowhere because the
                           secret itself is never a setting. */
};

struct slu_setting {
    const char *name; /* "kafka-brokers": flag --kafka-brokers, variable SLU_KAFKA_BROKERS, file
                         member "kafkaBrokers". */
    enum slu_setting_kind kind;
    size_t offset;
    size_t size;
    const char *fallback;
    int64_t min, max;
    const char *help;
};

/* Gives a value for a file member ("kafkaBrokers"), or NULL; the file is read by the caller, since
 * this layer knows no JSON. */
typedef const char *(slu_setting_lookup_fn) (void *context, const char *member);

/* Fills `ret_config` (defaults, file, environment, flags, in that order of strength). `argv` is
 * scanned for --name value and --name=value; what is no flag stays, moved to the front of
 * argv[1…], and its count comes back in `*argc`. `lookup` may be NULL. */
enum slu_status slu_settings_load(const struct slu_setting *rows,
                                  size_t row_count,
                                  int *argc,
                                  char **argv,
                                  char **environment,
                                  slu_setting_lookup_fn *lookup,
                                  void *lookup_context,
                                  void *ret_config,
                                  struct slu_error *reterr);

/* Whether some row has this file member: the caller refuses the others. */
bool slu_settings_has_member(const struct slu_setting *rows, size_t row_count, const char *member);

/* The text of one flag found in argv, without loading anything: for --config, read first. */
const char *slu_settings_peek(int argc, char **argv, char **environment, const char *name);

/* "  --kafka-brokers HOST:PORT,…   help (default …; SLU_KAFKA_BROKERS)", a row each. */
void slu_settings_help(const struct slu_setting *rows, size_t row_count, FILE *out);

#endif
