/* SPDX-License-Identifier: Apache-2.0 */
/* The status document (contract-map §3.0): an entity to JSON and back. What is not in it does not
 * survive a leader. Private to lib/engine. */
#ifndef SLU_ENGINE_STATUS_TEXT_H
#define SLU_ENGINE_STATUS_TEXT_H

#include "entity.h"
#include "slu/base/buffer.h"
#include "slu/base/status.h"
#include "slu/model/instance.h"
#include "slu/model/record.h"

struct slu_status_frame {
    int shard;
    const struct slu_provider_instance *instances;
    int instance_count;
    int64_t deleted_retention_ms;
};

/* Appends the whole document. */
void slu_status_write(const struct slu_entity *entity,
                      const struct slu_status_frame *frame,
                      struct slu_buffer *out);

/* Headers that spare readers the parse: slu-generation, -phase, -incarnation, -epoch, -uid, -due,
 * -pending, -hash (of the raw desired value, when an equal one is a repeat), -appended. */
void slu_status_headers(const struct slu_entity *entity,
                        const struct slu_status_frame *frame,
                        struct slu_output *output);

/* Fills a new entity (its key is set) from a status record. `intern` gives the shared scope. */
typedef const struct slu_scope *(slu_intern_fn) (void *context,
                                                 const char *tenant,
                                                 const char *project);
enum slu_status slu_status_read(struct slu_entity *entity,
                                const struct slu_record *record,
                                const struct slu_status_frame *frame,
                                slu_intern_fn *intern,
                                void *context,
                                struct slu_error *reterr);

/* When idleness pauses it, 0 when it does not. */
int64_t slu_entity_idle_deadline_ms(const struct slu_entity *entity);

#endif
