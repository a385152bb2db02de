/* SPDX-License-Identifier: Apache-2.0 */
/* Text from records is printed with its control characters made visible: a document must not steer
 * the terminal of whoever looks at it. */
#include "output.h"

#include "slu/base/buffer.h"
#include "slu/base/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool colours;

static const char *
find_variable(char **environment, const char *name)
{
    const size_t size = strlen(name);
    for (; *environment; environment++) {
        if (strncmp(*environment, name, size) == 0 && (*environment)[size] == '=')
            return *environment + size + 1;
    }
    return "";
}

void
output_setup(char **environment)
{
    colours = isatty(STDOUT_FILENO) && find_variable(environment, "NO_COLOR")[0] == '\0' &&
              strcmp(find_variable(environment, "TERM"), "dumb") != 0;
}

const char *
tone_begin(enum tone tone)
{
    static const char *const codes[] = {
        [TONE_PLAIN] = "",         [TONE_GOOD] = "\033[32m", [TONE_BUSY] = "\033[33m",
        [TONE_BAD] = "\033[1;31m", [TONE_QUIET] = "\033[2m",
    };
    return colours ? codes[tone] : "";
}

const char *
tone_end(void)
{
    return colours ? "\033[0m" : "";
}

enum tone
tone_of_phase(const char *phase)
{
    static const struct {
        const char *phase;
        enum tone tone;
    } tones[] = {
        {"running", TONE_GOOD},  {"ready", TONE_GOOD},     {"paused", TONE_QUIET},
        {"stopped", TONE_QUIET}, {"deleted", TONE_QUIET},  {"expired", TONE_QUIET},
        {"closed", TONE_QUIET},  {"released", TONE_QUIET}, {"applied", TONE_GOOD},
        {"failed", TONE_BAD},    {"lost", TONE_BAD},       {"revoked", TONE_QUIET},
    };

    for (size_t i = 0; i < SLU_COUNT(tones); i++) {
        if (strcmp(tones[i].phase, phase) == 0)
            return tones[i].tone;
    }
    return TONE_BUSY;
}

/* --- tables ---------------------------------------------------------------------------------- */

struct cell {
    char *text;
    enum tone tone;
};

struct table {
    const char *const *titles;
    int columns;
    struct cell *cells;
    size_t count;
    bool titled;
    int widths[TABLE_COLUMNS_MAX];
};

struct table *
table_new(const char *const *titles, int columns)
{
    struct table *table = slu_alloc(sizeof(*table));
    table->titles = titles;
    table->columns = columns;
    for (int i = 0; i < columns; i++)
        table->widths[i] = (int) strlen(titles[i]);
    return table;
}

/* Characters, not bytes: continuation bytes of UTF-8 take no place. */
static int
width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char) *text & 0xc0) != 0x80;
    return width;
}

static char *
make_visible(char *text)
{
    for (char *c = text; *c; c++) {
        if ((unsigned char) *c < 0x20 || *c == 0x7f)
            *c = ' ';
    }
    return text;
}

void
table_cell(struct table *table, enum tone tone, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (!text[0])
        snprintf(text, sizeof(text), "-");
    if (table->count % 64 == 0)
        table->cells = slu_realloc(table->cells, (table->count + 64) * sizeof(struct cell));
    const int column = (int) (table->count % (size_t) table->columns);
    const int width = width_of(make_visible(text));
    if (width > table->widths[column])
        table->widths[column] = width;
    table->cells[table->count++] = (struct cell){slu_strdup(text), tone};
}

static void
print_cell(const struct table *table, int column, const char *text, enum tone tone)
{
    const bool last = column == table->columns - 1;
    const int padding = last ? 0 : table->widths[column] - width_of(text) + 2;
    printf("%s%s%s%*s", tone_begin(tone), text, tone == TONE_PLAIN ? "" : tone_end(), padding, "");
    if (last)
        putchar('\n');
}

void
table_print(struct table *table)
{
    if (!table->titled) {
        for (int i = 0; i < table->columns; i++)
            print_cell(table, i, table->titles[i], TONE_QUIET);
        table->titled = true;
    }
    for (size_t i = 0; i < table->count; i++) {
        print_cell(table, (int) (i % (size_t) table->columns), table->cells[i].text,
                   table->cells[i].tone);
        free(table->cells[i].text);
    }
    table->count = 0;
    fflush(stdout);
}

void
table_free(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i].text);
    free(table->cells);
    free(table);
}

/* --- messages -------------------------------------------------------------------------------- */

void
complain(const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "sluice: %s\n", make_visible(text));
}

void
hint(const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "  %s\n", make_visible(text));
}

const char *
span_text(int64_t ms, char ret_text[SPAN_SIZE])
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}};

    snprintf(ret_text, SPAN_SIZE, "%s", ms > 0 ? "0 s" : "-");
    for (size_t i = 0; i < SLU_COUNT(units); i++) {
        if (ms < units[i].ms)
            continue;
        snprintf(ret_text, SPAN_SIZE, "%" PRId64 " %s", ms / units[i].ms, units[i].unit);
        break;
    }
    return ret_text;
}

int64_t
wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
