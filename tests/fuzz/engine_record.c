/* SPDX-License-Identifier: Apache-2.0 */
/* Any records on sluice.desired: each is judged, and the statuses that one leader committed are in
 * the next leader's memory what they were in its own, byte for byte. Input: record_text.h. */
#include "engine_shard.h"
#include "fuzz.h"
#include "record_text.h"

enum {
    RECORDS_MAX = 16
};

static const int64_t begin_ms = 1796000000000;

/* Commits what waits; its statuses go to the next leader. False when nothing did. */
static bool
commit(struct slu_engine *engine, struct slu_engine *next, int64_t now_ms)
{
    struct slu_batch *batch = slu_engine_take_batch(engine, false);
    if (!batch)
        return false;
    for (size_t i = 0; i < batch->count; i++) {
        const struct slu_output *output = &batch->outputs[i];
        assert(output->topic == SLU_TOPIC_DEADLETTER ||
               slu_output_size(output) <= SLU_OUTPUT_SIZE_MAX);
        if (output->topic == SLU_TOPIC_STATUS)
            restore_output(next, output);
    }
    assert(batch->count && batch->outputs[batch->count - 1].topic == SLU_TOPIC_SHARDS);
    slu_batch_free(batch);
    slu_engine_committed(engine, now_ms);
    return true;
}

static void
settle(struct slu_engine *engine, struct slu_engine *next, int64_t now_ms)
{
    slu_engine_turn(engine, now_ms, 0);
    for (int i = 0; i < 64 && commit(engine, next, now_ms); i++)
        slu_engine_turn(engine, now_ms, 0);
    assert(!slu_engine_batch_waiting(engine));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slu_engine *engine = shard_engine();
    struct slu_engine *next = shard_engine();
    shard_claim(engine);
    int64_t now_ms = begin_ms;
    settle(engine, next, now_ms);

    struct record_text text = {.at = (const char *) data, .end = (const char *) data + size};
    struct slu_record record;
    for (int i = 0; i < RECORDS_MAX && record_text_next(&text, &record); i++) {
        record.offset = i;
        record.timestamp_ms = now_ms;
        while (!slu_engine_record(engine, &record, now_ms)) {
            const bool committed = commit(engine, next, now_ms);
            assert(committed); /* It may ask to wait for a batch, never for nothing. */
        }
        assert(slu_engine_next_offset(engine, 0) == i + 1);
        now_ms++;
    }
    record_text_done(&text);
    settle(engine, next, now_ms);
    assert_same_statuses(engine, next);

    slu_engine_free(engine);
    slu_engine_free(next);
    return 0;
}
