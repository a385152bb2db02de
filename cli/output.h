/* SPDX-License-Identifier: Apache-2.0 */
/* What people see: tables, times, colours on a terminal, and messages that say what to do next. */
#ifndef SLU_CLI_OUTPUT_H
#define SLU_CLI_OUTPUT_H

#include "slu/base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TABLE_COLUMNS_MAX = 12
};

/* Called once: colours only on a terminal, and never with NO_COLOR (no-color.org) or TERM=dumb. */
void output_setup(char **environment);

enum tone {
    TONE_PLAIN,
    TONE_GOOD,
    TONE_BUSY,
    TONE_BAD,
    TONE_QUIET,
};

enum tone tone_of_phase(const char *phase);
const char *tone_begin(enum tone tone); /* "" without colours. */
const char *tone_end(void);

/* Rows are kept until table_print, which knows how wide they are. */
struct table;
struct table *table_new(const char *const *titles, int columns);
void table_cell(struct table *table, enum tone tone, const char *format, ...) SLU_PRINTF(3, 4);
void table_print(struct table *table); /* Prints and forgets the rows; the titles once. */
void table_free(struct table *table);

/* "sluice: <text>" on standard error. */
void complain(const char *format, ...) SLU_PRINTF(1, 2);
void hint(const char *format, ...) SLU_PRINTF(1, 2); /* What to do next; quieter. */

/* "3 s", "5 min", "2 h", "4 d" of a span; "-" for 0 or less. */
enum {
    SPAN_SIZE = 24
};

const char *span_text(int64_t ms, char ret_text[SPAN_SIZE]);
int64_t wall_ms(void);

#endif
