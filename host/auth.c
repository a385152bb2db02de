/* SPDX-License-Identifier: Apache-2.0 */
/* Who may call. Keys are hashed first: comparing hashes tells nothing of where two keys differ. */
#include "auth.h"

#include "atomic_file.h"
#include "slu/base/hash.h"
#include "slu/base/log.h"
#include "slu/base/memory.h"
#include "uri.h"

#include <sodium.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    KEY_FILE_MAX = 64 * 1024,
    USER_MAX = 64,
};

static enum slu_status
make_key(const char *state_dir, const char *path, struct slu_error *reterr)
{
    unsigned char secret[20];
    char key[64] = "e2b_";
    randombytes_buf(secret, sizeof(secret));
    sodium_bin2hex(key + 4, sizeof(key) - 5, secret, sizeof(secret));
    key[strlen(key)] = '\n'; /* Zeros follow. */
    const enum slu_status status =
        slu_host_file_write(state_dir, "api-key", key, strlen(key), reterr);
    sodium_memzero(key, sizeof(key));
    sodium_memzero(secret, sizeof(secret));
    if (!status)
        SLU_LOG(INFO, "api_key_made", SLU_TEXT("path", path));
    return status;
}

enum slu_status
slu_host_auth_load(struct slu_host *host, struct slu_error *reterr)
{
    char path[PATH_MAX];
    SLU_AUTO_FREE char *text = NULL;
    size_t size = 0;
    const bool own = host->config.api_key_file[0] == '\0';
    if (own)
        snprintf(path, sizeof(path), "%s/api-key", host->config.state_dir);
    else
        snprintf(path, sizeof(path), "%s", host->config.api_key_file);

    enum slu_status status = slu_host_file_read(path, KEY_FILE_MAX, &text, &size, reterr);
    if (status == SLU_NOT_FOUND && own) {
        status = make_key(host->config.state_dir, path, reterr);
        if (!status)
            status = slu_host_file_read(path, KEY_FILE_MAX, &text, &size, reterr);
    }
    if (status)
        return status;

    char *rest = NULL;
    for (char *line = strtok_r(text, " \t\r\n", &rest); line;
         line = strtok_r(NULL, " \t\r\n", &rest)) {
        if (host->api_key_count == SLU_HOST_KEYS_MAX)
            return slu_fail(reterr, SLU_INVALID, "'%s' has more than %d keys", path,
                            SLU_HOST_KEYS_MAX);
        slu_sha256_hex(line, strlen(line), host->api_key_hashes[host->api_key_count++]);
    }
    sodium_memzero(text, size);
    if (host->api_key_count == 0)
        return slu_fail(reterr, SLU_INVALID, "'%s' holds no key", path);
    return SLU_OK;
}

bool
slu_host_auth_key(const struct slu_host_request *request)
{
    const char *key = slu_host_request_header(request, "X-API-Key");
    const char *bearer = slu_host_request_header(request, "Authorization");
    if (!key && bearer && strncasecmp(bearer, "Bearer ", 7) == 0)
        key = bearer + 7;
    if (!key)
        return false;

    char hash[SLU_SHA256_HEX_SIZE];
    bool known = false;
    slu_sha256_hex(key, strlen(key), hash);
    for (int i = 0; i < request->host->api_key_count; i++)
        known |= sodium_memcmp(hash, request->host->api_key_hashes[i], sizeof(hash)) == 0;
    return known;
}

bool
slu_host_auth_token(const char *given, const char *expected)
{
    char hash_given[SLU_SHA256_HEX_SIZE], hash_expected[SLU_SHA256_HEX_SIZE];
    if (!given)
        return false;
    slu_sha256_hex(given, strlen(given), hash_given);
    slu_sha256_hex(expected, strlen(expected), hash_expected);
    return sodium_memcmp(hash_given, hash_expected, sizeof(hash_given)) == 0;
}

bool
slu_host_auth_user(const struct slu_host_request *request)
{
    const char *basic = slu_host_request_header(request, "Authorization");
    SLU_AUTO_FREE char *username = slu_host_uri_query(request->query, "username");
    char user[USER_MAX + 1] = "";
    if (basic && strncasecmp(basic, "Basic ", 6) == 0) {
        size_t size = 0;
        if (sodium_base642bin((unsigned char *) user, USER_MAX, basic + 6, strlen(basic + 6), NULL,
                              &size, NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
            return false;
        user[size] = '\0';
        user[strcspn(user, ":")] = '\0';
    } else if (username) {
        snprintf(user, sizeof(user), "%s", username);
    }
    return user[0] == '\0' || strcmp(user, "user") == 0;
}
