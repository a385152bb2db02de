/* SPDX-License-Identifier: Apache-2.0 */
/* Resource keys: `<kind>/[<root id>/]<id>` (contract-map §3.0), and the shard they belong to. */
#ifndef SLU_MODEL_KEY_H
#define SLU_MODEL_KEY_H

#include "slu/model/code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SLU_ID_MAX = 128,
    SLU_KEY_MAX = 512, /* Bytes; the longest are use/… keys. */
};

enum slu_kind {
    SLU_KIND_NONE,
    SLU_KIND_SANDBOX,
    SLU_KIND_CHECKPOINT,
    SLU_KIND_ACTIVITY,
    SLU_KIND_SNAPSHOT,
    SLU_KIND_COMPUTER,
    SLU_KIND_COMPUTER_BINDING,
    SLU_KIND_SPACE,
    SLU_KIND_GRANT,
    SLU_KIND_SESSION,
    SLU_KIND_TICKET,
    SLU_KIND_LEASE,
    SLU_KIND_CHANGE_SET,
    SLU_KIND_DELEGATION,
    SLU_KIND_TEMPLATE,
    SLU_KIND_COUNT,
};

/* One row per kind: its words and where it lives. The decode table of the kind is in fields.h. */
struct slu_kind_row {
    const char *key_word;      /* "sandbox": first part of the key, and of event types. */
    const char *document_word; /* "Sandbox": `kind` in documents. */
    enum slu_kind root;        /* SLU_KIND_NONE when it is a root itself. */
    const char *root_field;    /* Spec member that names the root: "sandboxId"; NULL for roots. */
    bool served;               /* This version decodes and admits it. */
};

extern const struct slu_kind_row slu_kinds[SLU_KIND_COUNT];
enum slu_kind slu_kind_of_document_word(const char *word); /* SLU_KIND_NONE when unknown. */
enum slu_kind slu_kind_of_key_word(const char *word, size_t size);

struct slu_key {
    enum slu_kind kind;
    char root_id[SLU_ID_MAX + 1]; /* Equals `id` for roots. */
    char id[SLU_ID_MAX + 1];
};

/* False, with the refusal filled (INVALID, path "key"), when the bytes are no resource key. */
bool
slu_key_parse(const void *bytes, size_t size, struct slu_key *ret_key, struct slu_refusal *ret);

/* Writes "sandbox/sbx-1" or "checkpoint/sbx-1/cp-7"; returns its length. */
size_t slu_key_write(const struct slu_key *key, char *ret_text, size_t size);

/* Shard of a parsed key: Kafka's murmur2 of the root key, modulo n. */
int slu_key_shard(const struct slu_key *key, int shard_count);

bool slu_id_valid(const char *id, size_t size);

#endif
