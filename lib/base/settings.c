/* SPDX-License-Identifier: Apache-2.0 */
/* Settings by table. For each row the strongest source that has a value wins; it alone is parsed,
 * so that an error always names the source that counts. */
#include "slu/base/settings.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    NAME_SIZE = 80
};

static const char variable_prefix[] = "SLU_";

/* "kafka-brokers" → "SLU_KAFKA_BROKERS". */
static void
variable_name(const char *name, char ret_variable[NAME_SIZE])
{
    assert(sizeof(variable_prefix) + strlen(name) <= NAME_SIZE);

    size_t used = sizeof(variable_prefix) - 1;
    memcpy(ret_variable, variable_prefix, used);
    for (; *name; name++)
        ret_variable[used++] = *name == '-' ? '_' : (char) toupper((unsigned char) *name);
    ret_variable[used] = '\0';
}

/* "kafka-brokers" → "kafkaBrokers". */
static void
member_name(const char *name, char ret_member[NAME_SIZE])
{
    assert(strlen(name) < NAME_SIZE);

    size_t used = 0;
    bool upper = false;
    for (; *name; name++) {
        if (*name == '-') {
            upper = true;
            continue;
        }
        ret_member[used++] = upper ? (char) toupper((unsigned char) *name) : *name;
        upper = false;
    }
    ret_member[used] = '\0';
}

static const char *
find_variable(char **environment, const char *variable)
{
    const size_t size = strlen(variable);
    for (; environment && *environment; environment++) {
        if (strncmp(*environment, variable, size) == 0 && (*environment)[size] == '=')
            return *environment + size + 1;
    }
    return NULL;
}

bool
slu_settings_has_member(const struct slu_setting *rows, size_t row_count, const char *member)
{
    for (size_t i = 0; i < row_count; i++) {
        char known[NAME_SIZE];
        member_name(rows[i].name, known);
        if (strcmp(known, member) == 0)
            return true;
    }
    return false;
}

/* Single-letter edits between two short words (Levenshtein). */
static size_t
edit_distance(const char *a, size_t a_size, const char *b)
{
    size_t row[NAME_SIZE];
    const size_t b_size = strlen(b);
    if (a_size >= NAME_SIZE || b_size >= NAME_SIZE)
        return SIZE_MAX;

    for (size_t j = 0; j <= b_size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            const size_t added = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = replaced < added ? replaced : added;
        }
    }
    return row[b_size];
}

/* The known name most like the one given; NULL without rows. */
static const char *
nearest_name(const struct slu_setting *rows, size_t row_count, const char *name, size_t size)
{
    const char *nearest = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < row_count; i++) {
        const size_t distance = edit_distance(name, size, rows[i].name);
        if (!nearest || distance < least) {
            nearest = rows[i].name;
            least = distance;
        }
    }
    return nearest;
}

/* --- values
 * --------------------------------------------------------------------------------------- */

static bool
is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++) {
        if (strcasecmp(text, *words) == 0)
            return true;
    }
    return false;
}

static enum slu_status
set_switch(const char *text, const char *source, bool *ret_value, struct slu_error *reterr)
{
    static const char *const yes[] = {"true", "1", "yes", NULL};
    static const char *const no[] = {"false", "0", "no", NULL};

    if (!is_one_of(text, yes) && !is_one_of(text, no))
        return slu_fail(reterr, SLU_INVALID,
                        "%s: \"%.64s\" is not allowed: it must be true or false", source, text);
    *ret_value = is_one_of(text, yes);
    return SLU_OK;
}

static enum slu_status
set_number(const struct slu_setting *row,
           const char *text,
           const char *source,
           int64_t *ret_value,
           struct slu_error *reterr)
{
    errno = 0;
    char *end;
    const long long number = strtoll(text, &end, 10);
    const bool is_number = *text && !isspace((unsigned char) *text) && *end == '\0' && errno == 0;

    if (!is_number || number < row->min || number > row->max) {
        return slu_fail(
            reterr, SLU_INVALID,
            "%s: \"%.64s\" is not allowed: it must be a whole number between %lld and %lld", source,
            text, (long long) row->min, (long long) row->max);
    }
    *ret_value = number;
    return SLU_OK;
}

static enum slu_status
set_text(const struct slu_setting *row,
         const char *text,
         const char *source,
         char *ret_value,
         struct slu_error *reterr)
{
    const size_t size = strlen(text);
    if (size >= row->size) {
        return slu_fail(reterr, SLU_INVALID,
                        "%s: the text of %zu bytes is too long: at most %zu are allowed", source,
                        size, row->size - 1);
    }
    memset(ret_value, 0, row->size);
    memcpy(ret_value, text, size);
    return SLU_OK;
}

static enum slu_status
set_value(const struct slu_setting *row,
          const char *text,
          const char *source,
          void *ret_config,
          struct slu_error *reterr)
{
    char *member = (char *) ret_config + row->offset;

    switch (row->kind) {
    case SLU_SETTING_TEXT:
    case SLU_SETTING_SECRET:
        return set_text(row, text, source, member, reterr);
    case SLU_SETTING_NUMBER:
        return set_number(row, text, source, (int64_t *) (void *) member, reterr);
    case SLU_SETTING_SWITCH:
        return set_switch(text, source, (bool *) (void *) member, reterr);
    }
    abort(); /* A row of a table of ours. */
}

/* --- flags
 * ---------------------------------------------------------------------------------------- */

/* The value of "--name=value" when `argument` is that flag, "" when it is the bare flag, else NULL.
 */
static const char *
flag_value(const char *argument, const char *name, bool *ret_bare)
{
    const size_t size = strlen(name);
    if (strncmp(argument, "--", 2) != 0 || strncmp(argument + 2, name, size) != 0)
        return NULL;

    const char *rest = argument + 2 + size;
    *ret_bare = *rest == '\0';
    if (*rest == '=')
        return rest + 1;
    return *ret_bare ? rest : NULL;
}

static const struct slu_setting *
find_flag(const struct slu_setting *rows,
          size_t row_count,
          const char *argument,
          const char **ret_value,
          bool *ret_bare)
{
    for (size_t i = 0; i < row_count; i++) {
        *ret_value = flag_value(argument, rows[i].name, ret_bare);
        if (*ret_value)
            return &rows[i];
    }
    return NULL;
}

static enum slu_status
refuse_flag(const struct slu_setting *rows,
            size_t row_count,
            const char *argument,
            struct slu_error *reterr)
{
    const size_t size = strcspn(argument + 2, "=");
    const char *nearest = nearest_name(rows, row_count, argument + 2, size);
    return slu_fail(reterr, SLU_INVALID, "%.*s: unknown flag; did you mean --%s?",
                    (int) (size + 2 > 64 ? 64 : size + 2), argument, nearest ? nearest : "help");
}

/* Takes the flags out of argv, into values[] (one per row; NULL where none was given). */
static enum slu_status
take_flags(const struct slu_setting *rows,
           size_t row_count,
           int *argc,
           char **argv,
           const char **values,
           struct slu_error *reterr)
{
    int kept = 1;
    int i = 1;
    for (; i < *argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            argv[kept++] = argv[i];
            continue;
        }

        const char *value;
        bool bare = false;
        const struct slu_setting *row = find_flag(rows, row_count, argv[i], &value, &bare);
        if (!row)
            return refuse_flag(rows, row_count, argv[i], reterr);
        if (bare && row->kind == SLU_SETTING_SWITCH)
            value = "true";
        else if (bare && i + 1 >= *argc)
            return slu_fail(reterr, SLU_INVALID, "--%s: a value must follow", row->name);
        else if (bare)
            value = argv[++i];
        values[row - rows] = value;
    }
    for (i++; i < *argc; i++) /* Behind "--" nothing is a flag. */
        argv[kept++] = argv[i];

    *argc = kept;
    argv[kept] = NULL;
    return SLU_OK;
}

static enum slu_status
check_variables(const struct slu_setting *rows,
                size_t row_count,
                char **environment,
                struct slu_error *reterr)
{
    for (; environment && *environment; environment++) {
        if (strncmp(*environment, variable_prefix, sizeof(variable_prefix) - 1) != 0)
            continue;

        const size_t size = strcspn(*environment, "=");
        bool known = false;
        char variable[NAME_SIZE];
        for (size_t i = 0; i < row_count && !known; i++) {
            variable_name(rows[i].name, variable);
            known = strlen(variable) == size && strncmp(*environment, variable, size) == 0;
        }
        if (!known) {
            return slu_fail(reterr, SLU_INVALID,
                            "%.*s: unknown variable; --help lists those that begin with %s",
                            (int) (size > 64 ? 64 : size), *environment, variable_prefix);
        }
    }
    return SLU_OK;
}

/* --- the table
 * ------------------------------------------------------------------------------------ */

static enum slu_status
load_row(const struct slu_setting *row,
         const char *flag,
         char **environment,
         const char *from_file,
         void *ret_config,
         struct slu_error *reterr)
{
    char source[NAME_SIZE + sizeof("--")];
    if (flag) {
        snprintf(source, sizeof(source), "--%s", row->name);
        return set_value(row, flag, source, ret_config, reterr);
    }

    variable_name(row->name, source);
    const char *variable = find_variable(environment, source);
    if (variable)
        return set_value(row, variable, source, ret_config, reterr);

    member_name(row->name, source);
    return set_value(row, from_file ? from_file : row->fallback, source, ret_config, reterr);
}

enum slu_status // NOLINTNEXTLINE(readability-function-size): one call, in a program's main().
slu_settings_load(const struct slu_setting *rows,
                  size_t row_count,
                  int *argc,
                  char **argv,
                  char **environment,
                  slu_setting_lookup_fn *lookup,
                  void *lookup_context,
                  void *ret_config,
                  struct slu_error *reterr)
{
    enum {
        ROWS_MAX = 256
    };

    const char *flags[ROWS_MAX] = {0};
    assert(row_count <= ROWS_MAX);

    enum slu_status status = take_flags(rows, row_count, argc, argv, flags, reterr);
    if (!status)
        status = check_variables(rows, row_count, environment, reterr);

    for (size_t i = 0; i < row_count && !status; i++) {
        char member[NAME_SIZE];
        member_name(rows[i].name, member);
        const char *from_file = lookup ? lookup(lookup_context, member) : NULL;
        status = load_row(&rows[i], flags[i], environment, from_file, ret_config, reterr);
    }
    return status;
}

const char *
slu_settings_peek(int argc, char **argv, char **environment, const char *name)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        bool bare = false;
        const char *value = flag_value(argv[i], name, &bare);
        if (value)
            return bare ? argv[i + 1] : value; /* argv ends with NULL. */
    }

    char variable[NAME_SIZE];
    variable_name(name, variable);
    return find_variable(environment, variable);
}

void
slu_settings_help(const struct slu_setting *rows, size_t row_count, FILE *out)
{
    static const char *const placeholders[] = {
        [SLU_SETTING_TEXT] = " TEXT",
        [SLU_SETTING_NUMBER] = " NUMBER",
        [SLU_SETTING_SWITCH] = "",
        [SLU_SETTING_SECRET] = " FILE",
    };

    for (size_t i = 0; i < row_count; i++) {
        char flag[NAME_SIZE + sizeof("-- NUMBER")], variable[NAME_SIZE];
        snprintf(flag, sizeof(flag), "--%s%s", rows[i].name, placeholders[rows[i].kind]);
        variable_name(rows[i].name, variable);

        fprintf(out, "  %-32s %s (", flag, rows[i].help);
        if (rows[i].fallback[0])
            fprintf(out, "default %s; ", rows[i].fallback);
        if (rows[i].kind == SLU_SETTING_NUMBER)
            fprintf(out, "%lld…%lld; ", (long long) rows[i].min, (long long) rows[i].max);
        fprintf(out, "%s)\n", variable);
    }
}
