/* SPDX-License-Identifier: Apache-2.0 */
/* A growing run of bytes. Capacity doubles, so appending n bytes one by one costs O(n). */
#include "slu/base/buffer.h"

#include "slu/base/memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CAPACITY_MIN = 64
};

/* Makes room for `size` more bytes and the NUL behind them. */
static void
reserve(struct slu_buffer *buffer, size_t size)
{
    if (size >= SIZE_MAX - buffer->size) /* Nothing that is bounded comes near. */
        abort();

    const size_t needed = buffer->size + size + 1;
    if (needed <= buffer->capacity)
        return;

    size_t capacity = buffer->capacity ? buffer->capacity : CAPACITY_MIN;
    while (capacity < needed)
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    buffer->data = slu_realloc(buffer->data, capacity);
    buffer->capacity = capacity;
}

void
slu_buffer_append(struct slu_buffer *buffer, const void *bytes, size_t size)
{
    reserve(buffer, size);
    if (size)
        memcpy(buffer->data + buffer->size, bytes, size);
    buffer->size += size;
    buffer->data[buffer->size] = '\0';
}

void
slu_buffer_puts(struct slu_buffer *buffer, const char *text)
{
    slu_buffer_append(buffer, text, strlen(text));
}

void
slu_buffer_putc(struct slu_buffer *buffer, char c)
{
    reserve(buffer, 1);
    buffer->data[buffer->size++] = c;
    buffer->data[buffer->size] = '\0';
}

size_t
slu_int_write(int64_t number, char ret_text[SLU_INT_TEXT_SIZE])
{
    char digits[SLU_INT_TEXT_SIZE - 1];
    char *at = digits + sizeof(digits);
    uint64_t left = number < 0 ? -(uint64_t) number : (uint64_t) number;
    do
        *--at = (char) ('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--at = '-';
    const size_t size = (size_t) (digits + sizeof(digits) - at);
    memcpy(ret_text, at, size);
    ret_text[size] = '\0';
    return size;
}

void
slu_buffer_int(struct slu_buffer *buffer, int64_t number)
{
    char text[SLU_INT_TEXT_SIZE];
    slu_buffer_append(buffer, text, slu_int_write(number, text));
}

void
slu_buffer_printf(struct slu_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    // The analyzer does not see va_start here.
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized)
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    assert(length >= 0); /* Only a broken format string of ours could fail. */

    reserve(buffer, (size_t) length);
    va_start(arguments, format);
    vsnprintf(buffer->data + buffer->size, (size_t) length + 1, format, arguments);
    va_end(arguments);
    buffer->size += (size_t) length;
}

void
slu_buffer_reset(struct slu_buffer *buffer)
{
    buffer->size = 0;
    if (buffer->data)
        buffer->data[0] = '\0';
}

void
slu_buffer_done(struct slu_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct slu_buffer){0};
}

char *
slu_buffer_take(struct slu_buffer *buffer)
{
    reserve(buffer, 0);
    char *data = buffer->data;
    data[buffer->size] = '\0';
    *buffer = (struct slu_buffer){0};
    return data;
}

/* The letter after the backslash; 0 when the byte stands for itself; 'u' when only \u00XX will do.
 */
static char
escape_letter(unsigned char byte)
{
    switch (byte) {
    case '"':
    case '\\':
        return (char) byte;
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return byte < 0x20 ? 'u' : '\0';
    }
}

void
slu_buffer_json_bytes(struct slu_buffer *buffer, const char *bytes, size_t size)
{
    reserve(buffer, size + 2);
    slu_buffer_putc(buffer, '"');

    size_t plain_from = 0;
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char) bytes[i];
        if (byte >= 0x20 && byte != '"' && byte != '\\')
            continue;

        slu_buffer_append(buffer, bytes + plain_from, i - plain_from);
        plain_from = i + 1;
        const char letter = escape_letter(byte);
        if (letter == 'u')
            slu_buffer_printf(buffer, "\\u%04X", byte);
        else
            slu_buffer_append(buffer, (const char[]){'\\', letter}, 2);
    }
    slu_buffer_append(buffer, bytes + plain_from, size - plain_from);
    slu_buffer_putc(buffer, '"');
}

void
slu_buffer_json_string(struct slu_buffer *buffer, const char *text)
{
    slu_buffer_json_bytes(buffer, text, strlen(text));
}
