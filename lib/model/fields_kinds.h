/* SPDX-License-Identifier: Apache-2.0 */
/* The spec tables of the served kinds; outside this layer they are asked for by slu_spec_fields. */
#ifndef SLU_LIB_MODEL_FIELDS_KINDS_H
#define SLU_LIB_MODEL_FIELDS_KINDS_H

#include "slu/model/fields.h"

extern const struct slu_field slu_sandbox_fields[];
extern const struct slu_field slu_checkpoint_fields[];
extern const struct slu_field slu_activity_fields[];
extern const struct slu_field slu_snapshot_fields[];

#endif
