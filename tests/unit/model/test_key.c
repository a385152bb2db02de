/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of every kind (contract-map §3.0), and what is no key. */
#include "slu/base/hash.h"
#include "slu/base/macros.h"
#include "slu/model/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* clang-format off */
static const struct {
    const char *key;
    enum slu_kind kind;
    const char *document_word, *root_field;
    const char *root_key;
    bool served;
} kinds[] = {
    {"sandbox/a",            SLU_KIND_SANDBOX,          "Sandbox",         NULL,            "sandbox/a",    true},
    {"checkpoint/r/a",       SLU_KIND_CHECKPOINT,       "Checkpoint",      "sandboxId",     "sandbox/r",    true},
    {"activity/r/a",         SLU_KIND_ACTIVITY,         "Activity",        "sandboxId",     "sandbox/r",    true},
    {"snapshot/a",           SLU_KIND_SNAPSHOT,         "Snapshot",        NULL,            "snapshot/a",   true},
    {"computer/a",           SLU_KIND_COMPUTER,         "Computer",        NULL,            "computer/a",   false},
    {"computer-binding/r/a", SLU_KIND_COMPUTER_BINDING, "ComputerBinding", "computerId",    "computer/r",   false},
    {"space/a",              SLU_KIND_SPACE,            "Space",           NULL,            "space/a",      false},
    {"grant/r/a",            SLU_KIND_GRANT,            "Grant",           "spaceId",       "space/r",      false},
    {"session/r/a",          SLU_KIND_SESSION,          "Session",         "spaceId",       "space/r",      false},
    {"ticket/r/a",           SLU_KIND_TICKET,           "Ticket",          "spaceId",       "space/r",      false},
    {"lease/r/a",            SLU_KIND_LEASE,            "Lease",           "spaceId",       "space/r",      false},
    {"change-set/r/a",       SLU_KIND_CHANGE_SET,       "ChangeSet",       "targetSpaceId", "space/r",      false},
    {"delegation/a",         SLU_KIND_DELEGATION,       "Delegation",      NULL,            "delegation/a", false},
    {"template/r/a",         SLU_KIND_TEMPLATE,         "TemplateVersion", "templateId",    "template/r",   false},
};

/* clang-format on */

static void
test_every_kind_has_its_key_and_its_root(void **state)
{
    (void) state;
    assert_int_equal(SLU_COUNT(kinds) + 1, SLU_KIND_COUNT);
    for (size_t i = 0; i < SLU_COUNT(kinds); i++) {
        struct slu_key key;
        struct slu_refusal refusal;
        if (!slu_key_parse(kinds[i].key, strlen(kinds[i].key), &key, &refusal))
            fail_msg("%s: %s", kinds[i].key, refusal.message);
        assert_int_equal(key.kind, kinds[i].kind);
        assert_string_equal(key.id, "a");
        assert_string_equal(key.root_id, kinds[i].root_field ? "r" : "a");

        char written[SLU_KEY_MAX + 1];
        assert_int_equal(slu_key_write(&key, written, sizeof(written)), strlen(kinds[i].key));
        assert_string_equal(written, kinds[i].key);

        for (int n = 1; n <= 64; n++) {
            const uint32_t hash = slu_murmur2(kinds[i].root_key, strlen(kinds[i].root_key));
            assert_int_equal(slu_key_shard(&key, n), hash % (uint32_t) n);
        }
    }
}

static void
test_kinds_are_found_by_their_words(void **state)
{
    (void) state;
    for (size_t i = 0; i < SLU_COUNT(kinds); i++) {
        const struct slu_kind_row *row = &slu_kinds[kinds[i].kind];
        assert_string_equal(row->document_word, kinds[i].document_word);
        assert_int_equal(row->served, kinds[i].served);
        assert_int_equal(row->root_field == NULL, kinds[i].root_field == NULL);
        if (row->root_field)
            assert_string_equal(row->root_field, kinds[i].root_field);
        assert_int_equal(slu_kind_of_document_word(kinds[i].document_word), kinds[i].kind);
        assert_int_equal(slu_kind_of_key_word(kinds[i].key, strcspn(kinds[i].key, "/")),
                         kinds[i].kind);
    }
    assert_int_equal(slu_kind_of_document_word("sandbox"), SLU_KIND_NONE);
    assert_int_equal(slu_kind_of_document_word(""), SLU_KIND_NONE);
    assert_int_equal(slu_kind_of_key_word("Sandbox", 7), SLU_KIND_NONE);
    assert_int_equal(slu_kind_of_key_word("", 0), SLU_KIND_NONE);
}

static void
test_what_is_no_key_is_refused(void **state)
{
    (void) state;

    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } cases[] = {
        {NULL, 0, "a key must be 1 to 512 bytes"},
        {"", 0, "a key must be 1 to 512 bytes"},
        {"sandbox", 7, "a sandbox key must be sandbox/<id>"},
        {"sandbox/", 8, "1 to 128 characters"},
        {"sandbox/a/b", 11, "a sandbox key must be sandbox/<id>"},
        {"sandbox//a", 10, "a sandbox key must be sandbox/<id>"},
        {"/a", 2, "it begins with no kind"},
        {"Sandbox/a", 9, "it begins with no kind"},
        {"use/sandbox/a/b", 15, "it begins with no kind"},
        {"checkpoint/a", 12, "a checkpoint key must be checkpoint/<sandboxId>/<id>"},
        {"checkpoint//a", 13, "1 to 128 characters"},
        {"checkpoint/a/", 13, "1 to 128 characters"},
        {"checkpoint/a/b/c", 16, "a checkpoint key must be checkpoint/<sandboxId>/<id>"},
        {"sandbox/a b", 11, "1 to 128 characters"},
        {"sandbox/a\0b", 11, "1 to 128 characters"},
        {"sandbox/\xc3\xa9", 10, "1 to 128 characters"},
        {"sandbox/a\n", 10, "1 to 128 characters"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct slu_key key;
        struct slu_refusal refusal = {0};
        if (slu_key_parse(cases[i].bytes, cases[i].size, &key, &refusal))
            fail_msg("case %zu is a key", i);
        assert_int_equal(refusal.code, SLU_CODE_INVALID);
        assert_string_equal(refusal.path, "key");
        if (!strstr(refusal.message, cases[i].message))
            fail_msg("case %zu: %s", i, refusal.message);
    }
}

static void
test_ids_have_1_to_128_characters(void **state)
{
    (void) state;
    char id[130];
    memset(id, 'a', sizeof(id));
    assert_false(slu_id_valid(id, 0));
    assert_true(slu_id_valid(id, 1));
    assert_true(slu_id_valid(id, 128));
    assert_false(slu_id_valid(id, 129));
}

static void
test_ids_are_made_of_exactly_the_allowed_bytes(void **state)
{
    (void) state;
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    for (int byte = 0; byte < 256; byte++) {
        const char c = (char) byte;
        const bool expected = byte && strchr(allowed, byte);
        assert_int_equal(slu_id_valid(&c, 1), expected);
    }
}

static void
test_the_longest_key_of_a_child_fits(void **state)
{
    (void) state;
    char text[SLU_KEY_MAX];
    char id[129];
    memset(id, 'a', 128);
    id[128] = '\0';
    const int size = snprintf(text, sizeof(text), "computer-binding/%s/%s", id, id);
    struct slu_key key;
    struct slu_refusal refusal;
    assert_true(slu_key_parse(text, (size_t) size, &key, &refusal));
    assert_string_equal(key.id, id);
    assert_string_equal(key.root_id, id);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_has_its_key_and_its_root),
        cmocka_unit_test(test_kinds_are_found_by_their_words),
        cmocka_unit_test(test_what_is_no_key_is_refused),
        cmocka_unit_test(test_ids_have_1_to_128_characters),
        cmocka_unit_test(test_ids_are_made_of_exactly_the_allowed_bytes),
        cmocka_unit_test(test_the_longest_key_of_a_child_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
