/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for people and programs. A line is built whole and written once, so that lines of several
 * threads never mix. What comes from outside is cut, and cannot break out of its line. */
#include "slu/base/log.h"

#include "slu/base/buffer.h"
#include "slu/base/utf8.h"

#include <assert.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    VALUE_SIZE_MAX = 1024
};

static const char *const level_names[] = {
    [SLU_LOG_DEBUG] = "debug",
    [SLU_LOG_INFO] = "info",
    [SLU_LOG_WARN] = "warn",
    [SLU_LOG_ERROR] = "error",
};

/* Written once, by slu_log_setup, before any thread is there. */
static struct {
    const char *program;
    enum slu_log_level lowest;
    bool json;
} setup = {.program = "sluice", .lowest = SLU_LOG_INFO};

void
slu_log_setup(const char *program, enum slu_log_level lowest, bool json)
{
    setup.program = program;
    setup.lowest = lowest;
    setup.json = json;
}

bool
slu_log_level_parse(const char *text, enum slu_log_level *ret_level)
{
    for (size_t i = 0; i < SLU_COUNT(level_names); i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *ret_level = (enum slu_log_level) i;
            return true;
        }
    }
    return false;
}

/* Cut to size, and with '?' for each byte that is no UTF-8: JSON strings must be valid. */
static void
clean_value(const char *text, struct slu_buffer *out)
{
    const size_t size = strlen(text);
    const size_t kept = slu_utf8_cut(text, size, VALUE_SIZE_MAX);

    for (size_t i = 0; i < kept;) {
        const size_t length = slu_utf8_length(text + i, kept - i);
        if (length)
            slu_buffer_append(out, text + i, length);
        else
            slu_buffer_putc(out, '?');
        i += length ? length : 1;
    }
    if (kept < size)
        slu_buffer_puts(out, "…");
}

/* Words that need no quotes in key=value lines. */
static bool
is_plain(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "._-/:@+,";
    return text[0] && text[strspn(text, plain)] == '\0' && strlen(text) <= VALUE_SIZE_MAX;
}

static void
put_text(struct slu_buffer *line, const char *key, const char *text)
{
    if (setup.json)
        slu_buffer_printf(line, ",\"%s\":", key);
    else
        slu_buffer_printf(line, " %s=", key);

    if (!setup.json && is_plain(text)) {
        slu_buffer_puts(line, text);
        return;
    }
    SLU_AUTO_BUFFER struct slu_buffer value = {0};
    clean_value(text, &value);
    slu_buffer_json_bytes(line, value.data ? value.data : "", value.size);
}

static void
put_field(struct slu_buffer *line, const struct slu_log_field *field)
{
    if (field->text)
        put_text(line, field->key, field->text);
    else if (setup.json)
        slu_buffer_printf(line, ",\"%s\":%lld", field->key, (long long) field->number);
    else
        slu_buffer_printf(line, " %s=%lld", field->key, (long long) field->number);
}

static void
put_start(struct slu_buffer *line, enum slu_log_level level, const char *event)
{
    struct timespec now = {0};
    struct tm parts;
    char date[32] = "";
    if (clock_gettime(CLOCK_REALTIME, &now) == 0 && gmtime_r(&now.tv_sec, &parts))
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts);

    slu_buffer_printf(
        line, setup.json ? "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\"" : "time=%s.%03ldZ level=%s",
        date, now.tv_nsec / 1000000, level_names[level]);
    put_text(line, "program", setup.program);
    put_text(line, "event", event);
}

void
slu_log_write(enum slu_log_level level,
              const char *event,
              const struct slu_log_field *fields,
              size_t count)
{
    assert(level <= SLU_LOG_ERROR);
    if (level < setup.lowest)
        return;

    SLU_AUTO_BUFFER struct slu_buffer line = {0};
    put_start(&line, level, event);
    for (size_t i = 0; i < count; i++)
        put_field(&line, &fields[i]);
    slu_buffer_puts(&line, setup.json ? "}\n" : "\n");

    /* A full or closed standard error must not stop the program. */
    if (write(STDERR_FILENO, line.data, line.size) < 0)
        return;
}
