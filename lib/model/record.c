/* SPDX-License-Identifier: Apache-2.0 */
/* Records in, batches out. */
#include "slu/model/record.h"

#include "slu/base/buffer.h"
#include "slu/base/memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const slu_topic_names[SLU_TOPIC_COUNT] = {
    [SLU_TOPIC_DESIRED] = "desired", [SLU_TOPIC_STATUS] = "status",
    [SLU_TOPIC_EVENTS] = "events",   [SLU_TOPIC_SECRETS] = "secrets",
    [SLU_TOPIC_SHARDS] = "shards",   [SLU_TOPIC_DEADLETTER] = "deadletter",
};

static_assert(SLU_TOPIC_COUNT == 6, "a new topic needs its name");

const struct slu_header *
slu_record_header(const struct slu_record *record, const char *name)
{
    for (size_t i = 0; i < record->header_count; i++) {
        if (strcmp(record->headers[i].name, name) == 0)
            return &record->headers[i];
    }
    return NULL;
}

struct slu_output *
slu_batch_add(struct slu_batch *batch, enum slu_topic topic, int partition)
{
    if (batch->count == batch->capacity) {
        batch->capacity = batch->capacity ? batch->capacity * 2 : 16;
        batch->outputs = slu_realloc(batch->outputs, batch->capacity * sizeof(*batch->outputs));
    }

    struct slu_output *output = &batch->outputs[batch->count++];
    *output = (struct slu_output){.topic = topic, .partition = partition};
    return output;
}

static struct slu_output_header *
next_header(struct slu_output *output, const char *name)
{
    assert(output->header_count < SLU_RECORD_HEADERS_MAX);
    struct slu_output_header *header = &output->headers[output->header_count++];
    const size_t size = strlen(name);
    assert(size < sizeof(header->name));
    memcpy(header->name, name, size + 1);
    return header;
}

void
slu_output_header_text(struct slu_output *output, const char *name, const char *value)
{
    next_header(output, name)->value = slu_strdup(value);
}

void
slu_output_header_int(struct slu_output *output, const char *name, int64_t value)
{
    char digits[SLU_INT_TEXT_SIZE];
    slu_int_write(value, digits);
    next_header(output, name)->value = slu_strdup(digits);
}

void
slu_output_header(struct slu_output *output, const char *name, const char *format, ...)
{
    struct slu_output_header *header = next_header(output, name);
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    assert(length >= 0);

    header->value = slu_alloc((size_t) length + 1);
    vsnprintf(header->value, (size_t) length + 1, format, again);
    va_end(again);
}

size_t
slu_output_size(const struct slu_output *output)
{
    size_t size = output->key_size + output->value_size;
    for (size_t i = 0; i < output->header_count; i++)
        size += strlen(output->headers[i].name) + strlen(output->headers[i].value);
    return size;
}

struct slu_batch *
slu_batch_new(int shard)
{
    struct slu_batch *batch = slu_alloc(sizeof(*batch));
    batch->shard = shard;
    return batch;
}

void
slu_batch_free(struct slu_batch *batch)
{
    if (!batch)
        return;
    for (size_t i = 0; i < batch->count; i++) {
        struct slu_output *output = &batch->outputs[i];
        free(output->key);
        free(output->value);
        for (size_t j = 0; j < output->header_count; j++)
            free(output->headers[j].value);
    }
    free(batch->outputs);
    free(batch);
}
