/* SPDX-License-Identifier: Apache-2.0 */
#include "resources.h"

#include "kafka.h"
#include "output.h"
#include "slu/base/macros.h"
#include "slu/base/memory.h"
#include "slu/model/key.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATH_PART_MAX = 64,
    LOG_WAIT_MS = 30000, /* Without a single record or end: given up. */
};

/* --- documents ------------------------------------------------------------------------------- */

const json_t *
member(const json_t *document, const char *path)
{
    while (document && *path) {
        char name[PATH_PART_MAX];
        const size_t size = strcspn(path, ".");
        snprintf(name, sizeof(name), "%.*s", (int) size, path);
        document = json_object_get(document, name);
        path += size + (path[size] == '.');
    }
    return document;
}

const char *
member_text(const json_t *document, const char *path)
{
    const char *text = json_string_value(member(document, path));
    return text ? text : "";
}

int64_t
member_number(const json_t *document, const char *path)
{
    return json_integer_value(member(document, path));
}

const json_t *
condition(const json_t *status, const char *type)
{
    const json_t *conditions = member(status, "conditions");
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *one = json_array_get(conditions, i);
        if (strcmp(member_text(one, "type"), type) == 0)
            return one;
    }
    return NULL;
}

/* --- selection ------------------------------------------------------------------------------- */

static void
complain_about_kinds(const char *word)
{
    struct slu_buffer kinds = {0};
    for (int kind = SLU_KIND_NONE + 1; kind < SLU_KIND_COUNT; kind++) {
        if (slu_kinds[kind].served)
            slu_buffer_printf(&kinds, "%s%s", kinds.size ? ", " : "", slu_kinds[kind].key_word);
    }
    complain("there is no kind '%s'; the kinds are %s", word, kinds.data);
    slu_buffer_done(&kinds);
}

/* "sandbox", or what English makes of many of them. */
static enum slu_kind
read_kind(const char *word, size_t size)
{
    enum slu_kind kind = slu_kind_of_key_word(word, size);
    if (kind == SLU_KIND_NONE && size > 2 && strncmp(word + size - 2, "es", 2) == 0)
        kind = slu_kind_of_key_word(word, size - 2);
    if (kind == SLU_KIND_NONE && size > 1 && word[size - 1] == 's')
        kind = slu_kind_of_key_word(word, size - 1);
    return kind;
}

bool
selection_read(const char *word, struct selection *ret_selection)
{
    const size_t kind_size = strcspn(word, "/");
    const enum slu_kind kind = read_kind(word, kind_size);
    if (kind == SLU_KIND_NONE) {
        complain_about_kinds(word);
        return false;
    }
    const char *kind_word = slu_kinds[kind].key_word;
    const char *rest = word[kind_size] ? word + kind_size + 1 : "";
    snprintf(ret_selection->kind, sizeof(ret_selection->kind), "%s", kind_word);
    if (!rest[0])
        return true;
    if (!strchr(rest, '/') && slu_kinds[kind].root != SLU_KIND_NONE) {
        snprintf(ret_selection->id, sizeof(ret_selection->id), "%.150s", rest);
        return true;
    }
    struct slu_key key;
    struct slu_refusal refusal;
    snprintf(ret_selection->key, sizeof(ret_selection->key), "%s/%.560s", kind_word, rest);
    if (slu_key_parse(ret_selection->key, strlen(ret_selection->key), &key, &refusal))
        return true;
    complain("%s", refusal.message);
    return false;
}

bool
selection_read_sandbox(const char *word, struct selection *ret_selection)
{
    char key[600];
    snprintf(key, sizeof(key), "%s%.560s", strchr(word, '/') ? "" : "sandbox/", word);
    if (!selection_read(key, ret_selection))
        return false;
    if (ret_selection->key[0] && strcmp(ret_selection->kind, "sandbox") == 0)
        return true;
    complain("'%s' names no sandbox; expected its id, or sandbox/<id>", word);
    return false;
}

bool
selection_matches(const struct selection *selection, const char *key, const json_t *status)
{
    if (selection->key[0])
        return strcmp(selection->key, key) == 0;
    const size_t kind_size = strlen(selection->kind);
    if (kind_size > 0 && (strncmp(key, selection->kind, kind_size) != 0 || key[kind_size] != '/'))
        return false;
    if (selection->id[0] && strcmp(strrchr(key, '/') + 1, selection->id) != 0)
        return false;
    if (selection->tenant && selection->tenant[0] && status &&
        strcmp(member_text(status, "scope.tenantId"), selection->tenant) != 0)
        return false;
    return !selection->project || !selection->project[0] || !status ||
           strcmp(member_text(status, "scope.projectId"), selection->project) == 0;
}

/* --- lists ----------------------------------------------------------------------------------- */

static void
end_resource(struct resource *resource)
{
    free(resource->key);
    free(resource->text);
    json_decref(resource->status);
}

const struct resource *
resources_add(
    struct resources *resources, const char *key, size_t key_size, const char *text, size_t size)
{
    json_t *status = json_loadb(text, size, 0, NULL);
    if (!json_is_object(status)) {
        json_decref(status);
        return NULL;
    }
    if (resources->count % 64 == 0) {
        resources->items =
            slu_realloc(resources->items, (resources->count + 64) * sizeof(struct resource));
    }
    struct resource *added = &resources->items[resources->count++];
    *added = (struct resource){.key = slu_memdup(key, key_size),
                               .text = slu_memdup(text, size),
                               .size = size,
                               .status = status};
    return added;
}

void
resources_remove(struct resources *resources, const char *key, size_t key_size)
{
    for (size_t i = 0; i < resources->count; i++) {
        struct resource *one = &resources->items[i];
        if (strlen(one->key) != key_size || memcmp(one->key, key, key_size) != 0)
            continue;
        end_resource(one);
        *one = resources->items[--resources->count];
        return;
    }
}

static int
compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct resource *) a)->key, ((const struct resource *) b)->key);
}

void
resources_sort(struct resources *resources)
{
    if (resources->count > 1)
        qsort(resources->items, resources->count, sizeof(struct resource), compare_keys);
}

void
resources_done(struct resources *resources)
{
    for (size_t i = 0; i < resources->count; i++)
        end_resource(&resources->items[i]);
    free(resources->items);
    *resources = (struct resources){0};
}

/* --- from the log ---------------------------------------------------------------------------- */

/* The last document of each key, by a table of where it stands, so that a long log stays linear. */
struct latest {
    json_t *index; /* key → place in `texts` + 1. */

    struct {
        char *key, *text;
        size_t size;
    } * items;

    size_t count;
};

static void
note_latest(struct latest *latest, const struct slu_record *record)
{
    char *key = slu_memdup(record->key ? record->key : "", record->key_size);
    size_t place = (size_t) json_integer_value(json_object_get(latest->index, key));
    if (place == 0) {
        if (latest->count % 256 == 0)
            latest->items =
                slu_realloc(latest->items, (latest->count + 256) * sizeof(latest->items[0]));
        place = ++latest->count;
        latest->items[place - 1].key = slu_strdup(key);
        latest->items[place - 1].text = NULL;
        json_object_set_new(latest->index, key, json_integer((json_int_t) place));
    }
    free(key);
    assert(place <= latest->count && latest->items);
    free(latest->items[place - 1].text);
    latest->items[place - 1].text =
        record->value ? slu_memdup(record->value, record->value_size) : NULL;
    latest->items[place - 1].size = record->value_size;
}

static void
keep_matching(struct latest *latest, const struct selection *selection, struct resources *ret)
{
    for (size_t i = 0; i < latest->count; i++) {
        const char *key = latest->items[i].key, *text = latest->items[i].text;
        if (text && strchr(key, '/') && selection_matches(selection, key, NULL)) {
            const struct resource *added =
                resources_add(ret, key, strlen(key), text, latest->items[i].size);
            if (added && !selection_matches(selection, key, added->status))
                resources_remove(ret, key, strlen(key));
        }
        free(latest->items[i].key);
        free(latest->items[i].text);
    }
    free(latest->items);
    json_decref(latest->index);
    resources_sort(ret);
}

int
resources_read_log(const struct cli *cli, const struct selection *selection, struct resources *ret)
{
    struct kafka_reader *reader = kafka_reader_new(cli, true);
    if (!reader)
        return CLI_FAILED;
    struct latest latest = {.index = json_object()};
    bool good = true;
    struct slu_key key;
    struct slu_refusal refusal;
    if (selection->key[0] &&
        slu_key_parse(selection->key, strlen(selection->key), &key, &refusal)) {
        const int shards = kafka_shard_count(cli);
        good = shards > 0;
        if (good)
            kafka_reader_add(reader, SLU_TOPIC_STATUS, slu_key_shard(&key, shards),
                             RD_KAFKA_OFFSET_BEGINNING);
    } else {
        good = kafka_reader_add_all(reader, SLU_TOPIC_STATUS, 0);
    }
    good = good && kafka_reader_start(reader);
    enum slu_topic topic;
    struct slu_record record;
    while (good && kafka_reader_next(reader, true, LOG_WAIT_MS, &topic, &record))
        note_latest(&latest, &record);
    good = good && !kafka_reader_failed(reader) && !interrupted();
    kafka_reader_free(reader);
    keep_matching(&latest, selection, ret);
    return good ? CLI_OK : CLI_FAILED;
}

int
resources_read(const struct cli *cli, const struct selection *selection, struct resources *ret)
{
    char why[256];
    if (resources_read_views(cli, selection, ret, why, sizeof(why)) == CLI_OK) {
        /* That one resource is nowhere is for the log to say: a shard may have no view yet. */
        const bool absent = selection->key[0] && ret->count == 0;
        return absent ? resources_read_log(cli, selection, ret) : CLI_OK;
    }
    resources_done(ret);
    fprintf(stderr, "sluice: no views in Redis at %s (%s): reading the log instead\n",
            cli->settings.redis_url, why);
    return resources_read_log(cli, selection, ret);
}
