/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and reading control messages. Every length is checked against what is there, so that a
 * message that lies about itself ends early instead of being read past its end. */
#include "init_wire.h"

#include "slu/base/memory.h"

#include <string.h>

size_t
slu_init_begin(struct slu_buffer *out, enum slu_init_message type)
{
    const size_t position = out->size;
    const uint32_t unknown_yet = 0;
    const uint8_t byte = (uint8_t) type;

    slu_buffer_append(out, &unknown_yet, sizeof(unknown_yet));
    slu_buffer_append(out, &byte, 1);
    return position;
}

void
slu_init_put(struct slu_buffer *out, enum slu_init_field field, const void *bytes, size_t size)
{
    const uint8_t byte = (uint8_t) field;
    const uint32_t length = (uint32_t) size;

    slu_buffer_append(out, &byte, 1);
    slu_buffer_append(out, &length, sizeof(length));
    if (size)
        slu_buffer_append(out, bytes, size);
}

void
slu_init_put_text(struct slu_buffer *out, enum slu_init_field field, const char *text)
{
    slu_init_put(out, field, text, strlen(text));
}

void
slu_init_put_number(struct slu_buffer *out, enum slu_init_field field, int64_t number)
{
    slu_init_put(out, field, &number, sizeof(number));
}

void
slu_init_end(struct slu_buffer *out, size_t position)
{
    const uint32_t size = (uint32_t) (out->size - position - sizeof(size));
    memcpy(out->data + position, &size, sizeof(size));
}

int64_t
slu_init_whole(const char *bytes, size_t size, size_t max)
{
    uint32_t length;
    if (size < sizeof(length))
        return 0;

    memcpy(&length, bytes, sizeof(length));
    if (length < 1 || length > max)
        return -1;
    return size - sizeof(length) < length ? 0 : (int64_t) length + (int64_t) sizeof(length);
}

struct slu_init_reader
slu_init_read(const char *message, size_t size)
{
    return (struct slu_init_reader){
        .type = (enum slu_init_message)(uint8_t) message[SLU_INIT_HEADER_SIZE - 1],
        .at = message + SLU_INIT_HEADER_SIZE,
        .end = message + size,
    };
}

bool
slu_init_next(struct slu_init_reader *reader, struct slu_init_value *ret_value)
{
    uint32_t length;
    if ((size_t) (reader->end - reader->at) < 1 + sizeof(length))
        return false;

    memcpy(&length, reader->at + 1, sizeof(length));
    const char *bytes = reader->at + 1 + sizeof(length);
    if (length > (size_t) (reader->end - bytes))
        return false;

    *ret_value = (struct slu_init_value){
        .field = (enum slu_init_field)(uint8_t) reader->at[0],
        .bytes = bytes,
        .size = length,
    };
    reader->at = bytes + length;
    return true;
}

bool
slu_init_find(struct slu_init_reader reader,
              enum slu_init_field field,
              struct slu_init_value *ret_value)
{
    while (slu_init_next(&reader, ret_value)) {
        if (ret_value->field == field)
            return true;
    }
    return false;
}

int64_t
slu_init_value_number(const struct slu_init_value *value, int64_t fallback)
{
    int64_t number;
    if (value->size != sizeof(number))
        return fallback;
    memcpy(&number, value->bytes, sizeof(number));
    return number;
}

int64_t
slu_init_number(struct slu_init_reader reader, enum slu_init_field field, int64_t fallback)
{
    struct slu_init_value value;
    return slu_init_find(reader, field, &value) ? slu_init_value_number(&value, fallback)
                                                : fallback;
}

char *
slu_init_text(struct slu_init_reader reader, enum slu_init_field field)
{
    struct slu_init_value value;
    return slu_init_find(reader, field, &value) ? slu_memdup(value.bytes, value.size) : NULL;
}
