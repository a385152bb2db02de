/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of single changes to a valid spec, each allowed or refused. A row reads: at this place,
 * this value → nothing to say, or this path and this part of the message. */
#ifndef SLU_TESTS_UNIT_MODEL_DECODE_SUPPORT_H
#define SLU_TESTS_UNIT_MODEL_DECODE_SUPPORT_H

#include "slu/base/buffer.h"
#include "slu/model/document.h"
#include "slu/model/fields.h"

#include <jansson.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* `value` is JSON, or one of the short forms for what is long:
 *   *128          a text of 128 letters
 *   #65 {"a":%d}  a list of 65 members, %d counting from 0
 *   @65 "v"       an object of 65 members k0, k1, … with this value
 * NULL takes the member away. */
struct slu_change_case {
    const char *where; /* "resources.cpuCount", "owners": below the spec. */
    const char *value;
    const char *refused_path; /* NULL: allowed. */
    const char *message;      /* Part of it; NULL: any. */
};

[[maybe_unused]] static json_t *
parse_json(const char *text)
{
    json_error_t where;
    json_t *value = json_loads(text, JSON_DECODE_ANY, &where);
    if (!value)
        fail_msg("%s: %s", text, where.text);
    return value;
}

[[maybe_unused]] static void
write_letters(struct slu_buffer *out, long count)
{
    slu_buffer_putc(out, '"');
    for (long i = 0; i < count; i++)
        slu_buffer_putc(out, 'a');
    slu_buffer_putc(out, '"');
}

[[maybe_unused]] static void
write_list(struct slu_buffer *out, long count, const char *member)
{
    const char *mark = strstr(member, "%d");
    slu_buffer_putc(out, '[');
    for (long i = 0; i < count; i++) {
        slu_buffer_puts(out, i ? "," : "");
        slu_buffer_append(out, member, mark ? (size_t) (mark - member) : strlen(member));
        if (mark)
            slu_buffer_printf(out, "%ld%s", i, mark + 2);
    }
    slu_buffer_putc(out, ']');
}

[[maybe_unused]] static void
write_map(struct slu_buffer *out, long count, const char *member)
{
    slu_buffer_putc(out, '{');
    for (long i = 0; i < count; i++)
        slu_buffer_printf(out, "%s\"k%ld\":%s", i ? "," : "", i, member);
    slu_buffer_putc(out, '}');
}

[[maybe_unused]] static json_t *
read_value(const char *text)
{
    const char *rest = strchr(text, ' ');
    const long count = strtol(text + 1, NULL, 10);
    struct slu_buffer out = {0};

    if (text[0] == '*')
        write_letters(&out, count);
    else if (text[0] == '#')
        write_list(&out, count, rest);
    else if (text[0] == '@')
        write_map(&out, count, rest);
    else
        slu_buffer_puts(&out, text);
    json_t *value = parse_json(out.data);
    slu_buffer_done(&out);
    return value;
}

/* Puts `value` at the dotted place, making the objects on the way. */
[[maybe_unused]] static void
change_member(json_t *object, const char *where, const char *value)
{
    char name[128];
    const char *dot;
    while ((dot = strchr(where, '.'))) {
        snprintf(name, sizeof(name), "%.*s", (int) (dot - where), where);
        if (!json_object_get(object, name))
            json_object_set_new(object, name, json_object());
        object = json_object_get(object, name);
        where = dot + 1;
    }
    if (value)
        json_object_set_new(object, where, read_value(value));
    else
        json_object_del(object, where);
}

[[maybe_unused]] static void
check_change(enum slu_kind kind, const char *valid_spec, const struct slu_change_case *row)
{
    json_t *spec = parse_json(valid_spec);
    change_member(spec, row->where, row->value);

    struct slu_refusal refusal = {0};
    json_t *decoded = slu_fields_decode(slu_spec_fields(kind), spec, "spec", &refusal);
    if (decoded && row->refused_path)
        fail_msg("%s = %s is allowed", row->where, row->value);
    if (!decoded && !row->refused_path)
        fail_msg("%s = %s: %s", row->where, row->value, refusal.message);
    if (!decoded) {
        assert_int_equal(refusal.code, SLU_CODE_INVALID);
        assert_string_equal(refusal.path, row->refused_path);
        if (row->message && !strstr(refusal.message, row->message))
            fail_msg("%s = %s: \"%s\" says nothing of \"%s\"", row->where, row->value,
                     refusal.message, row->message);
    }
    json_decref(decoded);
    json_decref(spec);
}

[[maybe_unused]] static void
check_changes(enum slu_kind kind,
              const char *valid_spec,
              const struct slu_change_case *rows,
              size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_change(kind, valid_spec, &rows[i]);
}

/* A valid spec gives exactly these canonical bytes, which decode to themselves. */
[[maybe_unused]] static void
check_canonical(enum slu_kind kind, const char *spec_text, const char *canonical)
{
    json_t *spec = parse_json(spec_text);
    struct slu_refusal refusal = {0};
    json_t *decoded = slu_fields_decode(slu_spec_fields(kind), spec, "spec", &refusal);
    if (!decoded)
        fail_msg("%s: %s", spec_text, refusal.message);

    char *text = slu_spec_text(decoded, NULL);
    assert_string_equal(text, canonical);
    json_t *again = slu_fields_decode(slu_spec_fields(kind), decoded, "spec", &refusal);
    assert_non_null(again);
    char *text_again = slu_spec_text(again, NULL);
    assert_string_equal(text_again, canonical);

    free(text_again);
    free(text);
    json_decref(again);
    json_decref(decoded);
    json_decref(spec);
}

[[maybe_unused]] static bool
has_no_capability(void *context, const char *capability)
{
    (void) context;
    (void) capability;
    return false;
}

[[maybe_unused]] static bool
has_every_capability(void *context, const char *capability)
{
    (void) context;
    (void) capability;
    return true;
}

/* What a later generation may do: from the valid spec with `before`, to the one with `next`. */
struct slu_follow_case {
    const char *where;
    const char *before; /* NULL: absent. */
    const char *next;
    enum slu_code code;       /* SLU_CODE_NONE: allowed even without any capability. */
    const char *refused_path; /* NULL with a code: spec.<where>. */
};

[[maybe_unused]] static void
check_follow(enum slu_kind kind, const char *valid_spec, const struct slu_follow_case *row)
{
    const struct slu_field *fields = slu_spec_fields(kind);
    json_t *specs[2], *decoded[2];
    struct slu_refusal refusal = {0};
    for (int i = 0; i < 2; i++) {
        specs[i] = parse_json(valid_spec);
        change_member(specs[i], row->where, i == 0 ? row->before : row->next);
        decoded[i] = slu_fields_decode(fields, specs[i], "spec", &refusal);
        if (!decoded[i])
            fail_msg("%s: %s", row->where, refusal.message);
    }

    const bool allowed = slu_fields_may_follow(fields, decoded[0], decoded[1], "spec",
                                               has_no_capability, NULL, &refusal);
    if (allowed != (row->code == SLU_CODE_NONE))
        fail_msg("%s: %s → %s is %s", row->where, row->before, row->next,
                 allowed ? "allowed" : refusal.message);
    if (!allowed) {
        char path[256];
        snprintf(path, sizeof(path), "spec.%s", row->where);
        assert_int_equal(refusal.code, row->code);
        assert_string_equal(refusal.path, row->refused_path ? row->refused_path : path);
    }
    if (row->code == SLU_CODE_CAPABILITY_UNSUPPORTED)
        assert_true(slu_fields_may_follow(fields, decoded[0], decoded[1], "spec",
                                          has_every_capability, NULL, &refusal));

    for (int i = 0; i < 2; i++) {
        json_decref(specs[i]);
        json_decref(decoded[i]);
    }
}

[[maybe_unused]] static void
check_follows(enum slu_kind kind,
              const char *valid_spec,
              const struct slu_follow_case *rows,
              size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_follow(kind, valid_spec, &rows[i]);
}

#endif
