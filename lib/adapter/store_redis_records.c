/* SPDX-License-Identifier: Apache-2.0 */
#include "store_redis_records.h"

#include "slu/base/memory.h"
#include "slu/model/json_slice.h"

#include <stdlib.h>
#include <string.h>

void
slu_redis_records_init(struct slu_redis_records *records)
{
    TAILQ_INIT(&records->portions);
    records->portion_count = 0;
}

void
slu_redis_portion_free(struct slu_redis_portion *portion)
{
    if (portion)
        slu_buffer_done(&portion->bytes);
    free(portion);
}

struct slu_redis_portion *
slu_redis_records_take(struct slu_redis_records *records)
{
    struct slu_redis_portion *portion = TAILQ_FIRST(&records->portions);
    if (portion) {
        TAILQ_REMOVE(&records->portions, portion, next);
        records->portion_count--;
    }
    return portion;
}

void
slu_redis_records_done(struct slu_redis_records *records)
{
    struct slu_redis_portion *portion;
    while ((portion = slu_redis_records_take(records)))
        slu_redis_portion_free(portion);
}

static struct slu_redis_portion *
portion_with_room(struct slu_redis_records *records, size_t size)
{
    struct slu_redis_portion *last = TAILQ_LAST(&records->portions, slu_redis_portion_list);
    if (last && last->count < SLU_REDIS_PORTION_RECORDS &&
        last->bytes.size + size <= SLU_REDIS_PORTION_BYTES)
        return last;
    last = slu_alloc(sizeof(*last));
    TAILQ_INSERT_TAIL(&records->portions, last, next);
    records->portion_count++;
    return last;
}

/* "<tenant>/<project>/<kind>"; a document without scope, which a leader never writes, is listed
 * under
 * "//<kind>", which no scope can name. */
static void
write_index(struct slu_buffer *out, struct slu_slice kind, struct slu_slice status)
{
    const struct slu_slice scope = slu_slice_member(status, "scope");
    const size_t start = out->size;
    if (!slu_slice_text(slu_slice_member(scope, "tenantId"), out))
        out->size = start;
    slu_buffer_putc(out, '/');
    const size_t middle = out->size;
    if (!slu_slice_text(slu_slice_member(scope, "projectId"), out))
        out->size = middle;
    slu_buffer_putc(out, '/');
    slu_buffer_append(out, kind.text, kind.size);
}

void
slu_redis_records_add(struct slu_redis_records *records,
                      const char *key,
                      size_t key_size,
                      const char *status,
                      size_t status_size)
{
    struct slu_redis_portion *portion = portion_with_room(records, key_size + status_size);
    struct slu_buffer *bytes = &portion->bytes;
    size_t *ends = &portion->ends[(size_t) portion->count * SLU_REDIS_RECORD_ARGS];

    portion->count++;
    slu_buffer_append(bytes, key, key_size);
    ends[0] = bytes->size;

    const char *slash = memchr(key, '/', key_size);
    const char *last = memrchr(key, '/', key_size);
    const struct slu_slice kind = {key, slash ? (size_t) (slash - key) : 0};
    slu_buffer_append(bytes, kind.text, kind.size);
    slu_buffer_putc(bytes, ':');
    const char *id = last ? last + 1 : key;
    slu_buffer_append(bytes, id, (size_t) (key + key_size - id));
    ends[1] = bytes->size;

    if (status)
        write_index(bytes, kind, (struct slu_slice){status, status_size});
    ends[2] = bytes->size;
    if (status)
        slu_buffer_append(bytes, status, status_size);
    ends[3] = bytes->size;
}
