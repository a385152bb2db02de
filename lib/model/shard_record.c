/* SPDX-License-Identifier: Apache-2.0 */
/* The shard record, read tolerantly and written whole: a member that a newer version added is kept
 * and written back, so that an older leader in between does not lose it. */
#include "slu/model/shard_record.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AUTO_JSON SLU_AUTO(drop_json)

static void
drop_json(json_t **json)
{
    json_decref(*json);
}

static enum slu_status
read_text(json_t *object, const char *name, char *ret_text, size_t size, struct slu_error *reterr)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value) || json_string_length(value) >= size)
        return slu_fail(reterr, SLU_INVALID, "shard record: %s must be a text of at most %zu bytes",
                        name, size - 1);
    memcpy(ret_text, json_string_value(value), json_string_length(value) + 1);
    json_object_del(object, name);
    return SLU_OK;
}

static enum slu_status
read_count(
    json_t *object, const char *name, int64_t max, int64_t *ret_count, struct slu_error *reterr)
{
    const json_t *value = json_object_get(object, name);
    const json_int_t count = json_integer_value(value);
    if (!json_is_integer(value) || count < 0 || count > max) {
        return slu_fail(reterr, SLU_INVALID,
                        "shard record: %s must be a whole number between 0 and %lld", name,
                        (long long) max);
    }
    *ret_count = count;
    json_object_del(object, name);
    return SLU_OK;
}

/* A partition's number as a member name: digits alone, no leading zero. */
static bool
read_partition(const char *text, int *ret_partition)
{
    errno = 0;
    char *end;
    const long number = strtol(text, &end, 10);
    char again[24];
    snprintf(again, sizeof(again), "%ld", number);
    if (errno || *end || number < 0 || number > INT32_MAX || strcmp(again, text) != 0)
        return false;
    *ret_partition = (int) number;
    return true;
}

static enum slu_status
read_admitted(json_t *object, struct slu_shard_record *record, struct slu_error *reterr)
{
    json_t *admitted = json_object_get(object, "admitted");
    if (!json_is_object(admitted) || json_object_size(admitted) > SLU_ADMITTED_MAX) {
        return slu_fail(reterr, SLU_INVALID,
                        "shard record: admitted must be an object of at most %d partitions",
                        SLU_ADMITTED_MAX);
    }

    const char *name;
    json_t *value;
    json_object_foreach(admitted, name, value)
    {
        int partition;
        if (!read_partition(name, &partition) || !json_is_integer(value) ||
            json_integer_value(value) < 0)
            return slu_fail(reterr, SLU_INVALID,
                            "shard record: admitted must map partition numbers to offsets");
        record->admitted[record->admitted_count].partition = partition;
        record->admitted[record->admitted_count++].next_offset = json_integer_value(value);
    }
    json_object_del(object, "admitted");
    return SLU_OK;
}

/* Takes the known members out of `object`; the others stay in it. */
static enum slu_status
read_members(json_t *object, struct slu_shard_record *record, struct slu_error *reterr)
{
    int64_t shard_count = 0;
    enum slu_status status =
        read_text(object, "cluster", record->cluster, sizeof(record->cluster), reterr);
    if (!status)
        status = read_count(object, "n", INT32_MAX, &shard_count, reterr);
    if (!status)
        status = read_count(object, "epoch", INT64_MAX, &record->epoch, reterr);
    if (!status)
        status = read_count(object, "seq", INT64_MAX, &record->seq, reterr);
    if (!status)
        status = read_text(object, "owner", record->owner, sizeof(record->owner), reterr);
    if (!status)
        status = read_admitted(object, record, reterr);
    if (!status)
        status = read_count(object, "claims", INT64_MAX, &record->claims, reterr);
    if (!status && json_object_get(object, "trying"))
        status = read_text(object, "trying", record->trying, sizeof(record->trying), reterr);
    if (!status && json_object_get(object, "tries"))
        status = read_count(object, "tries", INT64_MAX, &record->tries, reterr);
    if (!status && (shard_count < 1 || record->cluster[0] == '\0'))
        status = slu_fail(reterr, SLU_INVALID, "shard record: cluster and n must not be empty");
    record->shard_count = (int) shard_count;
    return status;
}

enum slu_status
slu_shard_record_read(const void *bytes,
                      size_t size,
                      struct slu_shard_record *ret_record,
                      struct slu_error *reterr)
{
    json_error_t where;
    AUTO_JSON json_t *object =
        bytes ? json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &where) : NULL;
    if (!json_is_object(object))
        return slu_fail(reterr, SLU_INVALID, "shard record: it must be a JSON object");

    struct slu_shard_record record = {0};
    const enum slu_status status = read_members(object, &record, reterr);
    if (status)
        return status;

    if (json_object_size(object) > 0)
        record.unknown = slu_steal(object);
    *ret_record = record;
    return SLU_OK;
}

static void
write_unknown(const json_t *unknown, struct slu_buffer *out)
{
    void *iterator =
        json_object_iter((json_t *) (uintptr_t) unknown); /* Iterating changes nothing. */
    for (; iterator; iterator = json_object_iter_next((json_t *) (uintptr_t) unknown, iterator)) {
        char *text = json_dumps(json_object_iter_value(iterator), JSON_COMPACT | JSON_ENCODE_ANY);
        assert(text);
        slu_buffer_putc(out, ',');
        slu_buffer_json_string(out, json_object_iter_key(iterator));
        slu_buffer_putc(out, ':');
        slu_buffer_puts(out, text);
        free(text);
    }
}

void
slu_shard_record_write(const struct slu_shard_record *record, struct slu_buffer *out)
{
    slu_buffer_puts(out, "{\"cluster\":");
    slu_buffer_json_string(out, record->cluster);
    slu_buffer_printf(out, ",\"n\":%d,\"epoch\":%lld,\"seq\":%lld,\"owner\":", record->shard_count,
                      (long long) record->epoch, (long long) record->seq);
    slu_buffer_json_string(out, record->owner);

    slu_buffer_puts(out, ",\"admitted\":{");
    for (int i = 0; i < record->admitted_count; i++)
        slu_buffer_printf(out, "%s\"%d\":%lld", i ? "," : "", record->admitted[i].partition,
                          (long long) record->admitted[i].next_offset);
    slu_buffer_printf(out, "},\"claims\":%lld", (long long) record->claims);

    if (record->trying[0]) {
        slu_buffer_puts(out, ",\"trying\":");
        slu_buffer_json_string(out, record->trying);
        slu_buffer_printf(out, ",\"tries\":%lld", (long long) record->tries);
    }
    if (record->unknown)
        write_unknown(record->unknown, out);
    slu_buffer_putc(out, '}');
}

void
slu_shard_record_done(struct slu_shard_record *record)
{
    json_decref(record->unknown);
    *record = (struct slu_shard_record){0};
}

int64_t
slu_shard_record_admitted(const struct slu_shard_record *record, int partition)
{
    for (int i = 0; i < record->admitted_count; i++) {
        if (record->admitted[i].partition == partition)
            return record->admitted[i].next_offset;
    }
    return 0;
}

void
slu_shard_record_advance(struct slu_shard_record *record, int partition, int64_t next_offset)
{
    int i = 0;
    while (i < record->admitted_count && record->admitted[i].partition != partition)
        i++;
    assert(i < SLU_ADMITTED_MAX);
    if (i == record->admitted_count)
        record->admitted[record->admitted_count++].partition = partition;
    record->admitted[i].next_offset = next_offset;
}
