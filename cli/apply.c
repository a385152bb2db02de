/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice apply`: documents from files, each published byte for byte as it stands there. Only what
 * finding its key needs is looked at here: the leader is the one judge. */
#include "cli.h"
#include "judgement.h"
#include "output.h"
#include "resources.h"
#include "slu/base/buffer.h"
#include "slu/base/memory.h"
#include "slu/model/document.h"

#include <jansson.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INPUT_MAX = 256 * 1024 * 1024,
    FILES_MAX = 64,
};

struct documents {
    struct kafka_message *items;
    size_t count;
    int shards;
};

static bool
read_input(const char *path, struct slu_buffer *ret_text)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    if (!file) {
        complain("%s: %s", path, strerrordesc_np(errno));
        return false;
    }
    char chunk[65536];
    size_t size;
    while ((size = fread(chunk, 1, sizeof(chunk), file)) > 0 && ret_text->size < INPUT_MAX)
        slu_buffer_append(ret_text, chunk, size);
    const bool good = !ferror(file) && ret_text->size < INPUT_MAX;
    if (!good)
        complain("%s: cannot be read, or is larger than %d MiB", path, INPUT_MAX / 1024 / 1024);
    if (!is_stdin)
        fclose(file);
    return good;
}

/* The document inside a CloudEvent in structured mode, or the document itself. */
static const json_t *
inner_document(const json_t *value)
{
    const json_t *data = json_object_get(value, "data");
    return json_object_get(value, "specversion") && json_is_object(data) ? data : value;
}

static bool
derive_key(const char *path, const json_t *value, struct slu_key *ret_key)
{
    const json_t *document = inner_document(value);
    const char *kind_word = member_text(document, "kind"), *id = member_text(document, "id");
    const enum slu_kind kind = slu_kind_of_document_word(kind_word);
    if (kind == SLU_KIND_NONE) {
        complain("%s: `kind` is \"%s\"; expected Sandbox, Checkpoint, Activity or Snapshot", path,
                 kind_word);
        return false;
    }
    char text[700];
    const struct slu_kind_row *row = &slu_kinds[kind];
    if (row->root == SLU_KIND_NONE) {
        snprintf(text, sizeof(text), "%s/%.300s", row->key_word, id);
    } else {
        char field[64];
        snprintf(field, sizeof(field), "spec.%s", row->root_field);
        snprintf(text, sizeof(text), "%s/%.300s/%.300s", row->key_word,
                 member_text(document, field), id);
    }
    struct slu_refusal refusal;
    if (slu_key_parse(text, strlen(text), ret_key, &refusal))
        return true;
    if (row->root_field)
        complain("%s: `id` or `spec.%s`: %s", path, row->root_field, refusal.message);
    else
        complain("%s: `id`: %s", path, refusal.message);
    return false;
}

static bool
add_document(struct documents *documents, const char *path, const char *text, size_t size)
{
    json_error_t where;
    json_t *value = json_loadb(text, size, 0, &where);
    struct slu_key key;
    bool good = json_is_object(value);
    if (!good)
        complain("%s: a document must be a JSON object", path);
    good = good && derive_key(path, value, &key);
    if (good && size > SLU_DOCUMENT_SIZE_MAX) {
        complain("%s: the document has %zu bytes; at most %d are allowed", path, size,
                 SLU_DOCUMENT_SIZE_MAX);
        good = false;
    }
    json_decref(value);
    if (!good)
        return false;
    if (documents->count % 64 == 0) {
        documents->items =
            slu_realloc(documents->items, (documents->count + 64) * sizeof(struct kafka_message));
    }
    struct kafka_message *message = &documents->items[documents->count++];
    *message = (struct kafka_message){.value = text, .size = size, .offset = -1};
    judgement_address(&key, documents->shards, message);
    return true;
}

static int
line_of(const char *text, size_t size)
{
    int line = 1;
    for (size_t i = 0; i < size; i++)
        line += text[i] == '\n';
    return line;
}

/* One document after the other, parted by any white space; an array is taken as its members. */
static bool
add_all(struct documents *documents, const char *path, const char *text, size_t size)
{
    static const char blanks[] = " \t\r\n,[]";
    size_t at = 0;
    const size_t before = documents->count;
    while (at < size) {
        if (memchr(blanks, text[at], sizeof(blanks) - 1)) {
            at++;
            continue;
        }
        json_error_t where;
        json_t *value = json_loadb(text + at, size - at, JSON_DISABLE_EOF_CHECK, &where);
        if (!value) {
            complain("%s: line %d: %s", path, line_of(text, at) + where.line - 1, where.text);
            return false;
        }
        json_decref(value);
        if (!add_document(documents, path, text + at, (size_t) where.position))
            return false;
        at += (size_t) where.position;
    }
    if (documents->count == before)
        complain("%s: there is no document in it", path);
    return documents->count > before;
}

/* The files to take, -f first. */
static int
collect_paths(const struct cli *cli, const char *ret_paths[FILES_MAX])
{
    int count = 0;
    if (cli->options.file[0])
        ret_paths[count++] = cli->options.file;
    for (int i = 0; i < cli->argc && count < FILES_MAX; i++)
        ret_paths[count++] = cli->argv[i];
    return count;
}

static bool
read_inputs(const char *const *paths, int count, struct slu_buffer *ret_texts)
{
    for (int i = 0; i < count; i++) {
        if (!read_input(paths[i], &ret_texts[i]))
            return false;
    }
    return true;
}

static bool
read_documents(const char *const *paths,
               int count,
               const struct slu_buffer *texts,
               struct documents *ret_documents)
{
    for (int i = 0; i < count; i++) {
        const char *name = strcmp(paths[i], "-") == 0 ? "standard input" : paths[i];
        if (!add_all(ret_documents, name, texts[i].data ? texts[i].data : "", texts[i].size)) {
            hint("nothing was published");
            return false;
        }
    }
    return true;
}

int
cli_apply(struct cli *cli)
{
    const char *paths[FILES_MAX];
    const int count = collect_paths(cli, paths);
    if (count == 0) {
        complain("apply: which file? `sluice apply -f FILE`, or `-f -` for the standard input");
        return CLI_USAGE;
    }
    struct slu_buffer texts[FILES_MAX] = {0};
    struct documents documents = {0};
    int status = CLI_FAILED;
    if (read_inputs(paths, count, texts))
        documents.shards = kafka_shard_count(cli);
    if (documents.shards > 0) {
        status = read_documents(paths, count, texts, &documents)
                     ? judgement_publish(cli, documents.items, documents.count)
                     : CLI_REFUSED;
    }
    for (int i = 0; i < count; i++)
        slu_buffer_done(&texts[i]);
    free(documents.items);
    return status;
}
