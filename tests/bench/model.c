/* SPDX-License-Identifier: Apache-2.0 */
/* What a leader writes for a running sandbox, by its own hand: the engine is led through a create.
 */
#include "measure.h"
#include "slu/base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keeps the newest status output of a batch as the only one of `kept`. */
static void
keep_status(struct slu_batch *batch, struct slu_batch *kept)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->outputs[i].topic != SLU_TOPIC_STATUS)
            continue;
        const struct slu_output before = kept->count ? kept->outputs[0] : (struct slu_output){0};
        if (!kept->count)
            (void) slu_batch_add(kept, SLU_TOPIC_STATUS, 0);
        kept->outputs[0] = batch->outputs[i];
        batch->outputs[i] = before; /* Freed with its batch. */
    }
}

static void
answer_create(struct slu_engine *engine, int64_t now_ms)
{
    struct slu_call *call = slu_engine_next_call(engine);
    if (!call)
        return;
    struct slu_facts facts = {.outcome = SLU_OUTCOME_DONE, .seen_count = 1};
    facts.seen[0].life = SLU_LIFE_RUNNING;
    facts.seen[0].incarnation = call->incarnation;
    (void) snprintf(facts.seen[0].external_id, sizeof(facts.seen[0].external_id),
                    "i0a1b2c3d4e5f6a7b8c9d");
    (void) snprintf(facts.seen[0].uid, sizeof(facts.seen[0].uid), "%s", call->uid);
    slu_engine_answer(engine, call->id, &facts, now_ms);
    slu_call_free(call);
}

struct slu_batch *
bench_running(void)
{
    const int64_t now_ms = INT64_C(1796000000000);
    const struct slu_engine_config config = bench_config(0, 1);
    const struct slu_shard_record first = {.cluster = "bench", .shard_count = 1};
    struct slu_engine *engine = slu_engine_new(&config);
    struct slu_batch *kept = slu_batch_new(0);
    SLU_AUTO_BUFFER struct slu_buffer document = {0};
    struct slu_error error;
    char key[64];

    const enum slu_status claimed = slu_engine_claim(engine, &first, &error);
    assert(!claimed);
    bench_document(0, 1, &document);
    const struct slu_record record = {.timestamp_ms = now_ms,
                                      .key = key,
                                      .key_size = bench_key(0, key),
                                      .value = document.data,
                                      .value_size = document.size};
    for (int turn = 0; turn < 4; turn++) {
        struct slu_batch *batch = slu_engine_take_batch(engine, true);
        keep_status(batch, kept);
        slu_batch_free(batch);
        slu_engine_committed(engine, now_ms);
        answer_create(engine, now_ms);
        if (turn == 0)
            (void) slu_engine_record(engine, &record, now_ms);
        (void) slu_engine_turn(engine, now_ms, 0);
    }
    slu_engine_free(engine);
    assert(kept->count == 1 && strstr(kept->outputs[0].value, "\"phase\":\"running\""));
    return kept;
}

void
bench_rename(struct slu_output *status, int64_t number)
{
    char key[64];
    (void) bench_key(number, key);
    const char *id = key + strlen("sandbox/");
    for (char *at = status->value; (at = strstr(at, "\"b00")); at++)
        memcpy(at + 1, id, strlen(id));
}
