/* SPDX-License-Identifier: Apache-2.0 */
/* Desired documents: from hostile bytes to a decoded spec. What can exhaust the parser (size,
 * depth) is refused before it runs; what it says of a document is repeated without the document's
 * text, which may hold a secret. */
#include "slu/model/document.h"

#include "fields_internal.h"
#include "slu/base/memory.h"
#include "slu/model/fields.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define AUTO_JSON SLU_AUTO(drop_json)

static void
drop_json(json_t **json)
{
    json_decref(*json);
}

/* --- bytes to a tree
 * ------------------------------------------------------------------------------ */

/* Past the string that begins at `at`; `end` when it does not end. */
static const char *
skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        if (*at == '\\')
            at++;
    }
    return at < end ? at + 1 : end;
}

/* Brackets outside strings, counted: no tree is built for a document that is nested too deep. */
static bool
check_depth(const char *bytes, size_t size, struct slu_refusal *ret)
{
    const char *end = bytes + size;
    int depth = 0;
    for (const char *at = bytes; at < end;) {
        if (*at == '"') {
            at = skip_string(at, end);
            continue;
        }
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        if (depth > SLU_DOCUMENT_DEPTH_MAX) {
            return slu_refuse(
                ret, SLU_CODE_INVALID, NULL,
                "the document is nested too deep at byte %zu: at most %d levels are allowed",
                (size_t) (at - bytes), SLU_DOCUMENT_DEPTH_MAX);
        }
        at++;
    }
    return true;
}

static bool
check_bytes(const char *bytes, size_t size, struct slu_refusal *ret)
{
    if (!bytes || size == 0)
        return slu_refuse(ret, SLU_CODE_INVALID, NULL,
                          "the document is empty: it must be a JSON object");
    if (size > SLU_DOCUMENT_SIZE_MAX) {
        return slu_refuse(ret, SLU_CODE_INVALID, NULL,
                          "the document has %zu bytes: at most %d are allowed", size,
                          SLU_DOCUMENT_SIZE_MAX);
    }

    const char *nul = memchr(bytes, '\0', size);
    if (nul) {
        return slu_refuse(ret, SLU_CODE_INVALID, NULL,
                          "byte %zu is NUL: the document must be JSON in UTF-8",
                          (size_t) (nul - bytes));
    }
    return check_depth(bytes, size, ret);
}

/* The member name whose closing quote stands right before `position`; it comes twice. */
static bool
refuse_duplicate(const char *bytes, size_t position, struct slu_refusal *ret)
{
    size_t end = position > 0 ? position - 1 : 0;
    size_t begin = end;
    do
        begin = begin > 0 ? begin - 1 : 0;
    while (begin > 0 && (bytes[begin] != '"' || bytes[begin - 1] == '\\'));

    json_t *name = json_loadb(bytes + begin, end + 1 - begin, JSON_DECODE_ANY, NULL);
    struct slu_buffer shown = {0};
    if (json_is_string(name))
        slu_show_value(name, &shown);
    else
        slu_buffer_puts(&shown, "a field");
    slu_refuse(ret, SLU_CODE_INVALID, NULL,
               "%s is there twice in one object (byte %zu): each field may be there once",
               shown.data, begin);
    slu_buffer_done(&shown);
    json_decref(name);
    return false;
}

static bool
refuse_syntax(const char *bytes, const json_error_t *where, struct slu_refusal *ret)
{
    if (json_error_code(where) == json_error_duplicate_key)
        return refuse_duplicate(bytes, (size_t) where->position, ret);
    if (json_error_code(where) == json_error_null_character ||
        json_error_code(where) == json_error_null_byte_in_key) {
        return slu_refuse(ret, SLU_CODE_INVALID, NULL,
                          "byte %d: \\u0000 is not allowed: texts must be free of NUL",
                          where->position);
    }

    /* Behind "near" comes text of the document. */
    const char *near = strstr(where->text, " near ");
    const int shown = (int) (near ? (size_t) (near - where->text) : strlen(where->text));
    return slu_refuse(ret, SLU_CODE_INVALID, NULL,
                      "the document is not JSON: line %d, column %d (byte %d): %.*s", where->line,
                      where->column, where->position, shown, where->text);
}

static json_t *
parse_bytes(const char *bytes, size_t size, struct slu_refusal *ret)
{
    if (!check_bytes(bytes, size, ret))
        return NULL;

    json_error_t where;
    json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &where);
    if (!root) {
        refuse_syntax(bytes, &where, ret);
        return NULL;
    }
    if (!json_is_object(root)) {
        slu_refuse(ret, SLU_CODE_INVALID, NULL, "the document is a list: it must be a JSON object");
        json_decref(root);
        return NULL;
    }
    return root;
}

/* --- CloudEvents, structured mode
 * ----------------------------------------------------------------- */

static bool
is_json_content(const char *content_type)
{
    const size_t size = strcspn(content_type, "; ");
    return (size == strlen("application/json") &&
            strncasecmp(content_type, "application/json", size) == 0) ||
           (size > 5 && strncasecmp(content_type + size - 5, "+json", 5) == 0);
}

/* The document inside the event; lent. NULL with the refusal filled when the event is none. */
static const json_t *
open_event(const json_t *event, struct slu_document *document, struct slu_refusal *ret)
{
    static const char *const required[] = {"id", "source", "type"};
    const json_t *version = json_object_get(event, "specversion");
    if (!json_is_string(version) || strcmp(json_string_value(version), "1.0") != 0) {
        slu_refuse_value(ret, "specversion", version, "\"1.0\"");
        return NULL;
    }
    for (size_t i = 0; i < SLU_COUNT(required); i++) {
        const json_t *value = json_object_get(event, required[i]);
        if (json_string_length(value) < 1 || json_string_length(value) > SLU_EVENT_ID_MAX) {
            slu_refuse(ret, SLU_CODE_INVALID, required[i],
                       "%s: a CloudEvent must have it, a text of 1 to %d bytes",
                       value ? "not allowed" : "missing", SLU_EVENT_ID_MAX);
            return NULL;
        }
    }

    const json_t *content_type = json_object_get(event, "datacontenttype");
    if (content_type &&
        (!json_is_string(content_type) || !is_json_content(json_string_value(content_type)))) {
        slu_refuse_value(ret, "datacontenttype", content_type, "application/json");
        return NULL;
    }
    const json_t *data = json_object_get(event, "data");
    if (!json_is_object(data)) {
        slu_refuse(ret, SLU_CODE_INVALID, "data",
                   "a CloudEvent must hold the document here, as an object");
        return NULL;
    }
    const json_t *id = json_object_get(event, "id");
    memcpy(document->event_id, json_string_value(id), json_string_length(id) + 1);
    return data;
}

/* --- the envelope
 * --------------------------------------------------------------------------------- */

static void
append_served(struct slu_buffer *out)
{
    const char *separator = "";
    for (int kind = 0; kind < SLU_KIND_COUNT; kind++) {
        if (!slu_kinds[kind].served)
            continue;
        slu_buffer_printf(out, "%s%s", separator, slu_kinds[kind].document_word);
        separator = ", ";
    }
}

/* A kind that is not served is told from one that does not exist; the rest is the table's. */
static bool
check_kind(const json_t *value, struct slu_refusal *ret)
{
    if (!json_is_string(value))
        return true;
    const enum slu_kind kind = slu_kind_of_document_word(json_string_value(value));
    if (slu_kinds[kind].served)
        return true;

    SLU_AUTO_BUFFER struct slu_buffer served = {0};
    append_served(&served);
    if (kind == SLU_KIND_NONE)
        return slu_refuse_value(ret, "kind", value, "one of %s", served.data);
    return slu_refuse(ret, SLU_CODE_INVALID, "kind",
                      "kind '%s' is not served by this version; served are %s",
                      slu_kinds[kind].document_word, served.data);
}

static void
copy_id(char ret_id[SLU_ID_MAX + 1], const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    memcpy(ret_id, json_string_value(value), json_string_length(value) + 1);
}

static void
read_envelope(const json_t *envelope, struct slu_document *document)
{
    const json_t *scope = json_object_get(envelope, "scope");
    copy_id(document->tenant, scope, "tenantId");
    copy_id(document->project, scope, "projectId");

    const json_t *if_generation = json_object_get(envelope, "ifGeneration");
    document->generation = json_integer_value(json_object_get(envelope, "generation"));
    document->if_generation = if_generation ? json_integer_value(if_generation) : -1;

    const json_t *actor = json_object_get(envelope, "actor");
    if (actor) {
        snprintf(document->actor.kind, sizeof(document->actor.kind), "%s",
                 json_string_value(json_object_get(actor, "kind")));
        snprintf(document->actor.id, sizeof(document->actor.id), "%s",
                 json_string_value(json_object_get(actor, "id")));
    }
}

/* The key that the document says it belongs to must be the record's own. */
static bool
agrees_with_key(const json_t *envelope,
                const json_t *spec,
                const struct slu_key *key,
                struct slu_refusal *ret)
{
    const char *word = json_string_value(json_object_get(envelope, "kind"));
    struct slu_key own = {.kind = slu_kind_of_document_word(word)};
    copy_id(own.id, envelope, "id");
    const char *root_field = slu_kinds[own.kind].root_field;
    copy_id(own.root_id, root_field ? spec : envelope, root_field ? root_field : "id");

    if (own.kind == key->kind && strcmp(own.id, key->id) == 0 &&
        strcmp(own.root_id, key->root_id) == 0)
        return true;

    char is[SLU_KEY_MAX + 1], wanted[SLU_KEY_MAX + 1];
    slu_key_write(key, is, sizeof(is));
    slu_key_write(&own, wanted, sizeof(wanted));
    return slu_refuse(ret, SLU_CODE_INVALID, "key",
                      "%s does not agree with the document: its kind, %s%sid make the key %s", is,
                      root_field ? root_field : "", root_field ? " and " : "", wanted);
}

/* Fills `document` from the object that is the document itself. */
static bool
read_document(const json_t *value,
              const struct slu_key *key,
              struct slu_document *document,
              struct slu_refusal *ret)
{
    if (!check_kind(json_object_get(value, "kind"), ret))
        return false;
    AUTO_JSON json_t *envelope = slu_fields_decode(slu_envelope_fields, value, "", ret);
    if (!envelope)
        return false;

    const char *word = json_string_value(json_object_get(envelope, "kind"));
    const struct slu_field *fields = slu_spec_fields(slu_kind_of_document_word(word));
    assert(fields); /* Served. */

    const json_t *wished = json_object_get(envelope, "spec");
    AUTO_JSON json_t *spec = slu_fields_decode(fields, wished, "spec", ret);
    if (!spec || !agrees_with_key(envelope, spec, key, ret))
        return false;

    const json_t *provider = json_object_get(wished, "provider");
    document->key = *key;
    document->names_provider = provider && !json_is_null(provider);
    read_envelope(envelope, document);
    document->spec = slu_steal(spec);
    return true;
}

bool
slu_document_parse(const struct slu_key *key,
                   const void *bytes,
                   size_t size,
                   struct slu_document *ret_document,
                   struct slu_refusal *ret)
{
    AUTO_JSON json_t *root = parse_bytes(bytes, size, ret);
    if (!root)
        return false;

    struct slu_document document = {0};
    const json_t *value = root;
    if (json_object_get(root, "specversion"))
        value = open_event(root, &document, ret);
    if (!value || !read_document(value, key, &document, ret))
        return false;
    *ret_document = document;
    return true;
}

void
slu_document_done(struct slu_document *document)
{
    json_decref(document->spec);
    *document = (struct slu_document){0};
}

/* --- canonical bytes
 * ------------------------------------------------------------------------------ */

static void append_json(struct slu_buffer *out, const json_t *value);

static void // NOLINTNEXTLINE(misc-no-recursion): no deeper than a document.
append_object(struct slu_buffer *out, const json_t *object)
{
    json_t *lent = slu_json_lend(object);
    slu_buffer_putc(out, '{');
    for (void *at = json_object_iter(lent); at;) {
        const char *name = json_object_iter_key(at);
        slu_buffer_json_bytes(out, name, json_object_iter_key_len(at));
        slu_buffer_putc(out, ':');
        append_json(out, json_object_iter_value(at));
        at = json_object_iter_next(lent, at);
        if (at)
            slu_buffer_putc(out, ',');
    }
    slu_buffer_putc(out, '}');
}

static void // NOLINTNEXTLINE(misc-no-recursion): no deeper than a document.
append_array(struct slu_buffer *out, const json_t *list)
{
    slu_buffer_putc(out, '[');
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (i > 0)
            slu_buffer_putc(out, ',');
        append_json(out, json_array_get(list, i));
    }
    slu_buffer_putc(out, ']');
}

static void
append_real(struct slu_buffer *out, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY); /* Digits that read back as the same number. */
    assert(text);
    slu_buffer_puts(out, text);
    free(text);
}

/* As json_dumps would write it, at a fifth of its time: every accepted document passes here. */
static void // NOLINTNEXTLINE(misc-no-recursion): no deeper than a document.
append_json(struct slu_buffer *out, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        append_object(out, value);
        return;
    case JSON_ARRAY:
        append_array(out, value);
        return;
    case JSON_STRING:
        slu_buffer_json_bytes(out, json_string_value(value), json_string_length(value));
        return;
    case JSON_INTEGER:
        slu_buffer_int(out, json_integer_value(value));
        return;
    case JSON_REAL:
        append_real(out, value);
        return;
    case JSON_TRUE:
        slu_buffer_puts(out, "true");
        return;
    case JSON_FALSE:
        slu_buffer_puts(out, "false");
        return;
    case JSON_NULL:
        slu_buffer_puts(out, "null");
        return;
    }
}

char *
slu_spec_text(const json_t *spec, size_t *ret_size)
{
    struct slu_buffer text = {0};
    append_json(&text, spec);
    if (ret_size)
        *ret_size = text.size;
    return slu_buffer_take(&text);
}

json_t *
slu_spec_tree(const char *text, size_t size)
{
    json_t *spec = json_loadb(text, size, 0, NULL);
    assert(spec);
    return spec;
}
