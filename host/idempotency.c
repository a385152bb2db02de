/* SPDX-License-Identifier: Apache-2.0 */
/* Past idempotency keys, in memory and on disk. */
#include "idempotency.h"

#include "atomic_file.h"
#include "slu/base/buffer.h"
#include "slu/base/hash.h"
#include "slu/base/memory.h"

#include <jansson.h>

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    FILE_MAX = 64 * 1024
};

bool
slu_host_key_is_valid(const char *key)
{
    const size_t size = strlen(key);
    return size >= 1 && size <= SLU_HOST_KEY_MAX &&
           strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

void
slu_host_key_hash(const char *path, const char *body, size_t size, char ret_hash[65])
{
    SLU_AUTO_BUFFER struct slu_buffer bytes = {0};
    slu_buffer_puts(&bytes, path);
    slu_buffer_putc(&bytes, '\n');
    slu_buffer_append(&bytes, body ? body : "", size);
    slu_sha256_hex(bytes.data, bytes.size, ret_hash);
}

const struct slu_host_past_key *
slu_host_idempotency_find(const struct slu_host_idempotency *idempotency, const char *key)
{
    for (const struct slu_host_past_key *past = idempotency->first; past; past = past->next) {
        if (strcmp(past->key, key) == 0)
            return past;
    }
    return NULL;
}

static char *
file_name(const char *key)
{
    char hash[SLU_SHA256_HEX_SIZE];
    slu_sha256_hex(key, strlen(key), hash);
    SLU_AUTO_BUFFER struct slu_buffer name = {0};
    slu_buffer_printf(&name, "%s.json", hash);
    return slu_buffer_take(&name);
}

void
slu_host_key_encode(const struct slu_host_past_key *past, char **ret_name, char **ret_text)
{
    json_t *record =
        json_pack("{s:s, s:s, s:s, s:I}", "key", past->key, "requestHash", past->request_hash,
                  "answer", past->answer, "expiresAtMs", (json_int_t) past->expires_at_ms);
    *ret_name = file_name(past->key);
    *ret_text = json_dumps(record, 0);
    json_decref(record);
}

void
slu_host_idempotency_add(struct slu_host_idempotency *idempotency, struct slu_host_past_key *past)
{
    past->next = idempotency->first;
    idempotency->first = past;
}

void
slu_host_past_key_free(struct slu_host_past_key *past)
{
    if (!past)
        return;
    slu_free_ptr(&past->key);
    slu_free_ptr(&past->request_hash);
    slu_free_ptr(&past->answer);
    slu_free_ptr(&past);
}

void
slu_host_idempotency_expire(struct slu_host_idempotency *idempotency, int64_t now_ms)
{
    struct slu_host_past_key **link = &idempotency->first;
    while (*link) {
        struct slu_host_past_key *past = *link;
        if (past->expires_at_ms > now_ms) {
            link = &past->next;
            continue;
        }
        SLU_AUTO_FREE char *name = file_name(past->key);
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", idempotency->folder, name);
        unlink(path);
        *link = past->next;
        slu_host_past_key_free(past);
    }
}

static char *
copy_text(const json_t *record, const char *name)
{
    const char *text = json_string_value(json_object_get(record, name));
    return slu_strdup(text ? text : "");
}

enum slu_status
slu_host_idempotency_load(struct slu_host_idempotency *idempotency,
                          const char *state_dir,
                          struct slu_error *reterr)
{
    snprintf(idempotency->folder, sizeof(idempotency->folder), "%s/keys", state_dir);
    const enum slu_status status = slu_host_folder_make(idempotency->folder, 0700, reterr);
    DIR *folder = status ? NULL : opendir(idempotency->folder);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char path[PATH_MAX];
        SLU_AUTO_FREE char *text = NULL;
        size_t size = 0;
        snprintf(path, sizeof(path), "%s/%s", idempotency->folder, entry->d_name);
        if (entry->d_name[0] == '.' || slu_host_file_read(path, FILE_MAX, &text, &size, NULL))
            continue;

        json_t *record = json_loadb(text, size, 0, NULL);
        struct slu_host_past_key *past = slu_alloc(sizeof(*past));
        past->key = copy_text(record, "key");
        past->request_hash = copy_text(record, "requestHash");
        past->answer = copy_text(record, "answer");
        past->expires_at_ms = json_integer_value(json_object_get(record, "expiresAtMs"));
        slu_host_idempotency_add(idempotency, past);
        json_decref(record);
    }
    if (folder)
        closedir(folder);
    return status;
}
