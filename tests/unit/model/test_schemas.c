/* SPDX-License-Identifier: Apache-2.0 */
/* schemas/ is the contract, the tables are the code: this keeps them one, in both directions. Every
 * row has its property and every property its row, with equal types, bounds, words, defaults and
 * rules of change; the constants of the other documents are compared where they stand. */
#include "slu/base/macros.h"
#include "slu/model/call.h"
#include "slu/model/document.h"
#include "slu/model/fields.h"
#include "slu/model/record.h"
#include "slu/model/sandbox.h"
#include "slu/model/shard_record.h"

#include <jansson.h>

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- files, kept until the end
 * --------------------------------------------------------------------- */

static json_t *files; /* By name. */

static const json_t *
load(const char *name)
{
    json_t *schema = json_object_get(files, name);
    if (schema)
        return schema;

    char path[512];
    snprintf(path, sizeof(path), "%s/schemas/%s", SLU_SOURCE_DIR, name);
    json_error_t where;
    schema = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    if (!schema)
        fail_msg("%s:%d: %s", path, where.line, where.text);
    json_object_set_new(files, name, schema);
    return schema;
}

/* --- following a property to what it says
 * ---------------------------------------------------------- */

struct place {
    const char *file;
    const json_t *outer; /* As it stands at the property: default and rule of change. */
    const json_t *node;  /* Behind $ref, and beside "or null". */
    bool nullable;
};

/* "common.schema.json#/$defs/id", seen from `place`. */
static void
follow_reference(struct place *place, const char *reference)
{
    static const char pointer[] = "#/$defs/";
    const char *hash = strchr(reference, '#');
    assert_non_null(hash);

    if (hash > reference) {
        char name[128];
        snprintf(name, sizeof(name), "%.*s", (int) (hash - reference), reference);
        load(name);
        const char *key;
        json_t *value;
        json_object_foreach(files, key, value)
        {
            if (strcmp(key, name) == 0)
                place->file = key;
        }
    }
    assert_int_equal(strncmp(hash, pointer, sizeof(pointer) - 1), 0);
    const json_t *definitions = json_object_get(load(place->file), "$defs");
    place->node = json_object_get(definitions, hash + sizeof(pointer) - 1);
    if (!place->node)
        fail_msg("%s does not lead anywhere", reference);
}

static bool
is_null_type(const json_t *schema)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    return type && strcmp(type, "null") == 0;
}

static struct place
resolve(const char *file, const json_t *property)
{
    struct place place = {.file = file, .outer = property, .node = property};
    for (;;) {
        const json_t *reference = json_object_get(place.node, "$ref");
        const json_t *any = json_object_get(place.node, "anyOf");
        const json_t *type = json_object_get(place.node, "type");
        if (reference) {
            follow_reference(&place, json_string_value(reference));
        } else if (json_array_size(any) == 2 && is_null_type(json_array_get(any, 1))) {
            place.nullable = true;
            place.node = json_array_get(any, 0);
        } else {
            place.nullable = place.nullable || json_is_array(type);
            return place;
        }
    }
}

/* The type, and "null" beside it taken away. */
static const char *
type_of(const json_t *node)
{
    const json_t *type = json_object_get(node, "type");
    if (json_is_array(type)) {
        assert_int_equal(json_array_size(type), 2);
        assert_string_equal(json_string_value(json_array_get(type, 1)), "null");
        type = json_array_get(type, 0);
    }
    return json_is_string(type) ? json_string_value(type) : "";
}

static bool
has(const json_t *node, const char *keyword)
{
    return json_object_get(node, keyword) != NULL;
}

/* --- comparing
 * ------------------------------------------------------------------------------------- */

static void
compare_number(const json_t *node,
               const char *keyword,
               int64_t expected,
               int64_t when_absent,
               const char *path)
{
    const json_t *value = json_object_get(node, keyword);
    const int64_t number = value ? json_integer_value(value) : when_absent;
    if (number != expected)
        fail_msg("%s: %s is %lld in the schema, %lld in the table", path, keyword,
                 (long long) number, (long long) expected);
}

static void
compare_flag(bool in_schema, bool in_table, const char *what, const char *path)
{
    if (in_schema != in_table)
        fail_msg("%s: %s is %s in the schema alone", path, what, in_schema ? "there" : "missing");
}

static void
compare_type(const struct place *place, const char *expected, const char *path)
{
    if (strcmp(type_of(place->node), expected) != 0)
        fail_msg("%s: the schema's type is %s, the table's %s", path, type_of(place->node),
                 expected);
}

static void
compare_default(const struct place *place, const struct slu_field *row, const char *path)
{
    const json_t *value = json_object_get(place->outer, "default");
    compare_flag(value, row->fallback, "the default", path);
    if (!row->fallback)
        return;
    json_t *expected = json_loads(row->fallback, JSON_DECODE_ANY, NULL);
    if (!json_equal(value, expected))
        fail_msg("%s: the default differs from %s", path, row->fallback);
    json_decref(expected);
}

static void
compare_mutability(const struct place *place, const struct slu_field *row, const char *path)
{
    char expected[64] = "";
    switch (row->mutability) {
    case SLU_MUTABLE:
        break;
    case SLU_IMMUTABLE:
        snprintf(expected, sizeof(expected), "immutable");
        break;
    case SLU_SET_ONCE:
        snprintf(expected, sizeof(expected), "set_once");
        break;
    case SLU_BY_KIND:
        snprintf(expected, sizeof(expected), "by_kind");
        break;
    case SLU_MUTABLE_BY_CAPABILITY:
        snprintf(expected, sizeof(expected), "capability:%s", row->capability);
        break;
    }
    const json_t *value = json_object_get(place->outer, "x-slu-mutability");
    const char *text = value ? json_string_value(value) : "";
    if (strcmp(text, expected) != 0)
        fail_msg("%s: x-slu-mutability is \"%s\" in the schema, \"%s\" in the table", path, text,
                 expected);
}

static void
compare_words(const struct place *place, const struct slu_field *row, const char *path)
{
    const json_t *words = json_object_get(place->node, "enum");
    size_t count = 0;
    for (; row->names[count]; count++) {
        const char *word = json_string_value(json_array_get(words, count));
        if (!word || strcmp(word, row->names[count]) != 0)
            fail_msg("%s: word %zu is %s in the table", path, count, row->names[count]);
    }
    if (json_array_size(words) != count)
        fail_msg("%s: the schema has more words than the table", path);
}

static void
compare_text(const struct place *place, const struct slu_field *row, const char *path)
{
    compare_type(place, "string", path);
    compare_number(place->node, "minLength", row->min, 0, path);
    compare_number(place->node, "maxLength", row->max, -1, path);
    compare_number(place->node, "x-slu-max-bytes", row->in_bytes ? row->max : -1, -1, path);
    compare_flag(has(place->node, "pattern") || has(place->node, "format"), row->check, "a rule",
                 path);
}

static void compare_row(const struct slu_field *row, const struct place *place, const char *path);

/* Rows and properties, each with a partner. */
static void // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
compare_object(const struct slu_field *fields, const struct place *place, const char *path)
{
    const json_t *properties = json_object_get(place->node, "properties");
    compare_type(place, "object", path);
    if (!json_is_false(json_object_get(place->node, "additionalProperties")))
        fail_msg("%s: the schema takes unknown members", path);

    size_t count = 0;
    size_t required_count = 0;
    const struct slu_field *row = fields;
    for (; row->name; row++, count++) {
        char at[256];
        snprintf(at, sizeof(at), "%s.%s", path, row->name);
        const json_t *property = json_object_get(properties, row->name);
        if (!property)
            fail_msg("%s: the schema lacks it", at);

        bool required = false;
        for (size_t i = 0; i < json_array_size(json_object_get(place->node, "required")); i++) {
            const json_t *name = json_array_get(json_object_get(place->node, "required"), i);
            required = required || strcmp(json_string_value(name), row->name) == 0;
        }
        compare_flag(required, row->required, "required", at);
        required_count += row->required;

        const struct place inner = resolve(place->file, property);
        const bool may_be_null =
            row->type == SLU_FIELD_NULLABLE_ID || (!row->required && !row->fallback);
        compare_flag(inner.nullable, may_be_null, "null", at);
        compare_row(row, &inner, at);
    }
    if (json_object_size(properties) != count)
        fail_msg("%s: the schema has %zu members, the table %zu", path,
                 json_object_size(properties), count);
    if (json_array_size(json_object_get(place->node, "required")) != required_count)
        fail_msg("%s: the schema requires what the table does not know", path);

    const bool has_rule = has(place->node, "oneOf") || has(place->node, "anyOf") ||
                          has(place->node, "allOf") || has(place->node, "if") ||
                          has(place->node, "not");
    if (fields != slu_envelope_fields) /* Its rules only choose the spec's schema. */
        compare_flag(has_rule, row->check, "a rule for the whole object", path);
}

static void // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
compare_array(const struct slu_field *row, const struct place *place, const char *path)
{
    compare_type(place, "array", path);
    compare_number(place->node, "minItems", row->min, 0, path);
    compare_number(place->node, "maxItems", row->max, -1, path);
    compare_flag(has(place->node, "uniqueItems"), row->unique, "uniqueItems", path);
    compare_flag(has(place->node, "x-slu-max-bytes-sum") || has(place->node, "x-slu-unique-by"),
                 row->check, "a rule", path);

    char at[256];
    snprintf(at, sizeof(at), "%s[]", path);
    const struct place element = resolve(place->file, json_object_get(place->node, "items"));
    compare_row(row->element, &element, at);
}

static void // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
compare_map(const struct slu_field *row, const struct place *place, const char *path)
{
    compare_type(place, "object", path);
    compare_number(place->node, "minProperties", row->min, 0, path);
    compare_number(place->node, "maxProperties", row->max, -1, path);
    compare_flag(has(place->node, "x-slu-max-bytes-sum"), row->check, "a rule", path);

    char at[256];
    snprintf(at, sizeof(at), "%s.*", path);
    const struct place value =
        resolve(place->file, json_object_get(place->node, "additionalProperties"));
    const struct place name = resolve(place->file, json_object_get(place->node, "propertyNames"));
    compare_row(row->element, &value, at);
    compare_flag(has(place->node, "propertyNames"), row->key, "a rule for names", path);
    compare_row(row->key, &name, at);
}

/* By what the type says of bounds. */
static void // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
compare_row(const struct slu_field *row, const struct place *place, const char *path)
{
    compare_default(place, row, path);
    compare_mutability(place, row, path);

    switch (row->type) {
    case SLU_FIELD_TEXT:
        compare_text(place, row, path);
        return;
    case SLU_FIELD_ID:
    case SLU_FIELD_NULLABLE_ID:
        if (place->node !=
            json_object_get(json_object_get(load("common.schema.json"), "$defs"), "id"))
            fail_msg("%s: the schema's is no id", path);
        return;
    case SLU_FIELD_UUID:
        if (place->node !=
            json_object_get(json_object_get(load("common.schema.json"), "$defs"), "uuid"))
            fail_msg("%s: the schema's is no UUID", path);
        return;
    case SLU_FIELD_INT:
        compare_type(place, "integer", path);
        compare_number(place->node, "minimum", row->min, -1, path);
        compare_number(place->node, "maximum", row->max, -1, path);
        return;
    case SLU_FIELD_BOOL:
        compare_type(place, "boolean", path);
        return;
    case SLU_FIELD_ENUM:
        compare_words(place, row, path);
        return;
    case SLU_FIELD_OBJECT:
        if (row->fields)
            compare_object(row->fields, place, path);
        else
            compare_type(place, "object", path);
        return;
    case SLU_FIELD_ARRAY:
        compare_array(row, place, path);
        return;
    case SLU_FIELD_MAP:
        compare_map(row, place, path);
        return;
    case SLU_FIELD_ANY:
        compare_type(place, "object", path);
        compare_number(place->node, "x-slu-max-json-bytes", row->max, -1, path);
        compare_number(place->node, "x-slu-max-depth", 16, -1, path);
        return;
    }
}

static const struct {
    enum slu_kind kind;
    const char *file;
} specs[] = {
    {SLU_KIND_SANDBOX, "sandbox.schema.json"},
    {SLU_KIND_CHECKPOINT, "checkpoint.schema.json"},
    {SLU_KIND_ACTIVITY, "activity.schema.json"},
    {SLU_KIND_SNAPSHOT, "snapshot.schema.json"},
};

static void
test_spec_tables_and_schemas_say_the_same(void **state)
{
    (void) state;
    for (size_t i = 0; i < SLU_COUNT(specs); i++) {
        const struct place place = resolve(specs[i].file, load(specs[i].file));
        compare_object(slu_spec_fields(specs[i].kind), &place, specs[i].file);
    }
}

static void
test_every_served_kind_has_a_schema(void **state)
{
    (void) state;
    int served = 0;
    for (int kind = 0; kind < SLU_KIND_COUNT; kind++)
        served += slu_kinds[kind].served;
    assert_int_equal(served, SLU_COUNT(specs));
}

static void
test_every_schema_is_compared_with_something(void **state)
{
    (void) state;
    static const char *const others[] = {"common.schema.json", "desired.schema.json",
                                         "status.schema.json", "event.schema.json",
                                         "shard-record.schema.json"};
    DIR *folder = opendir(SLU_SOURCE_DIR "/schemas");
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        const char *end = strstr(entry->d_name, ".schema.json");
        bool known = !end;
        for (size_t i = 0; i < SLU_COUNT(specs); i++)
            known = known || strcmp(entry->d_name, specs[i].file) == 0;
        for (size_t i = 0; i < SLU_COUNT(others); i++)
            known = known || strcmp(entry->d_name, others[i]) == 0;
        if (!known)
            fail_msg("%s has no table", entry->d_name);
    }
    closedir(folder);
}

static void
test_the_envelope_and_its_schema_say_the_same(void **state)
{
    (void) state;
    const json_t *schema = load("desired.schema.json");
    const struct place place = resolve("desired.schema.json", schema);
    compare_object(slu_envelope_fields, &place, "document");
    compare_number(schema, "x-slu-max-json-bytes", SLU_DOCUMENT_SIZE_MAX, -1, "document");
    compare_number(schema, "x-slu-max-depth", SLU_DOCUMENT_DEPTH_MAX, -1, "document");

    /* Each kind leads to its own schema. */
    const json_t *rules = json_object_get(schema, "allOf");
    assert_int_equal(json_array_size(rules), SLU_COUNT(specs));
    for (size_t i = 0; i < SLU_COUNT(specs); i++) {
        const char *word = NULL;
        const char *file = NULL;
        assert_int_equal(json_unpack(json_array_get(rules, i), "{s:{s:{s:{s:s}}},s:{s:{s:{s:s}}}}",
                                     "if", "properties", "kind", "const", &word, "then",
                                     "properties", "spec", "$ref", &file),
                         0);
        assert_string_equal(word, slu_kinds[specs[i].kind].document_word);
        assert_string_equal(file, specs[i].file);
    }
}

static void
test_ids_are_bounded_alike(void **state)
{
    (void) state;
    const json_t *id = json_object_get(json_object_get(load("common.schema.json"), "$defs"), "id");
    compare_number(id, "minLength", 1, -1, "id");
    compare_number(id, "maxLength", SLU_ID_MAX, -1, "id");
    assert_string_equal(json_string_value(json_object_get(id, "pattern")), "^[A-Za-z0-9._-]+$");
}

/* The words of an enum in a schema against an array of names, from its index `first` on. */
static void
compare_names(const json_t *words, const char *const *names, int first, int count, bool closed)
{
    for (int i = first; i < count; i++) {
        const char *word = json_string_value(json_array_get(words, (size_t) (i - first)));
        if (!word || strcmp(word, names[i]) != 0)
            fail_msg("%s is missing in the schema", names[i]);
    }
    if (closed)
        assert_int_equal(json_array_size(words), count - first);
}

static void
test_words_of_status_and_events_are_the_codes_words(void **state)
{
    (void) state;
    const json_t *status = load("status.schema.json");
    const json_t *properties = json_object_get(status, "properties");
    compare_names(json_object_get(json_object_get(properties, "phase"), "enum"), slu_phase_names, 0,
                  SLU_PHASE_COUNT, false);

    const json_t *pending = json_object_get(
        json_object_get(json_object_get(properties, "pending"), "items"), "properties");
    compare_names(json_object_get(json_object_get(pending, "action"), "enum"), slu_action_names,
                  SLU_ACTION_NONE + 1, SLU_ACTION_COUNT, true);

    const json_t *refused =
        json_object_get(json_object_get(load("event.schema.json"), "$defs"), "refused");
    const json_t *code = json_object_get(json_object_get(refused, "properties"), "code");
    compare_names(json_object_get(code, "enum"), slu_code_names, SLU_CODE_NONE + 1, SLU_CODE_COUNT,
                  true);
}

static void
test_the_shard_record_is_bounded_alike(void **state)
{
    (void) state;
    const json_t *properties = json_object_get(load("shard-record.schema.json"), "properties");
    struct slu_shard_record record; /* Only its sizes count. */
    compare_number(json_object_get(properties, "cluster"), "maxLength", sizeof(record.cluster) - 1,
                   -1, "cluster");
    compare_number(json_object_get(properties, "owner"), "maxLength", sizeof(record.owner) - 1, -1,
                   "owner");
    compare_number(json_object_get(properties, "trying"), "maxLength", sizeof(record.trying) - 1,
                   -1, "trying");
    compare_number(json_object_get(properties, "admitted"), "maxProperties", SLU_ADMITTED_MAX, -1,
                   "admitted");

    /* What is written has exactly the schema's members. */
    struct slu_shard_record full = {.cluster = "c", .shard_count = 1, .trying = "0/1"};
    struct slu_buffer text = {0};
    slu_shard_record_write(&full, &text);
    json_t *written = json_loads(text.data, 0, NULL);
    const char *name;
    json_t *value;
    json_object_foreach(written, name, value)
    {
        if (!json_object_get(properties, name))
            fail_msg("%s is written, and not in the schema", name);
    }
    assert_int_equal(json_object_size(written), json_object_size(properties));
    json_decref(written);
    slu_buffer_done(&text);
}

static void
test_asyncapi_describes_every_topic_and_no_other(void **state)
{
    (void) state;
    const json_t *channels = json_object_get(load("asyncapi.json"), "channels");
    assert_int_equal(json_object_size(channels), SLU_TOPIC_COUNT);
    for (int topic = 0; topic < SLU_TOPIC_COUNT; topic++) {
        const json_t *channel = json_object_get(channels, slu_topic_names[topic]);
        char address[64];
        snprintf(address, sizeof(address), "sluice.%s", slu_topic_names[topic]);
        assert_non_null(channel);
        assert_string_equal(json_string_value(json_object_get(channel, "address")), address);
    }
}

static int
set_up(void **state)
{
    (void) state;
    files = json_object();
    return 0;
}

static int
tear_down(void **state)
{
    (void) state;
    json_decref(files);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spec_tables_and_schemas_say_the_same),
        cmocka_unit_test(test_every_served_kind_has_a_schema),
        cmocka_unit_test(test_every_schema_is_compared_with_something),
        cmocka_unit_test(test_the_envelope_and_its_schema_say_the_same),
        cmocka_unit_test(test_ids_are_bounded_alike),
        cmocka_unit_test(test_words_of_status_and_events_are_the_codes_words),
        cmocka_unit_test(test_the_shard_record_is_bounded_alike),
        cmocka_unit_test(test_asyncapi_describes_every_topic_and_no_other),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
