/* SPDX-License-Identifier: Apache-2.0 */
/* A desired document: the envelope of contract-map §3.0 around a decoded spec. */
#ifndef SLU_MODEL_DOCUMENT_H
#define SLU_MODEL_DOCUMENT_H

#include "slu/model/code.h"
#include "slu/model/key.h"

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SLU_DOCUMENT_SIZE_MAX = 512 * 1024,
    SLU_DOCUMENT_DEPTH_MAX = 32,
    SLU_PRINCIPAL_ID_MAX = 256, /* Characters; up to four bytes each. */
    SLU_EVENT_ID_MAX = 255,     /* Bytes of a CloudEvent's id. */
};

struct slu_actor {
    char kind[8]; /* "user" or "agent"; "" when the document has none: a trusted producer. */
    char id[SLU_PRINCIPAL_ID_MAX * 4 + 1];
};

struct slu_document {
    struct slu_key key;
    char tenant[SLU_ID_MAX + 1];
    char project[SLU_ID_MAX + 1];
    int64_t generation;    /* 0: absent. */
    int64_t if_generation; /* −1: absent; 0 is a value. */
    struct slu_actor actor;
    char event_id[SLU_EVENT_ID_MAX + 1]; /* `id` of the CloudEvent in structured mode; else "": in
                                            binary mode it is the header ce_id. */
    bool names_provider; /* False: spec.provider is the contract's default, which a deployment may
                            replace by its own. */
    json_t *spec;        /* Decoded, defaults in, members in table order. Owned. */
};

/* Reads one desired record. `key` is the record's own key and must agree with the document. Takes
 * bare JSON and CloudEvents structured mode (the document under `data`). True: `ret_document` is
 * filled, the caller ends it with slu_document_done. False: refused, nothing to end. Size, depth,
 * duplicate keys, NUL, invalid UTF-8, unknown fields: all refused here with their reason. */
bool slu_document_parse(const struct slu_key *key,
                        const void *bytes,
                        size_t size,
                        struct slu_document *ret_document,
                        struct slu_refusal *ret);
void slu_document_done(struct slu_document *document);

/* Canonical bytes of a decoded spec: compact, table order. Equal specs give equal bytes. The caller
 * frees. */
char *slu_spec_text(const json_t *spec, size_t *ret_size);

/* A spec's canonical bytes back to its tree (they are ours: never refused, asserted). */
json_t *slu_spec_tree(const char *text, size_t size);

#endif
