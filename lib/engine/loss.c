/* SPDX-License-Identifier: Apache-2.0 */
/* Bursts of losses (behaviour.md rule 2): when many resources of one provider are lost within a
 * minute, the provider is the likelier culprit than each of them. Replacement then slows down, and
 * a person is told. */
#include "internal.h"

enum {
    WINDOW_MS = 60000,
    BURST_LOSSES = 10,
    BURST_PARTS = 5, /* More than one in five. */
};

/* What the provider instance holds, the lost ones included. */
static int64_t
count_resources(const struct slu_engine *engine, int16_t provider)
{
    int64_t count = 0;
    for (size_t i = 0; i < engine->table.capacity; i++) {
        const struct slu_entity *entity = engine->table.slots[i];
        count += entity && entity->provider == provider && entity->kind == SLU_KIND_SANDBOX &&
                 (slu_entity_has_instance(entity) || entity->phase == SLU_PHASE_LOST);
    }
    return count;
}

static void
tell(struct slu_engine *engine, const struct slu_entity *entity, int64_t losses)
{
    slu_note_add(engine, &(struct slu_note){
                             .event = "loss_burst",
                             .key = slu_entity_text(entity, SLU_TEXT_KEY),
                             .reason = "many resources of one provider were lost within a minute",
                             .message = engine->config.instances[entity->provider].name,
                             .generation = losses,
                             .converged_after_ms = -1,
                             .warning = true,
                         });
}

void
slu_loss_count(struct slu_engine *engine, const struct slu_entity *entity)
{
    if (entity->provider < 0)
        return;
    struct slu_loss *loss = &engine->losses[entity->provider];
    if (engine->now_ms - loss->since_ms > WINDOW_MS)
        *loss = (struct slu_loss){.since_ms = engine->now_ms, .slow_until_ms = loss->slow_until_ms};
    loss->count++;
    /* The count of all is looked up at every tenth loss only: it walks the whole shard. */
    if (loss->count % BURST_LOSSES != 0 ||
        loss->count * BURST_PARTS <= count_resources(engine, entity->provider))
        return;
    if (loss->slow_until_ms < engine->now_ms)
        tell(engine, entity, loss->count);
    loss->slow_until_ms = engine->now_ms + WINDOW_MS;
}

int64_t
slu_loss_retry_ms(const struct slu_engine *engine, const struct slu_entity *entity)
{
    if (entity->phase != SLU_PHASE_LOST || entity->provider < 0)
        return 0;
    const int64_t slow_until_ms = engine->losses[entity->provider].slow_until_ms;
    if (!slow_until_ms)
        return 0;
    /* Spread over another window: the provider that comes back is not run over. */
    const char *key = slu_entity_text(entity, SLU_TEXT_KEY);
    const uint64_t hash = slu_hash64(key, slu_entity_text_size(entity, SLU_TEXT_KEY));
    return slow_until_ms + (int64_t) (hash % WINDOW_MS);
}
