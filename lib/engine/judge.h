/* SPDX-License-Identifier: Apache-2.0 */
/* Judging one desired record, split by what it asks for. Private to lib/engine. */
#ifndef SLU_ENGINE_JUDGE_H
#define SLU_ENGINE_JUDGE_H

#include "internal.h"
#include "slu/plan/admit.h"

/* A record on its way through judgement. */
struct slu_judging {
    const struct slu_record *record;
    struct slu_key key;
    char key_text[SLU_KEY_MAX + 1];
    size_t key_size;
    struct slu_entity *entity; /* Of this key; NULL: none yet. */
    struct slu_cause cause;
    bool redrive;
};

/* judge.c → apply.c: a document that was admitted, or a deletion. */
void slu_apply_document(struct slu_engine *engine,
                        struct slu_entity *entity,
                        const struct slu_judging *judging,
                        const struct slu_proposal *proposal,
                        const struct slu_verdict *verdict);
void slu_apply_delete(struct slu_engine *engine, struct slu_entity *entity, int64_t generation);
void slu_apply_redrive(struct slu_engine *engine, struct slu_entity *entity);
void slu_apply_activity(struct slu_engine *engine,
                        struct slu_entity *sandbox,
                        const json_t *spec,
                        int64_t append_ms);

#endif
