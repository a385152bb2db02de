/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions: what programs read of a resource (design.md §3). Derived from the entity, never set
 * by hand; only the moment of each change is kept. Private to lib/engine. */
#ifndef SLU_ENGINE_CONDITIONS_H
#define SLU_ENGINE_CONDITIONS_H

#include "entity.h"

struct slu_condition_value {
    enum slu_truth truth;
    const char *reason;  /* CamelCase literal. */
    const char *message; /* "" mostly; lent by the entity. */
};

extern const char *const slu_condition_names[SLU_CONDITION_COUNT];
extern const char *const slu_truth_names[]; /* "True", "False", "Unknown". */

struct slu_condition_value slu_condition_of(const struct slu_entity *entity,
                                            enum slu_condition condition);

/* Stamps the conditions that changed. */
void slu_conditions_update(struct slu_entity *entity, int64_t now_ms);

bool slu_entity_is_initialized(const struct slu_entity *entity);

/* The phase that the wish, as bent by deadline and idleness, ends in. */
bool slu_entity_has_converged(const struct slu_entity *entity);

#endif
