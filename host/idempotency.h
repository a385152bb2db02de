/* SPDX-License-Identifier: Apache-2.0 */
/* Idempotency keys of create. While its sandbox exists a key lives in the sandbox's record; when
 * the sandbox goes, the key and its answer stay for a day, so that a late repeat of the request
 * gets the same answer instead of a second sandbox. */
#ifndef SLU_HOST_IDEMPOTENCY_H
#define SLU_HOST_IDEMPOTENCY_H

#include "slu/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SLU_HOST_KEY_MAX = 255,
    SLU_HOST_KEY_RETENTION_MS = 24 * 60 * 60 * 1000,
};

struct slu_host_past_key {
    char *key;
    char *request_hash;
    char *answer; /* The body of the 201. */
    int64_t expires_at_ms;
    struct slu_host_past_key *next;
};

struct slu_host_idempotency {
    char folder[1024]; /* <state-dir>/keys: a file per past key. */
    struct slu_host_past_key *first;
};

bool slu_host_key_is_valid(const char *key); /* 1…255 of [a-z0-9-]. */
void slu_host_key_hash(const char *path, const char *body, size_t size, char ret_hash[65]);

const struct slu_host_past_key *
slu_host_idempotency_find(const struct slu_host_idempotency *idempotency, const char *key);

/* The file of a past key: name and content. The caller frees both, and writes it before the
 * sandbox's record goes. */
void slu_host_key_encode(const struct slu_host_past_key *past, char **ret_name, char **ret_text);
void slu_host_idempotency_add(struct slu_host_idempotency *idempotency,
                              struct slu_host_past_key *past); /* Takes it. */
void slu_host_past_key_free(struct slu_host_past_key *past);

/* Forgets what is older than the retention, file and all. */
void slu_host_idempotency_expire(struct slu_host_idempotency *idempotency, int64_t now_ms);
enum slu_status slu_host_idempotency_load(struct slu_host_idempotency *idempotency,
                                          const char *state_dir,
                                          struct slu_error *reterr);

#endif
