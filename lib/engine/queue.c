/* SPDX-License-Identifier: Apache-2.0 */
/* A growing ring of fixed-size items. */
#include "internal.h"
#include "slu/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_CAPACITY = 16
};

static void
grow(struct slu_queue *queue)
{
    const size_t capacity = queue->capacity ? queue->capacity * 2 : FIRST_CAPACITY;
    char *items = slu_alloc(capacity * queue->item_size);
    for (size_t i = 0; i < queue->count; i++) {
        const size_t from = (queue->first + i) % queue->capacity;
        memcpy(items + i * queue->item_size, queue->items + from * queue->item_size,
               queue->item_size);
    }
    free(queue->items);
    queue->items = items;
    queue->first = 0;
    queue->capacity = capacity;
}

void
slu_queue_push(struct slu_queue *queue, const void *item, size_t item_size)
{
    assert(!queue->item_size || queue->item_size == item_size);
    queue->item_size = item_size;
    if (queue->count == queue->capacity)
        grow(queue);
    const size_t at = (queue->first + queue->count++) % queue->capacity;
    memcpy(queue->items + at * item_size, item, item_size);
}

void *
slu_queue_peek(const struct slu_queue *queue)
{
    return queue->count ? queue->items + queue->first * queue->item_size : NULL;
}

bool
slu_queue_take(struct slu_queue *queue, void *ret_item)
{
    const void *item = slu_queue_peek(queue);
    if (!item)
        return false;
    memcpy(ret_item, item, queue->item_size);
    queue->first = (queue->first + 1) % queue->capacity;
    queue->count--;
    return true;
}

void
slu_queue_done(struct slu_queue *queue)
{
    free(queue->items);
    *queue = (struct slu_queue){0};
}
