/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever lies in sluice.status, it is refused or the shard can be led. Where it is JSON at all
 * (slices do not look into what they only carry), what a leader makes of it and writes is read back
 * as the same by the next one. Input: record_text.h. */
#include "engine_shard.h"
#include "fuzz.h"
#include "record_text.h"

#include <jansson.h>

enum {
    RECORDS_MAX = 8
};

struct copying {
    struct slu_engine *to;
    bool refused;
};

static void
restore_status(void *context, const char *key, const char *status, size_t size)
{
    struct copying *copying = context;
    const struct slu_record record = {
        .key = key, .key_size = strlen(key), .value = status, .value_size = size};
    struct slu_error error;
    if (slu_engine_restore(copying->to, &record, &error)) {
        fprintf(stderr, "%s\n%.*s\n", error.message, (int) size, status);
        copying->refused = true;
    }
}

static void
lead(struct slu_engine *engine)
{
    shard_claim(engine);
    int64_t now_ms = 1796000000000;
    for (int i = 0; i < 4; i++, now_ms += 60000) {
        struct slu_batch *batch = slu_engine_take_batch(engine, true);
        slu_batch_free(batch);
        slu_engine_committed(engine, now_ms);
        slu_engine_read_through(engine, now_ms, now_ms);
        slu_engine_turn(engine, now_ms, 0);
        struct slu_call *call;
        while ((call = slu_engine_next_call(engine)))
            slu_call_free(call);
    }
}

static bool
is_json(const struct slu_record *record)
{
    if (!record->value || memchr(record->value, '\0', record->value_size))
        return !record->value;
    json_t *value = json_loadb(record->value, record->value_size, JSON_REJECT_DUPLICATES, NULL);
    json_decref(value);
    return value != NULL;
}

static void
check_next_leaders(struct slu_engine *engine)
{
    struct slu_engine *second = shard_engine();
    struct slu_engine *third = shard_engine();
    struct copying copying = {.to = second};
    slu_engine_each_status(engine, restore_status, &copying);
    assert(!copying.refused);
    copying.to = third;
    slu_engine_each_status(second, restore_status, &copying);
    assert(!copying.refused);
    assert_same_statuses(second, third);
    slu_engine_free(second);
    slu_engine_free(third);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slu_engine *engine = shard_engine();
    struct record_text text = {.at = (const char *) data, .end = (const char *) data + size};
    struct slu_record record;
    struct slu_error error;
    bool all_json = true;
    for (int i = 0; i < RECORDS_MAX && record_text_next(&text, &record); i++) {
        all_json &= is_json(&record);
        if (slu_engine_restore(engine, &record, &error))
            assert(error.message[0]);
    }
    record_text_done(&text);

    if (all_json)
        check_next_leaders(engine);
    lead(engine);
    slu_engine_free(engine);
    return 0;
}
