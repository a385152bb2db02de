/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: one table says how each kind is spelled and which root it belongs to. */
#include "slu/model/key.h"

#include "slu/base/hash.h"
#include "slu/base/macros.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
const struct slu_kind_row slu_kinds[SLU_KIND_COUNT] = {
    [SLU_KIND_NONE]             = {"",                 "",                SLU_KIND_NONE,     NULL,            false},
    [SLU_KIND_SANDBOX]          = {"sandbox",          "Sandbox",         SLU_KIND_NONE,     NULL,            true},
    [SLU_KIND_CHECKPOINT]       = {"checkpoint",       "Checkpoint",      SLU_KIND_SANDBOX,  "sandboxId",     true},
    [SLU_KIND_ACTIVITY]         = {"activity",         "Activity",        SLU_KIND_SANDBOX,  "sandboxId",     true},
    [SLU_KIND_SNAPSHOT]         = {"snapshot",         "Snapshot",        SLU_KIND_NONE,     NULL,            true},
    [SLU_KIND_COMPUTER]         = {"computer",         "Computer",        SLU_KIND_NONE,     NULL,            false},
    [SLU_KIND_COMPUTER_BINDING] = {"computer-binding", "ComputerBinding", SLU_KIND_COMPUTER, "computerId",    false},
    [SLU_KIND_SPACE]            = {"space",            "Space",           SLU_KIND_NONE,     NULL,            false},
    [SLU_KIND_GRANT]            = {"grant",            "Grant",           SLU_KIND_SPACE,    "spaceId",       false},
    [SLU_KIND_SESSION]          = {"session",          "Session",         SLU_KIND_SPACE,    "spaceId",       false},
    [SLU_KIND_TICKET]           = {"ticket",           "Ticket",          SLU_KIND_SPACE,    "spaceId",       false},
    [SLU_KIND_LEASE]            = {"lease",            "Lease",           SLU_KIND_SPACE,    "spaceId",       false},
    [SLU_KIND_CHANGE_SET]       = {"change-set",       "ChangeSet",       SLU_KIND_SPACE,    "targetSpaceId", false},
    [SLU_KIND_DELEGATION]       = {"delegation",       "Delegation",      SLU_KIND_NONE,     NULL,            false},
    /* The versions of a template: the root `template/<templateId>` has no document of its own. */
    [SLU_KIND_TEMPLATE]         = {"template",         "TemplateVersion", SLU_KIND_TEMPLATE, "templateId",    false},
};

/* clang-format on */

enum slu_kind
slu_kind_of_document_word(const char *word)
{
    for (int kind = SLU_KIND_NONE + 1; kind < SLU_KIND_COUNT; kind++) {
        if (strcmp(slu_kinds[kind].document_word, word) == 0)
            return (enum slu_kind) kind;
    }
    return SLU_KIND_NONE;
}

enum slu_kind
slu_kind_of_key_word(const char *word, size_t size)
{
    for (int kind = SLU_KIND_NONE + 1; kind < SLU_KIND_COUNT; kind++) {
        const char *known = slu_kinds[kind].key_word;
        if (strlen(known) == size && memcmp(known, word, size) == 0)
            return (enum slu_kind) kind;
    }
    return SLU_KIND_NONE;
}

static bool
is_id_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

bool
slu_id_valid(const char *id, size_t size)
{
    if (size < 1 || size > SLU_ID_MAX)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (!is_id_byte(id[i]))
            return false;
    }
    return true;
}

/* Takes the part up to the next '/', or the rest. */
static void
take_part(const char **at, const char *end, const char **ret_part, size_t *ret_size)
{
    const char *slash = *at < end ? memchr(*at, '/', (size_t) (end - *at)) : NULL;
    *ret_part = *at;
    *ret_size = (size_t) ((slash ? slash : end) - *at);
    *at = slash ? slash + 1 : end;
}

static bool
take_id(const char **at, const char *end, char ret_id[SLU_ID_MAX + 1], struct slu_refusal *ret)
{
    const char *part;
    size_t size;
    take_part(at, end, &part, &size);
    if (!slu_id_valid(part, size))
        return slu_refuse(ret, SLU_CODE_INVALID, "key",
                          "an id must be 1 to %d characters of A-Z a-z 0-9 . _ -", SLU_ID_MAX);
    memcpy(ret_id, part, size);
    ret_id[size] = '\0';
    return true;
}

bool
slu_key_parse(const void *bytes, size_t size, struct slu_key *ret_key, struct slu_refusal *ret)
{
    if (!bytes || size == 0 || size > SLU_KEY_MAX)
        return slu_refuse(ret, SLU_CODE_INVALID, "key",
                          "a key must be 1 to %d bytes, such as sandbox/sbx-1", SLU_KEY_MAX);

    const char *at = bytes;
    const char *end = at + size;
    const char *word;
    size_t word_size;
    take_part(&at, end, &word, &word_size);

    struct slu_key key = {.kind = slu_kind_of_key_word(word, word_size)};
    if (key.kind == SLU_KIND_NONE) {
        return slu_refuse(ret, SLU_CODE_INVALID, "key",
                          "it begins with no kind: a key is <kind>/[<root id>/]<id>, such as "
                          "sandbox/sbx-1 or checkpoint/sbx-1/cp-1");
    }

    const bool has_root = slu_kinds[key.kind].root != SLU_KIND_NONE;
    const size_t slashes = has_root ? 2 : 1;
    size_t found = 0;
    for (size_t i = 0; i < size; i++)
        found += ((const char *) bytes)[i] == '/';
    if (found != slashes) {
        return slu_refuse(ret, SLU_CODE_INVALID, "key",
                          has_root ? "a %s key must be %s/<%s>/<id>" : "a %s key must be %s/<id>",
                          slu_kinds[key.kind].key_word, slu_kinds[key.kind].key_word,
                          slu_kinds[key.kind].root_field);
    }

    if (has_root && !take_id(&at, end, key.root_id, ret))
        return false;
    if (!take_id(&at, end, key.id, ret))
        return false;
    if (!has_root)
        memcpy(key.root_id, key.id, sizeof(key.root_id));
    *ret_key = key;
    return true;
}

size_t
slu_key_write(const struct slu_key *key, char *ret_text, size_t size)
{
    const struct slu_kind_row *row = &slu_kinds[key->kind];
    const int length =
        row->root == SLU_KIND_NONE
            ? snprintf(ret_text, size, "%s/%s", row->key_word, key->id)
            : snprintf(ret_text, size, "%s/%s/%s", row->key_word, key->root_id, key->id);
    assert(length > 0 && (size_t) length < size);
    return (size_t) length;
}

int
slu_key_shard(const struct slu_key *key, int shard_count)
{
    assert(shard_count > 0);

    const enum slu_kind parent = slu_kinds[key->kind].root;
    const enum slu_kind root = parent == SLU_KIND_NONE ? key->kind : parent;
    char text[SLU_KEY_MAX + 1];
    const int length =
        snprintf(text, sizeof(text), "%s/%s", slu_kinds[root].key_word, key->root_id);
    return (int) (slu_murmur2(text, (size_t) length) % (uint32_t) shard_count);
}
