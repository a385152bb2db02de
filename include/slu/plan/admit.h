/* SPDX-License-Identifier: Apache-2.0 */
/* Admission: whether one desired record is accepted, repeated or refused (design.md §4).
 *
 * Pure: a function of the log and the provider configuration. The only time it knows is the append
 * time of the record being admitted. lib/engine applies its verdicts. */
#ifndef SLU_PLAN_ADMIT_H
#define SLU_PLAN_ADMIT_H

#include "slu/model/code.h"
#include "slu/model/document.h"
#include "slu/model/instance.h"
#include "slu/model/sandbox.h"

#include <stdbool.h>
#include <stdint.h>

/* The present life of the key, as far as admission cares. Zero: no status is kept. */
struct slu_accepted {
    bool kept;    /* A status document exists. */
    bool deleted; /* … whose life ends or has ended by wish. */
    bool final;   /* Stopped or expired: no later running or paused. */
    int64_t generation;
    int64_t last_append_ms; /* Append time (at its first writing) of the record accepted last. */
    const char *tenant;
    const char *project;
    const char *spec; /* Canonical bytes. */
    size_t spec_size;
    const char *created_ce_id;  /* "" when the creating record had none. */
    const char *created_sha256; /* Content hash of the creating document. */
};

/* One record that asks for something, decoded. */
struct slu_proposal {
    const struct slu_document *document; /* NULL: a tombstone. */
    const char *spec;                    /* Canonical bytes of document->spec. */
    size_t spec_size;
    const char *ce_id;  /* "" when the producer sent none. */
    const char *sha256; /* Content hash (slu_content_sha256). */
    int64_t append_ms;  /* At its first writing. */
    bool forwarded;     /* It carries slu-origin. */
};

enum slu_verdict_kind {
    SLU_VERDICT_ACCEPTED,
    SLU_VERDICT_REPEATED, /* Accepted, changes nothing. */
    SLU_VERDICT_NOTHING,  /* Deletion of what is not there: accepted, does nothing. */
    SLU_VERDICT_REFUSED,
};

struct slu_verdict {
    enum slu_verdict_kind kind;
    int64_t generation; /* That holds after it. */
    bool begins_life;
    bool ends_life;
    struct slu_refusal refusal;
};

/* The rules common to all kinds: generations, conditions, lives, repeats, overtaking, scope. */
void slu_admit(const struct slu_accepted *accepted,
               const struct slu_proposal *proposal,
               struct slu_verdict *ret_verdict);

/* What the rules of a kind look at beside the document. */
struct slu_admission {
    const json_t *before; /* Accepted spec of the present life; NULL for a new one. */
    bool final;           /* That life stopped or expired. */
    int64_t append_ms;    /* Of the record. */
    const struct slu_provider_instance *instances;
    int instance_count;
    const char *sandbox_tenant; /* Checkpoint: scope of its sandbox; NULL when there is none. */
    const char *sandbox_project;
};

/* The rules of a Sandbox document: provider, pools, capabilities, deadlines, what may change. */
bool slu_admit_sandbox(const struct slu_document *document,
                       const struct slu_admission *admission,
                       struct slu_refusal *ret);

/* Checkpoint: its sandbox's scope must be its own; settled and state go one way. */
bool slu_admit_checkpoint(const struct slu_document *document,
                          const struct slu_admission *admission,
                          struct slu_refusal *ret);

/* Snapshot: the provider is configured; `source` is fixed. */
bool slu_admit_snapshot(const struct slu_document *document,
                        const struct slu_admission *admission,
                        struct slu_refusal *ret);

/* SHA-256 over kind, id, scope and canonical spec: equal content whatever its generation fields. */
void slu_content_sha256(const struct slu_document *document,
                        const char *spec,
                        size_t spec_size,
                        char ret_hex[65]);

const struct slu_provider_instance *slu_instance_find(const struct slu_provider_instance *instances,
                                                      int instance_count,
                                                      const char *name);

#endif
