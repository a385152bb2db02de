/* SPDX-License-Identifier: Apache-2.0 */
/* Which kinds have a table, and the envelope's rows (contract-map §3.0). The envelope's behaviour
 * is in test_document.c. */
#include "unit/model/decode_support.h"

static void
test_served_kinds_have_a_table_and_the_others_none(void **state)
{
    (void) state;
    for (int kind = 0; kind < SLU_KIND_COUNT; kind++)
        assert_int_equal(slu_spec_fields((enum slu_kind) kind) != NULL, slu_kinds[kind].served);
    assert_null(slu_spec_fields(SLU_KIND_COUNT));
}

static void
test_a_child_names_its_root_by_a_required_fixed_id(void **state)
{
    (void) state;
    for (int kind = 0; kind < SLU_KIND_COUNT; kind++) {
        const struct slu_field *row = slu_spec_fields((enum slu_kind) kind);
        if (!row || !slu_kinds[kind].root_field)
            continue;
        while (row->name && strcmp(row->name, slu_kinds[kind].root_field) != 0)
            row++;
        assert_non_null(row->name);
        assert_int_equal(row->type, SLU_FIELD_ID);
        assert_true(row->required);
        assert_int_equal(row->mutability, SLU_IMMUTABLE);
    }
}

static void
test_the_envelopes_kinds_are_those_served(void **state)
{
    (void) state;
    size_t count = 0;
    for (const char *const *name = slu_envelope_fields[0].names; *name; name++, count++)
        assert_true(slu_kinds[slu_kind_of_document_word(*name)].served);
    for (int kind = 0; kind < SLU_KIND_COUNT; kind++)
        count -= slu_kinds[kind].served;
    assert_int_equal(count, 0);
}

static void
test_the_envelopes_members_are_the_contract_maps(void **state)
{
    (void) state;

    static const struct {
        const char *name;
        bool required;
    } rows[] = {
        {"kind", true},          {"id", true},     {"scope", true}, {"generation", false},
        {"ifGeneration", false}, {"actor", false}, {"spec", true},
    };

    for (size_t i = 0; i < SLU_COUNT(rows); i++) {
        assert_string_equal(slu_envelope_fields[i].name, rows[i].name);
        assert_int_equal(slu_envelope_fields[i].required, rows[i].required);
        assert_null(slu_envelope_fields[i].fallback);
    }
    assert_null(slu_envelope_fields[SLU_COUNT(rows)].name);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_served_kinds_have_a_table_and_the_others_none),
        cmocka_unit_test(test_a_child_names_its_root_by_a_required_fixed_id),
        cmocka_unit_test(test_the_envelopes_kinds_are_those_served),
        cmocka_unit_test(test_the_envelopes_members_are_the_contract_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
