/* SPDX-License-Identifier: Apache-2.0 */
/* One line per decision and per outcome: `event=plan id=sb-1 action=create reason="…"`, or the
 * same as a JSON object. ERROR: a person must act. WARN: went on regardless. INFO: a life changed.
 * DEBUG: the rest. Events and keys are literals in snake_case; values are quoted and cut at 1 KiB.
 * Only programs log; libraries return errors. Safe from any thread; one write(2) per line. */
#ifndef SLU_BASE_LOG_H
#define SLU_BASE_LOG_H

#include "slu/base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slu_log_level {
    SLU_LOG_DEBUG,
    SLU_LOG_INFO,
    SLU_LOG_WARN,
    SLU_LOG_ERROR,
};

struct slu_log_field {
    const char *key;
    const char *text; /* NULL: `number` is the value. */
    int64_t number;
};

static inline struct slu_log_field
slu_log_text(const char *key, const char *text)
{
    return (struct slu_log_field){.key = key, .text = text ? text : ""};
}

#define SLU_TEXT(key, value) slu_log_text((key), (value))
#define SLU_INT(key, value)  ((struct slu_log_field){(key), NULL, (int64_t) (value)})

/* To standard error until said otherwise. `program` is printed on each line. */
void slu_log_setup(const char *program, enum slu_log_level lowest, bool json);
bool slu_log_level_parse(const char *text, enum slu_log_level *ret_level);
void slu_log_write(enum slu_log_level level,
                   const char *event,
                   const struct slu_log_field *fields,
                   size_t count);

/* SLU_LOG(INFO, "claimed", SLU_INT("shard", 3), SLU_TEXT("owner", url)); */
#define SLU_LOG(level, event, ...)                                                       \
    slu_log_write(SLU_LOG_##level, (event), (const struct slu_log_field[]){__VA_ARGS__}, \
                  sizeof((const struct slu_log_field[]){__VA_ARGS__}) /                  \
                      sizeof(struct slu_log_field))

#endif
