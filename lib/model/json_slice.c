/* SPDX-License-Identifier: Apache-2.0 */
#include "slu/model/json_slice.h"

#include "slu/base/memory.h"

#include <string.h>

static const char *
skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

/* Past the closing quote, or NULL. `at` stands on the opening one. */
static const char *
skip_string(const char *at, const char *end)
{
    at++;
    for (;;) {
        const char *quote = at < end ? memchr(at, '"', (size_t) (end - at)) : NULL;
        if (!quote)
            return NULL;
        const char *escape = memchr(at, '\\', (size_t) (quote - at));
        if (!escape)
            return quote + 1;
        at = escape + 2;
    }
}

enum {
    PLAIN,
    OPENS,
    CLOSES,
    QUOTES
};

/* What a byte means to someone who only counts brackets. */
static const unsigned char meanings[256] = {
    ['{'] = OPENS, ['['] = OPENS, ['}'] = CLOSES, [']'] = CLOSES, ['"'] = QUOTES};

/* Past a bracketed value, or NULL. Brackets are only counted: mixed-up ones pass, and are found
 * when the inside is walked. */
static const char *
skip_nested(const char *at, const char *end)
{
    int depth = 0;
    while (at && at < end) {
        const unsigned char meaning = meanings[(unsigned char) *at];
        if (meaning == QUOTES) {
            at = skip_string(at, end);
            continue;
        }
        at++;
        if (meaning == OPENS)
            depth++;
        else if (meaning == CLOSES && --depth == 0)
            return at;
    }
    return NULL;
}

static const char *
skip_scalar(const char *at, const char *end)
{
    const char *start = at;
    while (at < end && *at != ',' && meanings[(unsigned char) *at] != CLOSES && *at != ' ' &&
           *at != '\n' && *at != '\t' && *at != '\r')
        at++;
    return at == start ? NULL : at;
}

static const char *
skip_value(const char *at, const char *end)
{
    if (at >= end)
        return NULL;
    if (*at == '"')
        return skip_string(at, end);
    if (*at == '{' || *at == '[')
        return skip_nested(at, end);
    return skip_scalar(at, end);
}

struct slu_slices
slu_slices_of(struct slu_slice container)
{
    if (!container.text)
        return (struct slu_slices){0};
    const char *end = container.text + container.size;
    const char *at = skip_space(container.text, end);
    if (at >= end || (*at != '{' && *at != '['))
        return (struct slu_slices){.broken = true};
    return (struct slu_slices){.at = at + 1, .end = end, .close = *at == '{' ? '}' : ']'};
}

static bool
stop(struct slu_slices *slices, bool broken)
{
    slices->close = 0;
    slices->broken = broken;
    return false;
}

/* Reads `"name" :` and leaves `at` on the value. */
static bool
take_name(struct slu_slices *slices, struct slu_slice *ret_name)
{
    const char *at = slices->at;
    const char *after = at < slices->end && *at == '"' ? skip_string(at, slices->end) : NULL;
    if (!after)
        return false;
    *ret_name = (struct slu_slice){at + 1, (size_t) (after - at) - 2};
    at = skip_space(after, slices->end);
    if (at >= slices->end || *at != ':')
        return false;
    slices->at = skip_space(at + 1, slices->end);
    return true;
}

bool
slu_slices_next(struct slu_slices *slices, struct slu_slice *ret_name, struct slu_slice *ret_value)
{
    if (!slices->close)
        return false;
    slices->at = skip_space(slices->at, slices->end);
    if (slices->at >= slices->end)
        return stop(slices, true);
    if (*slices->at == slices->close)
        return stop(slices, false);

    *ret_name = (struct slu_slice){0};
    if (slices->close == '}' && !take_name(slices, ret_name))
        return stop(slices, true);
    const char *after = skip_value(slices->at, slices->end);
    if (!after)
        return stop(slices, true);
    *ret_value = (struct slu_slice){slices->at, (size_t) (after - slices->at)};

    after = skip_space(after, slices->end);
    if (after < slices->end && *after == ',')
        after++;
    else if (after >= slices->end || *after != slices->close)
        return stop(slices, true);
    slices->at = after;
    return true;
}

struct slu_slice
slu_slice_member(struct slu_slice object, const char *name)
{
    struct slu_slices slices = slu_slices_of(object);
    struct slu_slice member;
    struct slu_slice value;
    while (slu_slices_next(&slices, &member, &value)) {
        if (slu_slice_is(member, name))
            return value;
    }
    return (struct slu_slice){0};
}

void
slu_slice_members(struct slu_slice object,
                  const char *const *names,
                  size_t count,
                  struct slu_slice *ret_values)
{
    struct slu_slices slices = slu_slices_of(object);
    struct slu_slice member;
    struct slu_slice value;
    memset(ret_values, 0, count * sizeof(*ret_values));
    while (slu_slices_next(&slices, &member, &value)) {
        for (size_t i = 0; i < count; i++) {
            if (!ret_values[i].text && slu_slice_is(member, names[i])) {
                ret_values[i] = value;
                break;
            }
        }
    }
}

bool
slu_slice_is(struct slu_slice slice, const char *bytes)
{
    return slice.text && slice.size == strlen(bytes) && memcmp(slice.text, bytes, slice.size) == 0;
}

int64_t
slu_slice_int(struct slu_slice slice, int64_t otherwise)
{
    const bool negative = slice.size > 0 && slice.text[0] == '-';
    size_t i = negative ? 1 : 0;
    if (!slice.text || i == slice.size || slice.size - i > 18)
        return otherwise;
    int64_t value = 0;
    for (; i < slice.size; i++) {
        if (slice.text[i] < '0' || slice.text[i] > '9')
            return otherwise;
        value = value * 10 + (slice.text[i] - '0');
    }
    return negative ? -value : value;
}

bool
slu_slice_bool(struct slu_slice slice, bool otherwise)
{
    if (slu_slice_is(slice, "true"))
        return true;
    return slu_slice_is(slice, "false") ? false : otherwise;
}

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool
read_hex4(const char *at, const char *end, uint32_t *ret)
{
    if (end - at < 4)
        return false;
    *ret = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = hex_digit(at[i]);
        if (digit < 0)
            return false;
        *ret = *ret << 4 | (uint32_t) digit;
    }
    return true;
}

static void
append_utf8(struct slu_buffer *out, uint32_t code)
{
    if (code < 0x80) {
        slu_buffer_putc(out, (char) code);
    } else if (code < 0x800) {
        slu_buffer_putc(out, (char) (0xc0 | code >> 6));
        slu_buffer_putc(out, (char) (0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        slu_buffer_putc(out, (char) (0xe0 | code >> 12));
        slu_buffer_putc(out, (char) (0x80 | (code >> 6 & 0x3f)));
        slu_buffer_putc(out, (char) (0x80 | (code & 0x3f)));
    } else {
        slu_buffer_putc(out, (char) (0xf0 | code >> 18));
        slu_buffer_putc(out, (char) (0x80 | (code >> 12 & 0x3f)));
        slu_buffer_putc(out, (char) (0x80 | (code >> 6 & 0x3f)));
        slu_buffer_putc(out, (char) (0x80 | (code & 0x3f)));
    }
}

/* `at` stands behind "\u". NULL on broken text. */
static const char *
append_unicode(struct slu_buffer *out, const char *at, const char *end)
{
    uint32_t code = 0;
    if (!read_hex4(at, end, &code))
        return NULL;
    at += 4;
    if (code >= 0xd800 && code < 0xdc00) {
        uint32_t low = 0;
        if (end - at < 6 || at[0] != '\\' || at[1] != 'u' || !read_hex4(at + 2, end, &low) ||
            low < 0xdc00 || low > 0xdfff)
            return NULL;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
    }
    append_utf8(out, code);
    return at;
}

static const char escapes_from[] = "\"\\/bfnrt";
static const char escapes_to[] = "\"\\/\b\f\n\r\t";

/* `at` stands behind the backslash. Past the escape, or NULL on broken text. */
static const char *
append_escape(struct slu_buffer *out, const char *at, const char *end)
{
    if (at >= end)
        return NULL;
    const char *known = *at ? strchr(escapes_from, *at) : NULL;
    if (known) {
        slu_buffer_putc(out, escapes_to[known - escapes_from]);
        return at + 1;
    }
    return *at == 'u' ? append_unicode(out, at + 1, end) : NULL;
}

bool
slu_slice_text(struct slu_slice slice, struct slu_buffer *out)
{
    if (!slice.text || slice.size < 2 || slice.text[0] != '"' || slice.text[slice.size - 1] != '"')
        return false;
    const char *at = slice.text + 1;
    const char *end = slice.text + slice.size - 1;
    while (at < end) {
        const char *plain = at;
        while (at < end && *at != '\\')
            at++;
        slu_buffer_append(out, plain, (size_t) (at - plain));
        if (at >= end)
            break;
        at = append_escape(out, at + 1, end);
        if (!at)
            return false;
    }
    return true;
}

bool
slu_slice_copy(struct slu_slice slice, char *ret_text, size_t size)
{
    SLU_AUTO_BUFFER struct slu_buffer text = {0};
    if (!slu_slice_text(slice, &text) || text.size >= size)
        return false;
    if (text.size)
        memcpy(ret_text, text.data, text.size);
    ret_text[text.size] = 0;
    return true;
}

char *
slu_slice_strdup(struct slu_slice slice)
{
    SLU_AUTO_BUFFER struct slu_buffer text = {0};
    if (!slu_slice_text(slice, &text))
        return slu_strdup("");
    return slu_buffer_take(&text);
}
