/* SPDX-License-Identifier: Apache-2.0 */
/* The machinery of tables: what each type of row takes, at, below and above its bounds, for every
 * row of every served kind, and the shapes of refusals. The tables themselves are checked by hand
 * in test_fields_<kind>.c. */
#include "unit/model/decode_support.h"

static bool
row_takes(const struct slu_field *row, json_t *value, struct slu_refusal *ret)
{
    struct slu_field alone[] = {*row, {0}};
    alone[0].name = "x";
    alone[0].check = NULL;
    json_t *object = json_object();
    json_object_set_new(object, "x", value);
    json_t *decoded = slu_fields_decode(alone, object, "", ret);
    const bool taken = decoded;
    json_decref(decoded);
    json_decref(object);
    return taken;
}

static json_t *
text_of(int64_t size, const char *character)
{
    struct slu_buffer text = {0};
    for (int64_t i = 0; i < size; i++)
        slu_buffer_puts(&text, character);
    json_t *value = json_string(text.data ? text.data : "");
    slu_buffer_done(&text);
    return value;
}

static void
check_int_row(const struct slu_field *row)
{
    struct slu_refusal refusal;
    assert_true(row->min >= 0);
    assert_true(row->max <= INT64_C(9007199254740991));
    assert_true(row_takes(row, json_integer(row->min), &refusal));
    assert_true(row_takes(row, json_integer(row->max), &refusal));
    assert_false(row_takes(row, json_integer(row->min - 1), &refusal));
    assert_false(row_takes(row, json_integer(row->max + 1), &refusal));
    assert_false(row_takes(row, json_real((double) row->min), &refusal));
    assert_false(row_takes(row, json_string("1"), &refusal));
    assert_false(row_takes(row, json_true(), &refusal));
}

static void
check_text_row(const struct slu_field *row)
{
    struct slu_refusal refusal;
    assert_true(row->max > 0);
    assert_true(row_takes(row, text_of(row->min, "a"), &refusal));
    assert_true(row_takes(row, text_of(row->max, "a"), &refusal));
    assert_false(row_takes(row, text_of(row->max + 1, "a"), &refusal));
    assert_int_equal(row_takes(row, text_of(row->max, "é"), &refusal), !row->in_bytes);
    if (row->min > 0)
        assert_false(row_takes(row, text_of(row->min - 1, "a"), &refusal));
    assert_false(row_takes(row, json_integer(1), &refusal));
}

static void
check_enum_row(const struct slu_field *row)
{
    struct slu_refusal refusal;
    for (const char *const *name = row->names; *name; name++) {
        assert_true(row_takes(row, json_string(*name), &refusal));
        char longer[64];
        snprintf(longer, sizeof(longer), "%sx", *name);
        assert_false(row_takes(row, json_string(longer), &refusal));
    }
    assert_false(row_takes(row, json_string(""), &refusal));
    assert_false(row_takes(row, json_integer(0), &refusal));
}

static void
check_id_row(const struct slu_field *row)
{
    struct slu_refusal refusal;
    assert_true(row_takes(row, text_of(128, "a"), &refusal));
    assert_false(row_takes(row, text_of(129, "a"), &refusal));
    assert_false(row_takes(row, json_string(""), &refusal));
    assert_false(row_takes(row, json_string("a/b"), &refusal));
    assert_false(row_takes(row, json_integer(7), &refusal));
    if (row->type == SLU_FIELD_NULLABLE_ID)
        assert_true(row_takes(row, json_null(), &refusal));
}

static int rows_seen;

static void // NOLINTNEXTLINE(misc-no-recursion): as deep as the tables.
check_row(const struct slu_field *row)
{
    rows_seen++;
    struct slu_refusal refusal;
    const bool is_object =
        row->type == SLU_FIELD_OBJECT || row->type == SLU_FIELD_MAP || row->type == SLU_FIELD_ANY;
    if (!is_object)
        assert_false(row_takes(row, json_object(), &refusal));
    if (row->type != SLU_FIELD_ARRAY)
        assert_false(row_takes(row, json_array(), &refusal));

    switch (row->type) {
    case SLU_FIELD_INT:
        check_int_row(row);
        break;
    case SLU_FIELD_TEXT:
        check_text_row(row);
        break;
    case SLU_FIELD_ENUM:
        check_enum_row(row);
        break;
    case SLU_FIELD_ID:
    case SLU_FIELD_NULLABLE_ID:
        check_id_row(row);
        break;
    case SLU_FIELD_BOOL:
        assert_true(row_takes(row, json_false(), &refusal));
        assert_false(row_takes(row, json_integer(0), &refusal));
        break;
    case SLU_FIELD_ARRAY:
    case SLU_FIELD_MAP:
        check_row(row->element);
        break;
    case SLU_FIELD_OBJECT:
        for (const struct slu_field *member = row->fields; member && member->name; member++)
            check_row(member);
        break;
    case SLU_FIELD_UUID:
    case SLU_FIELD_ANY:
        break;
    }
}

static void
test_every_row_keeps_its_bounds(void **state)
{
    (void) state;
    rows_seen = 0;
    for (int kind = 0; kind < SLU_KIND_COUNT; kind++) {
        const struct slu_field *fields = slu_spec_fields((enum slu_kind) kind);
        assert_int_equal(fields != NULL, slu_kinds[kind].served);
        for (const struct slu_field *row = fields; row && row->name; row++)
            check_row(row);
    }
    for (const struct slu_field *row = slu_envelope_fields; row->name; row++)
        check_row(row);
    assert_true(rows_seen > 100);
}

/* A default that its own row refuses would make every document without the member invalid. */
static void
test_defaults_pass_their_own_rows(void **state)
{
    (void) state;
    static const struct slu_field rows[] = {
        {.name = "text", .type = SLU_FIELD_TEXT, .max = 3, .fallback = "\"abc\""},
        {.name = "flag", .type = SLU_FIELD_BOOL, .fallback = "true"},
        {.name = "number", .type = SLU_FIELD_INT, .max = 9, .fallback = "7"},
        {.name = "list", .type = SLU_FIELD_ARRAY, .max = 1, .fallback = "[]"},
        {.name = "absent", .type = SLU_FIELD_ID},
        {0},
    };
    json_t *empty = json_object();
    struct slu_refusal refusal;
    json_t *decoded = slu_fields_decode(rows, empty, "", &refusal);
    assert_non_null(decoded);
    char *text = slu_spec_text(decoded, NULL);
    assert_string_equal(text, "{\"text\":\"abc\",\"flag\":true,\"number\":7,\"list\":[]}");
    free(text);
    json_decref(decoded);
    json_decref(empty);
}

/* Contract-map N4. */
static void
test_null_is_absent_only_where_nothing_stands_in_for_it(void **state)
{
    (void) state;

    static const struct {
        const char *description;
        struct slu_field row;
        bool taken;
    } cases[] = {
        {"optional", {.type = SLU_FIELD_ID}, true},
        {"optional object", {.type = SLU_FIELD_OBJECT}, true},
        {"with default", {.type = SLU_FIELD_BOOL, .fallback = "true"}, false},
        {"required", {.type = SLU_FIELD_ID, .required = true}, false},
        {"nullable", {.type = SLU_FIELD_NULLABLE_ID, .required = true}, true},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct slu_refusal refusal;
        if (row_takes(&cases[i].row, json_null(), &refusal) != cases[i].taken)
            fail_msg("%s", cases[i].description);
    }
}

static void
test_an_optional_null_is_not_written(void **state)
{
    (void) state;
    static const struct slu_field rows[] = {{.name = "x", .type = SLU_FIELD_ID}, {0}};
    json_t *object = json_pack("{s:n}", "x");
    struct slu_refusal refusal;
    json_t *decoded = slu_fields_decode(rows, object, "", &refusal);
    assert_int_equal(json_object_size(decoded), 0);
    json_decref(decoded);
    json_decref(object);
}

static void
test_the_first_wrong_member_is_named_by_its_whole_path(void **state)
{
    (void) state;
    static const struct slu_field inner[] = {{.name = "n", .type = SLU_FIELD_INT, .max = 9}, {0}};
    static const struct slu_field element = {.type = SLU_FIELD_OBJECT, .fields = inner};
    static const struct slu_field rows[] = {
        {.name = "list", .type = SLU_FIELD_ARRAY, .max = 9, .element = &element},
        {0},
    };
    json_t *object = parse_json("{\"list\":[{\"n\":1},{\"n\":10}]}");
    struct slu_refusal refusal;
    assert_null(slu_fields_decode(rows, object, "root", &refusal));
    assert_string_equal(refusal.path, "root.list[1].n");
    assert_string_equal(refusal.message,
                        "root.list[1].n: 10 is not allowed: n must be between 0 and 9");
    json_decref(object);
}

static void
test_what_is_decoded_is_not_the_input(void **state)
{
    (void) state;
    json_t *spec =
        parse_json("{\"placement\":{\"computer\":\"c\"},\"ttlMs\":1000,\"profile\":{\"a\":\"b\"}}");
    json_t *copy = json_deep_copy(spec);
    struct slu_refusal refusal;
    json_t *decoded = slu_fields_decode(slu_spec_fields(SLU_KIND_SANDBOX), spec, "spec", &refusal);
    json_object_clear(json_object_get(decoded, "profile"));
    json_object_set_new(json_object_get(decoded, "placement"), "computer", json_string("other"));
    assert_true(json_equal(spec, copy));
    json_decref(decoded);
    json_decref(copy);
    json_decref(spec);
}

static bool
refuse_all(const json_t *value, const char *path, struct slu_refusal *ret)
{
    return slu_refuse(ret, SLU_CODE_INVALID, path, "%zu members", json_object_size(value));
}

static void
test_the_last_row_checks_the_whole_object(void **state)
{
    (void) state;
    static const struct slu_field rows[] = {
        {.name = "a", .type = SLU_FIELD_BOOL, .fallback = "true"},
        {.check = refuse_all},
    };
    json_t *empty = json_object();
    struct slu_refusal refusal;
    assert_null(slu_fields_decode(rows, empty, "root", &refusal));
    assert_string_equal(refusal.message, "root: 1 members"); /* Decoded, with its default. */
    json_decref(empty);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_keeps_its_bounds),
        cmocka_unit_test(test_defaults_pass_their_own_rows),
        cmocka_unit_test(test_null_is_absent_only_where_nothing_stands_in_for_it),
        cmocka_unit_test(test_an_optional_null_is_not_written),
        cmocka_unit_test(test_the_first_wrong_member_is_named_by_its_whole_path),
        cmocka_unit_test(test_what_is_decoded_is_not_the_input),
        cmocka_unit_test(test_the_last_row_checks_the_whole_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
