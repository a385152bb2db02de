/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding by table. The good path walks every member once and builds no text: where a value is
 * wrong is written down only when it is. Recursion follows the tables, which have no cycles. */
#include "slu/model/fields.h"

#include "fields_internal.h"
#include "slu/base/memory.h"
#include "slu/base/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIELDS_MAX = 32,
    SHOWN_CHARACTERS = 64,
    SHOWN_NAME_SIZE = 64,
    ANY_DEPTH_MAX = 16,
};

/* Where a value stands, as a chain on the stack. */
struct spot {
    const struct spot *parent;
    const char *name; /* NULL: a member of a list. */
    size_t index;
};

json_t *
slu_json_lend(const json_t *json)
{
    return (json_t *) (uintptr_t) json;
}

/* --- saying what is wrong
 * ------------------------------------------------------------------------- */

/* Names from outside may hold anything: control characters become '?', long ones are cut. */
static void
append_name(struct slu_buffer *out, const char *name)
{
    const size_t size = slu_utf8_cut(name, strlen(name), SHOWN_NAME_SIZE);
    for (size_t i = 0; i < size; i++)
        slu_buffer_putc(out, (unsigned char) name[i] < 0x20 || name[i] == 0x7f ? '?' : name[i]);
    if (name[size])
        slu_buffer_puts(out, "…");
}

static void // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
append_spot(struct slu_buffer *out, const struct spot *spot)
{
    if (spot->parent)
        append_spot(out, spot->parent);
    if (!spot->name) {
        slu_buffer_printf(out, "[%zu]", spot->index);
        return;
    }
    if (out->size > 0 && spot->name[0])
        slu_buffer_putc(out, '.');
    if (spot->parent)
        append_name(out, spot->name);
    else
        slu_buffer_puts(out, spot->name);
}

static struct slu_member_path
path_of_spot(const struct spot *spot)
{
    SLU_AUTO_BUFFER struct slu_buffer text = {0};
    slu_buffer_puts(&text, "");
    append_spot(&text, spot);

    struct slu_member_path path;
    snprintf(path.text, sizeof(path.text), "%s", text.data);
    slu_utf8_trim(path.text);
    return path;
}

struct slu_member_path
slu_path_of(const char *path, const char *member)
{
    const struct spot parent = {.name = path};
    const struct spot spot = {.parent = &parent, .name = member};
    return path_of_spot(&spot);
}

static bool
name_says_secret(const char *name)
{
    static const char *const words[] = {"token", "secret", "password", "key"};
    for (size_t i = 0; i < SLU_COUNT(words); i++) {
        if (strcasestr(name, words[i]))
            return true;
    }
    return false;
}

/* By the whole names, since the path that is shown may be cut. */
static bool
spot_says_secret(const struct spot *spot)
{
    for (; spot; spot = spot->parent) {
        if (spot->name && name_says_secret(spot->name))
            return true;
    }
    return false;
}

static void
show_text(const json_t *value, struct slu_buffer *out)
{
    const char *text = json_string_value(value);
    const size_t size = json_string_length(value);
    size_t kept = 0;
    for (size_t count = 0; kept < size && count < SHOWN_CHARACTERS; count++)
        kept += slu_utf8_length(text + kept, size - kept);

    slu_buffer_json_bytes(out, text, kept);
    if (kept < size)
        slu_buffer_puts(out, "…");
}

void
slu_show_value(const json_t *value, struct slu_buffer *out)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        slu_buffer_puts(out, "an object");
        return;
    case JSON_ARRAY:
        slu_buffer_printf(out, "a list of %zu", json_array_size(value));
        return;
    case JSON_STRING:
        show_text(value, out);
        return;
    case JSON_INTEGER:
        slu_buffer_printf(out, "%lld", (long long) json_integer_value(value));
        return;
    case JSON_REAL:
        slu_buffer_printf(out, "%.17g", json_real_value(value));
        if (!strpbrk(out->data, ".en"))
            slu_buffer_puts(out, ".0");
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

/* "owners[2]" of "spec.owners[2]". */
static const char *
last_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

static bool
refuse_shown(
    struct slu_refusal *ret, const char *path, const json_t *value, bool secret, const char *rule)
{
    SLU_AUTO_BUFFER struct slu_buffer shown = {0};
    if (secret && (json_is_string(value) || json_is_number(value)))
        slu_buffer_puts(&shown, "the value");
    else
        slu_show_value(value, &shown);
    return slu_refuse(ret, SLU_CODE_INVALID, path, "%s is not allowed: %s must be %s", shown.data,
                      last_name(path), rule);
}

bool
slu_refuse_value(
    struct slu_refusal *ret, const char *path, const json_t *value, const char *format, ...)
{
    char rule[SLU_REFUSAL_MESSAGE_MAX + 1];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(rule, sizeof(rule), format, arguments);
    va_end(arguments);
    return refuse_shown(ret, path, value, name_says_secret(path), rule);
}

static void
append_field_names(struct slu_buffer *out, const struct slu_field *fields)
{
    for (const struct slu_field *field = fields; field->name; field++)
        slu_buffer_printf(out, "%s%s", field == fields ? "" : ", ", field->name);
}

static void
append_range(struct slu_buffer *out, const struct slu_field *field, const char *unit)
{
    if (field->min > 0) {
        slu_buffer_printf(out, "%lld to %lld %s", (long long) field->min, (long long) field->max,
                          unit);
    } else {
        slu_buffer_printf(out, "at most %lld %s", (long long) field->max, unit);
    }
}

/* What would be right: goes behind "must be". */
static void
append_rule(struct slu_buffer *out, const struct slu_field *field)
{
    switch (field->type) {
    case SLU_FIELD_TEXT:
        slu_buffer_puts(out, "a text of ");
        append_range(out, field, field->in_bytes ? "bytes" : "characters");
        return;
    case SLU_FIELD_ID:
    case SLU_FIELD_NULLABLE_ID:
        slu_buffer_printf(out, "1 to %d characters of A-Z a-z 0-9 . _ -%s", SLU_ID_MAX,
                          field->type == SLU_FIELD_NULLABLE_ID ? ", or null" : "");
        return;
    case SLU_FIELD_UUID:
        slu_buffer_puts(out, "a UUID, such as 123e4567-e89b-42d3-a456-426614174000");
        return;
    case SLU_FIELD_INT:
        slu_buffer_printf(out, "between %lld and %lld", (long long) field->min,
                          (long long) field->max);
        return;
    case SLU_FIELD_BOOL:
        slu_buffer_puts(out, "true or false");
        return;
    case SLU_FIELD_ENUM:
        slu_buffer_puts(out, "one of ");
        for (const char *const *name = field->names; *name; name++)
            slu_buffer_printf(out, "%s%s", name == field->names ? "" : ", ", *name);
        return;
    case SLU_FIELD_OBJECT:
        slu_buffer_puts(out, field->fields ? "an object with the fields " : "an object");
        if (field->fields)
            append_field_names(out, field->fields);
        return;
    case SLU_FIELD_ARRAY:
        slu_buffer_puts(out, "a list of ");
        append_range(out, field, "members");
        return;
    case SLU_FIELD_MAP:
        slu_buffer_puts(out, "an object of ");
        append_range(out, field, "texts");
        return;
    case SLU_FIELD_ANY:
        slu_buffer_printf(out, "an object of at most %lld bytes, nested at most %d deep",
                          (long long) field->max, ANY_DEPTH_MAX);
        return;
    }
}

static bool
refuse_by_rule(const struct slu_field *field,
               const json_t *value,
               const struct spot *spot,
               struct slu_refusal *ret)
{
    SLU_AUTO_BUFFER struct slu_buffer rule = {0};
    if (field->type == SLU_FIELD_INT && !json_is_integer(value))
        slu_buffer_puts(&rule, "a whole number ");
    append_rule(&rule, field);

    const struct slu_member_path path = path_of_spot(spot);
    return refuse_shown(ret, path.text, value, spot_says_secret(spot), rule.data);
}

static bool
refuse_missing(const struct slu_field *field, const struct spot *spot, struct slu_refusal *ret)
{
    SLU_AUTO_BUFFER struct slu_buffer rule = {0};
    append_rule(&rule, field);
    const struct slu_member_path path = path_of_spot(spot);
    return slu_refuse(ret, SLU_CODE_INVALID, path.text, "missing: %s must be %s", field->name,
                      rule.data);
}

static bool
refuse_unknown(const struct slu_field *fields, const struct spot *spot, struct slu_refusal *ret)
{
    SLU_AUTO_BUFFER struct slu_buffer known = {0};
    append_field_names(&known, fields);
    const struct slu_member_path path = path_of_spot(spot);
    return slu_refuse(ret, SLU_CODE_INVALID, path.text, "unknown field; known fields are %s",
                      known.data);
}

/* A check writes its own path, so it is asked without one first: text is made only to refuse. */
static bool
passes(const struct slu_field *field,
       const json_t *value,
       const struct spot *spot,
       struct slu_refusal *ret)
{
    if (!field->check || field->check(value, "", ret))
        return true;

    const struct slu_member_path path = path_of_spot(spot);
    const bool again = field->check(value, path.text, ret);
    assert(!again);
    return again;
}

/* --- plain values
 * --------------------------------------------------------------------------------- */

static bool
text_fits(const struct slu_field *field, const json_t *value)
{
    if (!json_is_string(value))
        return false;
    const size_t bytes = json_string_length(value);
    const size_t size = field->in_bytes ? bytes : slu_utf8_count(json_string_value(value), bytes);
    return size >= (size_t) field->min && size <= (size_t) field->max;
}

static bool
is_id(const json_t *value)
{
    return json_is_string(value) &&
           slu_id_valid(json_string_value(value), json_string_length(value));
}

static bool
is_in_range(const struct slu_field *field, const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= field->min &&
           json_integer_value(value) <= field->max;
}

static bool
is_one_of(const char *const *names, const json_t *value)
{
    if (!json_is_string(value))
        return false;
    for (; *names; names++) {
        if (strcmp(*names, json_string_value(value)) == 0)
            return true;
    }
    return false;
}

/* UUIDs are written in lower case, so that one identity has one spelling. NULL: it is none. */
static json_t *
decode_uuid(const json_t *value)
{
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    if (!json_is_string(value) || json_string_length(value) != sizeof(shape) - 1)
        return NULL;

    char lower[sizeof(shape)];
    const char *text = json_string_value(value);
    for (size_t i = 0; i < sizeof(shape) - 1; i++) {
        const char c = text[i];
        const bool is_digit = c >= '0' && c <= '9';
        const bool is_upper = c >= 'A' && c <= 'F';
        const bool is_hex = is_digit || is_upper || (c >= 'a' && c <= 'f');
        if (shape[i] == '-' ? c != '-' : !is_hex)
            return NULL;
        lower[i] = is_upper ? (char) (c - 'A' + 'a') : c;
    }
    return json_stringn_nocheck(lower, sizeof(shape) - 1);
}

/* --- objects without a table: members sorted, so that equal content has equal bytes
 * ---------------- */

static int
compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static const char **
sorted_names(const json_t *object)
{
    const char **names = slu_alloc((json_object_size(object) + 1) * sizeof(*names));
    size_t count = 0;
    json_t *lent = slu_json_lend(object);
    for (void *at = json_object_iter(lent); at; at = json_object_iter_next(lent, at))
        names[count++] = json_object_iter_key(at);
    qsort(names, count, sizeof(*names), compare_names);
    return names;
}

static json_t *sort_any(const json_t *value, int depth_left);

static json_t * // NOLINTNEXTLINE(misc-no-recursion): depth_left bounds it.
sort_members(const json_t *object, int depth_left)
{
    json_t *sorted = json_object();
    const char **names = sorted_names(object);
    for (size_t i = 0; sorted && names[i]; i++) {
        json_t *member = sort_any(json_object_get(object, names[i]), depth_left - 1);
        if (!member) {
            json_decref(sorted);
            sorted = NULL;
        } else {
            json_object_set_new_nocheck(sorted, names[i], member);
        }
    }
    free(names);
    return sorted;
}

/* A copy of `value` with all members in order; NULL when it is nested too deep. */
static json_t * // NOLINTNEXTLINE(misc-no-recursion): depth_left bounds it.
sort_any(const json_t *value, int depth_left)
{
    if (!json_is_object(value) && !json_is_array(value))
        return json_incref(slu_json_lend(value));
    if (depth_left == 0)
        return NULL;
    if (json_is_object(value))
        return sort_members(value, depth_left);

    json_t *list = json_array();
    for (size_t i = 0; list && i < json_array_size(value); i++) {
        json_t *member = sort_any(json_array_get(value, i), depth_left - 1);
        if (!member) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, member);
    }
    return list;
}

static json_t *
decode_any(const struct slu_field *field, const json_t *value)
{
    if (!json_is_object(value))
        return NULL;
    if (json_dumpb(value, NULL, 0, JSON_COMPACT) > (size_t) field->max)
        return NULL;
    return sort_any(value, ANY_DEPTH_MAX);
}

/* --- the walk
 * ------------------------------------------------------------------------------------- */

static json_t *decode_value(const struct slu_field *field,
                            const json_t *value,
                            const struct spot *spot,
                            struct slu_refusal *ret);

/* Members mostly come in table order: the row behind the last one found is tried first. */
static int
find_field(const struct slu_field *fields, const char *name, int expected)
{
    if (fields[expected].name && strcmp(fields[expected].name, name) == 0)
        return expected;
    for (int i = 0; fields[i].name; i++) {
        if (strcmp(fields[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* Sorts the members of `object` into `found`, one slot per row. */
static bool
find_members(const struct slu_field *fields,
             const json_t *object,
             const struct spot *spot,
             const json_t *found[FIELDS_MAX],
             struct slu_refusal *ret)
{
    json_t *lent = slu_json_lend(object);
    int expected = 0;
    for (void *at = json_object_iter(lent); at; at = json_object_iter_next(lent, at)) {
        const char *name = json_object_iter_key(at);
        const int row = find_field(fields, name, expected);
        if (row < 0) {
            const struct spot unknown = {.parent = spot, .name = name};
            return refuse_unknown(fields, &unknown, ret);
        }
        found[row] = json_object_iter_value(at);
        expected = row + 1;
    }
    return true;
}

/* The default of a row: the same text gives the same value in every document. */
static json_t * // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
decode_fallback(const struct slu_field *field, const struct spot *spot, struct slu_refusal *ret)
{
    const char *text = field->fallback;
    if (text[0] == '"')
        return json_stringn_nocheck(text + 1, strlen(text) - 2);
    if (text[0] == 't' || text[0] == 'f')
        return json_boolean(text[0] == 't');
    if (text[0] >= '0' && text[0] <= '9')
        return json_integer(strtoll(text, NULL, 10));
    if (text[0] == '[')
        return json_array(); /* No list has another default. */

    json_t *value = strcmp(text, "{}") == 0 ? json_object() : json_loads(text, 0, NULL);
    assert(value);
    json_t *decoded = decode_value(field, value, spot, ret);
    json_decref(value);
    return decoded;
}

/* Decodes one row's member into `object`; nothing happens where it is absent and may be. */
static bool // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
decode_member(const struct slu_field *field,
              const json_t *value,
              const struct spot *parent,
              json_t *object,
              struct slu_refusal *ret)
{
    const struct spot spot = {.parent = parent, .name = field->name};
    const bool is_null = json_is_null(value) && field->type != SLU_FIELD_NULLABLE_ID;
    json_t *decoded;

    if (value && !is_null) {
        decoded = decode_value(field, value, &spot, ret);
    } else {
        if (is_null && (field->required || field->fallback))
            return refuse_by_rule(field, value, &spot, ret);
        if (field->required)
            return refuse_missing(field, &spot, ret);
        if (!field->fallback)
            return true;
        decoded = decode_fallback(field, &spot, ret);
    }
    if (!decoded)
        return false;
    json_object_set_new_nocheck(object, field->name, decoded);
    return true;
}

static json_t * // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
decode_object(const struct slu_field *fields,
              const json_t *value,
              const struct spot *spot,
              struct slu_refusal *ret)
{
    const json_t *found[FIELDS_MAX] = {0};
    if (!find_members(fields, value, spot, found, ret))
        return NULL;

    json_t *object = json_object();
    bool good = object;
    const struct slu_field *field = fields;
    for (; good && field->name; field++)
        good = decode_member(field, found[field - fields], spot, object, ret);
    if (good && passes(field, object, spot, ret)) /* The row that ends the table. */
        return object;
    json_decref(object);
    return NULL;
}

static bool
is_new_member(const json_t *list,
              const json_t *member,
              const struct spot *spot,
              struct slu_refusal *ret)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!json_equal(json_array_get(list, i), member))
            continue;
        const struct slu_member_path path = path_of_spot(spot);
        return slu_refuse(ret, SLU_CODE_INVALID, path.text,
                          "the same as member %zu: each may be there once", i);
    }
    return true;
}

static json_t * // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
decode_array(const struct slu_field *field,
             const json_t *value,
             const struct spot *spot,
             struct slu_refusal *ret)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < json_array_size(value); i++) {
        const struct spot at = {.parent = spot, .index = i};
        json_t *member = decode_value(field->element, json_array_get(value, i), &at, ret);
        if (!member || (field->unique && !is_new_member(list, member, &at, ret))) {
            json_decref(member);
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, member);
    }
    return list;
}

static bool // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
name_fits(const struct slu_field *field,
          const char *name,
          const struct spot *spot,
          struct slu_refusal *ret)
{
    if (!field->key)
        return true;
    json_t *text = json_string(name);
    json_t *decoded = decode_value(field->key, text, spot, ret);
    json_decref(text);
    json_decref(decoded);
    return decoded;
}

static json_t * // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
decode_map(const struct slu_field *field,
           const json_t *value,
           const struct spot *spot,
           struct slu_refusal *ret)
{
    json_t *map = json_object();
    if (json_object_size(value) == 0)
        return map;

    const char **names = sorted_names(value);
    bool good = map;
    for (size_t i = 0; good && names[i]; i++) {
        const struct spot at = {.parent = spot, .name = names[i]};
        json_t *member = NULL;
        if (name_fits(field, names[i], &at, ret))
            member = decode_value(field->element, json_object_get(value, names[i]), &at, ret);
        good = member;
        if (good)
            json_object_set_new_nocheck(map, names[i], member);
    }
    free(names);
    if (good)
        return map;
    json_decref(map);
    return NULL;
}

static bool
count_fits(const struct slu_field *field, size_t count)
{
    return count >= (size_t) field->min && count <= (size_t) field->max;
}

/* The value by its type alone; NULL without a refusal: `field`'s rule says what is wrong. */
static json_t * // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
decode_by_type(const struct slu_field *field,
               const json_t *value,
               const struct spot *spot,
               struct slu_refusal *ret)
{
    bool good = false;
    switch (field->type) {
    case SLU_FIELD_TEXT:
        good = text_fits(field, value);
        break;
    case SLU_FIELD_ID:
        good = is_id(value);
        break;
    case SLU_FIELD_NULLABLE_ID:
        good = json_is_null(value) || is_id(value);
        break;
    case SLU_FIELD_UUID:
        return decode_uuid(value);
    case SLU_FIELD_INT:
        good = is_in_range(field, value);
        break;
    case SLU_FIELD_BOOL:
        good = json_is_boolean(value);
        break;
    case SLU_FIELD_ENUM:
        good = is_one_of(field->names, value);
        break;
    case SLU_FIELD_OBJECT:
        if (json_is_object(value) && field->fields)
            return decode_object(field->fields, value, spot, ret);
        good = json_is_object(value) && !field->fields;
        break;
    case SLU_FIELD_ARRAY:
        if (json_is_array(value) && count_fits(field, json_array_size(value)))
            return decode_array(field, value, spot, ret);
        break;
    case SLU_FIELD_MAP:
        if (json_is_object(value) && count_fits(field, json_object_size(value)))
            return decode_map(field, value, spot, ret);
        break;
    case SLU_FIELD_ANY:
        return decode_any(field, value);
    }
    return good ? json_incref(slu_json_lend(value))
                : NULL; /* Plain values are shared, not copied. */
}

static json_t * // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
decode_value(const struct slu_field *field,
             const json_t *value,
             const struct spot *spot,
             struct slu_refusal *ret)
{
    ret->code = SLU_CODE_NONE;
    json_t *decoded = decode_by_type(field, value, spot, ret);
    if (!decoded) {
        if (ret->code == SLU_CODE_NONE)
            refuse_by_rule(field, value, spot, ret);
        return NULL;
    }
    if (passes(field, decoded, spot, ret))
        return decoded;
    json_decref(decoded);
    return NULL;
}

json_t *
slu_fields_decode(const struct slu_field *fields,
                  const json_t *value,
                  const char *path,
                  struct slu_refusal *ret)
{
    const struct slu_field whole = {.type = SLU_FIELD_OBJECT, .fields = fields};
    const struct spot spot = {.name = path};
    return decode_value(&whole, value, &spot, ret);
}

/* --- changes
 * -------------------------------------------------------------------------------------- */

struct change {
    bool (*has_capability)(void *context, const char *capability);
    void *context;
    struct slu_refusal *ret;
};

static bool
refuse_change(const struct change *change, const struct slu_field *field, const struct spot *spot)
{
    const struct slu_member_path path = path_of_spot(spot);
    if (field->mutability == SLU_MUTABLE_BY_CAPABILITY) {
        return slu_refuse(change->ret, SLU_CODE_CAPABILITY_UNSUPPORTED, path.text,
                          "it cannot be changed: the provider has no capability %s",
                          field->capability);
    }
    return slu_refuse(change->ret, SLU_CODE_INVALID, path.text,
                      field->mutability == SLU_SET_ONCE
                          ? "it must not be changed once it is set: send it as it was accepted"
                          : "it must not be changed: send it as it was accepted");
}

static bool // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
may_follow(const struct slu_field *fields,
           const json_t *before,
           const json_t *next,
           const struct spot *parent,
           const struct change *change)
{
    for (const struct slu_field *field = fields; field->name; field++) {
        const json_t *was = json_object_get(before, field->name);
        const json_t *is = json_object_get(next, field->name);
        if (was == is || (was && is && json_equal(was, is)))
            continue;

        const struct spot spot = {.parent = parent, .name = field->name};
        bool allowed = false;
        switch (field->mutability) {
        case SLU_MUTABLE:
            allowed = true;
            if (field->type == SLU_FIELD_OBJECT && field->fields &&
                !may_follow(field->fields, was, is, &spot, change))
                return false;
            break;
        case SLU_BY_KIND:
            allowed = true;
            break;
        case SLU_MUTABLE_BY_CAPABILITY:
            allowed = change->has_capability &&
                      change->has_capability(change->context, field->capability);
            break;
        case SLU_SET_ONCE:
            allowed = !was;
            break;
        case SLU_IMMUTABLE:
            break;
        }
        if (!allowed)
            return refuse_change(change, field, &spot);
    }
    return true;
}

bool // NOLINTNEXTLINE(readability-function-size): what was, what comes, and why not.
slu_fields_may_follow(const struct slu_field *fields,
                      const json_t *before,
                      const json_t *next,
                      const char *path,
                      bool (*has_capability)(void *context, const char *capability),
                      void *context,
                      struct slu_refusal *ret)
{
    const struct change change = {has_capability, context, ret};
    const struct spot spot = {.name = path};
    return may_follow(fields, before, next, &spot, &change);
}
