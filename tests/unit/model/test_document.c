/* SPDX-License-Identifier: Apache-2.0 */
/* Whole desired records: the envelope (contract-map §3.0), CloudEvents around it, the agreement of
 * key and document, and everything hostile that a producer can send. */
#include "unit/model/decode_support.h"

static const char minimal[] =
    "{\"kind\":\"Sandbox\",\"id\":\"sbx-1\",\"scope\":{\"tenantId\":\"acme\",\"projectId\":\"web\"}"
    ","
    "\"spec\":{\"placement\":{\"provider_pool\":\"default\"},\"ttlMs\":60000}}";

static struct slu_key
key_of(const char *text)
{
    struct slu_key key;
    struct slu_refusal refusal;
    if (!slu_key_parse(text, strlen(text), &key, &refusal))
        fail_msg("%s: %s", text, refusal.message);
    return key;
}

static struct slu_document
parse(const char *key_text, const char *bytes)
{
    const struct slu_key key = key_of(key_text);
    struct slu_document document;
    struct slu_refusal refusal;
    if (!slu_document_parse(&key, bytes, strlen(bytes), &document, &refusal))
        fail_msg("%s", refusal.message);
    return document;
}

static struct slu_refusal
refuse_bytes(const char *key_text, const void *bytes, size_t size)
{
    const struct slu_key key = key_of(key_text);
    struct slu_document document;
    struct slu_refusal refusal = {0};
    if (slu_document_parse(&key, bytes, size, &document, &refusal))
        fail_msg("accepted: %.*s", (int) size, (const char *) bytes);
    assert_int_equal(refusal.code, SLU_CODE_INVALID);
    return refusal;
}

static void
expect_refused(const char *key_text, const char *text, const char *path, const char *message)
{
    const struct slu_refusal refusal = refuse_bytes(key_text, text, strlen(text));
    assert_string_equal(refusal.path, path);
    if (!strstr(refusal.message, message))
        fail_msg("\"%s\" says nothing of \"%s\"", refusal.message, message);
}

/* The minimal document with one member of the envelope changed (NULL: taken away). */
static char *
changed(const char *where, const char *value)
{
    json_t *document = parse_json(minimal);
    change_member(document, where, value);
    char *text = json_dumps(document, JSON_COMPACT);
    json_decref(document);
    return text;
}

static void
test_a_minimal_document_is_read(void **state)
{
    (void) state;
    struct slu_document document = parse("sandbox/sbx-1", minimal);
    assert_int_equal(document.key.kind, SLU_KIND_SANDBOX);
    assert_string_equal(document.key.id, "sbx-1");
    assert_string_equal(document.tenant, "acme");
    assert_string_equal(document.project, "web");
    assert_int_equal(document.generation, 0);
    assert_int_equal(document.if_generation, -1);
    assert_string_equal(document.actor.kind, "");
    assert_string_equal(document.event_id, "");
    assert_false(document.names_provider);
    assert_string_equal(json_string_value(json_object_get(document.spec, "provider")), "e2b");
    slu_document_done(&document);
    assert_null(document.spec);
}

static void
test_a_full_envelope_is_read(void **state)
{
    (void) state;
    struct slu_document document =
        parse("sandbox/sbx-1",
              "{\"spec\":{\"provider\":\"e2b\",\"placement\":{\"computer\":\"c\"},\"ttlMs\":1000},"
              "\"actor\":{\"id\":\"ü-1\",\"kind\":\"user\"},\"ifGeneration\":0,\"generation\":"
              "9007199254740991,"
              "\"scope\":{\"projectId\":\"p\",\"tenantId\":\"t\"},\"id\":\"sbx-1\",\"kind\":"
              "\"Sandbox\"}");
    assert_true(document.generation == INT64_C(9007199254740991));
    assert_int_equal(document.if_generation, 0);
    assert_string_equal(document.actor.kind, "user");
    assert_string_equal(document.actor.id, "ü-1");
    assert_true(document.names_provider);
    slu_document_done(&document);
}

static void
test_envelope_members_have_their_bounds(void **state)
{
    (void) state;

    static const struct {
        const char *where, *value, *path, *message;
    } cases[] = {
        {"kind", NULL, "kind",
         "missing: kind must be one of Sandbox, Checkpoint, Activity, Snapshot"},
        {"kind", "1", "kind", "1 is not allowed"},
        {"kind", "\"sandbox\"", "kind",
         "\"sandbox\" is not allowed: kind must be one of Sandbox, Checkpoint, Activity, Snapshot"},
        {"id", NULL, "id", "missing"},
        {"id", "\"a/b\"", "id", "\"a/b\" is not allowed"},
        {"scope", NULL, "scope", "missing"},
        {"scope", "{\"tenantId\":\"t\"}", "scope.projectId", "missing"},
        {"scope", "{\"tenantId\":\"\",\"projectId\":\"p\"}", "scope.tenantId",
         "1 to 128 characters"},
        {"scope", "{\"tenantId\":\"t\",\"projectId\":\"p\",\"orgId\":\"o\"}", "scope.orgId",
         "unknown field; known fields are tenantId, projectId"},
        {"generation", "0", "generation", "between 1 and 9007199254740991"},
        {"generation", "9007199254740992", "generation", NULL},
        {"generation", "1.0", "generation", "a whole number"},
        {"ifGeneration", "-1", "ifGeneration", "between 0 and 9007199254740991"},
        {"ifGeneration", "9007199254740992", "ifGeneration", NULL},
        {"actor", "{\"kind\":\"admin\",\"id\":\"a\"}", "actor.kind", "one of user, agent"},
        {"actor", "{\"kind\":\"user\",\"id\":\"\"}", "actor.id", "1 to 256 characters"},
        {"spec", NULL, "spec", "missing"},
        {"spec", "[]", "spec", "spec must be an object"},
        {"metadata", "{}", "metadata",
         "unknown field; known fields are kind, id, scope, generation, ifGeneration, actor, spec"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        char *text = changed(cases[i].where, cases[i].value);
        expect_refused("sandbox/sbx-1", text, cases[i].path,
                       cases[i].message ? cases[i].message : "");
        free(text);
    }
}

static void
test_kinds_of_later_versions_are_named_as_such(void **state)
{
    (void) state;
    static const char *const words[] = {"Computer",   "ComputerBinding", "Space", "Grant",
                                        "Session",    "Ticket",          "Lease", "ChangeSet",
                                        "Delegation", "TemplateVersion"};
    for (size_t i = 0; i < SLU_COUNT(words); i++) {
        char value[32], message[160];
        snprintf(value, sizeof(value), "\"%s\"", words[i]);
        snprintf(message, sizeof(message),
                 "kind '%s' is not served by this version; served are Sandbox, Checkpoint, "
                 "Activity, Snapshot",
                 words[i]);
        char *text = changed("kind", value);
        expect_refused("space/sp-1", text, "kind", message);
        free(text);
    }
}

static void
test_key_and_document_must_agree(void **state)
{
    (void) state;
    expect_refused(
        "sandbox/sbx-2", minimal, "key",
        "sandbox/sbx-2 does not agree with the document: its kind, id make the key sandbox/sbx-1");
    expect_refused("snapshot/sbx-1", minimal, "key", "make the key sandbox/sbx-1");

    static const char checkpoint[] = "{\"kind\":\"Checkpoint\",\"id\":\"cp-1\",\"scope\":{"
                                     "\"tenantId\":\"t\",\"projectId\":\"p\"},"
                                     "\"spec\":{\"sandboxId\":\"sbx-1\"}}";
    struct slu_document document = parse("checkpoint/sbx-1/cp-1", checkpoint);
    assert_string_equal(document.key.root_id, "sbx-1");
    slu_document_done(&document);
    expect_refused("checkpoint/sbx-2/cp-1", checkpoint, "key",
                   "its kind, sandboxId and id make the key checkpoint/sbx-1/cp-1");
    expect_refused("checkpoint/sbx-1/cp-2", checkpoint, "key", "checkpoint/sbx-1/cp-1");
    expect_refused("activity/sbx-1/cp-1", checkpoint, "key", "checkpoint/sbx-1/cp-1");
}

static void
test_cloud_events_in_structured_mode_are_opened(void **state)
{
    (void) state;
    struct slu_buffer event = {0};
    slu_buffer_printf(
        &event,
        "{\"specversion\":\"1.0\",\"id\":\"e-1\",\"source\":\"/me\",\"type\":\"wish\","
        "\"datacontenttype\":\"application/json; "
        "charset=utf-8\",\"traceparent\":\"x\",\"data\":%s}",
        minimal);
    struct slu_document document = parse("sandbox/sbx-1", event.data);
    assert_string_equal(document.event_id, "e-1");
    assert_string_equal(document.key.id, "sbx-1");
    slu_document_done(&document);
    slu_buffer_done(&event);
}

static void
test_broken_cloud_events_are_refused(void **state)
{
    (void) state;

    static const struct {
        const char *text, *path, *message;
    } cases[] = {
        {"{\"specversion\":\"0.3\",\"id\":\"e\",\"source\":\"s\",\"type\":\"t\",\"data\":{}}",
         "specversion", "must be \"1.0\""},
        {"{\"specversion\":1,\"id\":\"e\",\"source\":\"s\",\"type\":\"t\",\"data\":{}}",
         "specversion", NULL},
        {"{\"specversion\":\"1.0\",\"source\":\"s\",\"type\":\"t\",\"data\":{}}", "id", "missing"},
        {"{\"specversion\":\"1.0\",\"id\":\"\",\"source\":\"s\",\"type\":\"t\",\"data\":{}}", "id",
         "1 to 255 bytes"},
        {"{\"specversion\":\"1.0\",\"id\":\"e\",\"type\":\"t\",\"data\":{}}", "source", "missing"},
        {"{\"specversion\":\"1.0\",\"id\":\"e\",\"source\":\"s\",\"data\":{}}", "type", "missing"},
        {"{\"specversion\":\"1.0\",\"id\":\"e\",\"source\":\"s\",\"type\":\"t\"}", "data",
         "as an object"},
        {"{\"specversion\":\"1.0\",\"id\":\"e\",\"source\":\"s\",\"type\":\"t\",\"data_base64\":"
         "\"e30=\"}",
         "data", "as an object"},
        {"{\"specversion\":\"1.0\",\"id\":\"e\",\"source\":\"s\",\"type\":\"t\","
         "\"datacontenttype\":\"text/xml\",\"data\":{}}",
         "datacontenttype", "application/json"},
        {"{\"specversion\":\"1.0\",\"id\":\"e\",\"source\":\"s\",\"type\":\"t\",\"data\":{}}",
         "kind", "missing"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++)
        expect_refused("sandbox/sbx-1", cases[i].text, cases[i].path,
                       cases[i].message ? cases[i].message : "");
}

static void
test_what_is_no_json_object_is_refused(void **state)
{
    (void) state;

    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "the document is empty"},
        {" ", "the document is not JSON"},
        {"null", "the document is not JSON"},
        {"\"text\"", "the document is not JSON"},
        {"[]", "the document is a list: it must be a JSON object"},
        {"{", "the document is not JSON: line 1, column 1"},
        {"{\"a\":1", "the document is not JSON"},
        {"{\"a\":1}x", "the document is not JSON"},
        {"{'a':1}", "the document is not JSON"},
        {"{\"a\":01}", "the document is not JSON"},
        {"{\"a\":NaN}", "the document is not JSON"},
        {"{\"a\":1e999}", "the document is not JSON"},
        {"{\"a\":99999999999999999999}", "the document is not JSON"},
        {"{\"a\":\"\x01\"}", "the document is not JSON"},
        {"{\"a\":\"\\ud800\"}", "the document is not JSON"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++)
        expect_refused("sandbox/sbx-1", cases[i].text, "", cases[i].message);
}

static void
test_invalid_utf8_is_refused(void **state)
{
    (void) state;
    static const char *const bytes[] = {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80",
                                        "\xc3"};
    for (size_t i = 0; i < SLU_COUNT(bytes); i++) {
        char text[64];
        snprintf(text, sizeof(text), "{\"kind\":\"%s\"}", bytes[i]);
        expect_refused("sandbox/sbx-1", text, "", "the document is not JSON");
        snprintf(text, sizeof(text), "{\"%s\":1}", bytes[i]);
        expect_refused("sandbox/sbx-1", text, "", "the document is not JSON");
    }
}

static void
test_nul_is_refused_in_every_form(void **state)
{
    (void) state;
    static const char raw[] = "{\"kind\":\"a\0b\"}";
    const struct slu_refusal refusal = refuse_bytes("sandbox/sbx-1", raw, sizeof(raw) - 1);
    assert_non_null(strstr(refusal.message, "byte 10 is NUL"));

    expect_refused("sandbox/sbx-1", "{\"kind\":\"a\\u0000b\"}", "", "\\u0000 is not allowed");
    expect_refused("sandbox/sbx-1", "{\"ki\\u0000nd\":1}", "", "NUL");
    static const char trailing[] = "{}";
    refuse_bytes("sandbox/sbx-1", trailing, sizeof(trailing)); /* With its NUL. */
}

static void
test_duplicate_members_are_named(void **state)
{
    (void) state;
    expect_refused("sandbox/sbx-1", "{\"kind\":\"Sandbox\",\"id\":\"a\",\"id\":\"b\"}", "",
                   "\"id\" is there twice in one object");
    expect_refused("sandbox/sbx-1", "{\"spec\":{\"a\":{\"x\\\"y\":1, \"x\\\"y\" :2}}}", "",
                   "\"x\\\"y\" is there twice");
    expect_refused("sandbox/sbx-1",
                   "{\"aMemberWithAVeryLongNameIndeed\":1,\"aMemberWithAVeryLongNameIndeed\":2}",
                   "", "\"aMemberWithAVeryLongNameIndeed\" is there twice");
    expect_refused("sandbox/sbx-1", "{\"\":1,\"\":2}", "", "\"\" is there twice");
    /* Spelled differently, still the same name. */
    expect_refused("sandbox/sbx-1", "{\"id\":1,\"\\u0069d\":2}", "", "is there twice");
}

static void
test_size_is_bounded_before_parsing(void **state)
{
    (void) state;
    const size_t size = (size_t) 1024 * 1024;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    memset(bytes, ' ', size);
    memcpy(bytes, minimal, sizeof(minimal) - 1);

    const struct slu_key key = key_of("sandbox/sbx-1");
    struct slu_document document;
    struct slu_refusal refusal;
    assert_true(slu_document_parse(&key, bytes, (size_t) 512 * 1024, &document, &refusal));
    slu_document_done(&document);

    refusal = refuse_bytes("sandbox/sbx-1", bytes, 512 * 1024 + 1);
    assert_string_equal(refusal.message,
                        "the document has 524289 bytes: at most 524288 are allowed");
    refusal = refuse_bytes("sandbox/sbx-1", bytes, size);
    assert_non_null(strstr(refusal.message, "1048576 bytes"));
    free(bytes);
}

/* {"spec":[[[…]]]} with `levels` in all. */
static char *
nested(size_t levels, const char *open, const char *close)
{
    struct slu_buffer text = {0};
    slu_buffer_puts(&text, "{\"spec\":");
    for (size_t i = 1; i < levels; i++)
        slu_buffer_puts(&text, open);
    slu_buffer_puts(&text, "1");
    for (size_t i = 1; i < levels; i++)
        slu_buffer_puts(&text, close);
    slu_buffer_puts(&text, "}");
    return slu_buffer_take(&text);
}

static void
test_depth_is_bounded_before_a_tree_is_built(void **state)
{
    (void) state;

    static const struct {
        size_t levels;
        bool too_deep;
    } cases[] = {{32, false}, {33, true}, {2000, true}, {50000, true}};

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        for (int form = 0; form < 2; form++) {
            char *text =
                form ? nested(cases[i].levels, "{\"a\":", "}") : nested(cases[i].levels, "[", "]");
            const struct slu_refusal refusal = refuse_bytes("sandbox/sbx-1", text, strlen(text));
            assert_int_equal(strstr(refusal.message, "nested too deep") != NULL, cases[i].too_deep);
            free(text);
        }
    }
}

static void
test_brackets_inside_texts_are_no_depth(void **state)
{
    (void) state;
    struct slu_buffer alias = {0};
    slu_buffer_putc(&alias, '"');
    for (int i = 0; i < 60; i++)
        slu_buffer_puts(&alias, "[\\\"");
    slu_buffer_putc(&alias, '"');
    char *text = changed("spec.alias", alias.data);
    struct slu_document document = parse("sandbox/sbx-1", text);
    slu_document_done(&document);
    free(text);
    slu_buffer_done(&alias);
}

static void
test_values_are_cut_to_64_characters(void **state)
{
    (void) state;
    char *text = changed("spec.state", "*65");
    const struct slu_refusal refusal = refuse_bytes("sandbox/sbx-1", text, strlen(text));
    const char *value = strchr(refusal.message, '"');
    assert_non_null(value);
    assert_int_equal(strspn(value + 1, "a"), 64);
    assert_int_equal(strncmp(value + 65, "\"…", 4), 0);
    free(text);
}

/* Contract-map X50: such a value was put there by mistake and must not travel further. */
static void
test_secrets_are_never_repeated(void **state)
{
    (void) state;

    static const struct {
        const char *where, *value;
    } cases[] = {
        {"spec.accessTicketToken", "\"hunter2\""},
        {"spec.rewind", "{\"checkpoint\":null,\"token\":[\"hunter2\"]}"},
        {"spec.rewind",
         "{\"checkpoint\":null,\"mode\":\"hunter2 hunter2\",\"token\":\"r\",\"token2\":1}"},
        {"spec.profile", "{\"apiKey\":{\"a\":\"hunter2\"}}"},
        {"spec.profile.MY_PASSWORD", "{\"hunter2\":1}"},
        {"spec.session", "{\"sessionId\":\"s\",\"clientSecret\":\"hunter2\"}"},
        {"spec.session", "{\"sessionId\":\"s\",\"providerConfig\":[\"hunter2\"]}"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        char *text = changed(cases[i].where, cases[i].value);
        const struct slu_refusal refusal = refuse_bytes("sandbox/sbx-1", text, strlen(text));
        if (strstr(refusal.message, "hunter2"))
            fail_msg("%s", refusal.message);
        free(text);
    }
    /* The parser's own words would quote the text around the mistake. */
    static const char broken[] = "{\"token\":\"hunter2\" \"x\":1}";
    const struct slu_refusal refusal = refuse_bytes("sandbox/sbx-1", broken, sizeof(broken) - 1);
    assert_null(strstr(refusal.message, "hunter2"));
    assert_null(strstr(refusal.message, "near"));
}

static void
test_long_secret_values_are_told_without_their_text(void **state)
{
    (void) state;
    struct slu_buffer value = {0};
    slu_buffer_puts(&value, "\"hunter2");
    for (int i = 0; i < 4096; i++)
        slu_buffer_putc(&value, 'x');
    slu_buffer_puts(&value, "\"");
    char *text = changed("spec.profile.TOKEN", value.data);
    expect_refused("sandbox/sbx-1", text, "spec.profile.TOKEN",
                   "spec.profile.TOKEN: the value is not allowed: TOKEN must be a text of at most "
                   "4096 characters");
    free(text);
    slu_buffer_done(&value);
}

static void
test_names_from_outside_are_cut_and_cleaned_in_paths(void **state)
{
    (void) state;
    expect_refused("sandbox/sbx-1", "{\"a\\nb\\u007fc\":1}", "a?b?c", "a?b?c: unknown field");
    struct slu_buffer text = {0};
    slu_buffer_puts(&text, "{\"");
    for (int i = 0; i < 1000; i++)
        slu_buffer_puts(&text, "✓");
    slu_buffer_puts(&text, "\":1}");
    const struct slu_refusal refusal = refuse_bytes("sandbox/sbx-1", text.data, text.size);
    assert_int_equal(strlen(refusal.path), 21 * 3 + 3); /* 64 bytes hold 21 of them, and "…". */
    assert_non_null(strstr(refusal.message, "known fields are kind"));
    slu_buffer_done(&text);
}

static void
test_the_projects_examples_decode_or_are_refused_as_they_say(void **state)
{
    (void) state;

    static const struct {
        const char *file, *key, *refused; /* NULL: accepted. */
    } cases[] = {
        {"01-sandbox.json", "sandbox/demo-1", NULL},
        {"02-checkpoint.json", "checkpoint/demo-1/cp-1", NULL},
        {"03-paused.json", "sandbox/demo-1", NULL},
        {"04-running.json", "sandbox/demo-1", NULL},
        {"05-rewind.json", "sandbox/demo-1", NULL},
        {"06-snapshot.json", "snapshot/snap-1", NULL},
        {"bad-duplicate-key.json", "sandbox/demo-4", "\"id\" is there twice in one object"},
        {"bad-limit.json", "sandbox/demo-3",
         "spec.resources.cpuCount: 65 is not allowed: cpuCount must be between 1 and 64"},
        {"bad-unknown-field.json", "sandbox/demo-2",
         "spec.resources.cpus: unknown field; known fields are cpuCount, memoryMb, diskMb"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        char path[512], bytes[4096];
        snprintf(path, sizeof(path), "%s/examples/%s", SLU_SOURCE_DIR, cases[i].file);
        FILE *file = fopen(path, "r");
        if (!file)
            fail_msg("%s is not there", path);
        const size_t size = fread(bytes, 1, sizeof(bytes), file);
        fclose(file);

        const struct slu_key key = key_of(cases[i].key);
        struct slu_document document;
        struct slu_refusal refusal;
        const bool accepted = slu_document_parse(&key, bytes, size, &document, &refusal);
        if (accepted != (cases[i].refused == NULL))
            fail_msg("%s: %s", cases[i].file, accepted ? "accepted" : refusal.message);
        if (accepted)
            slu_document_done(&document);
        else if (cases[i].refused && !strstr(refusal.message, cases[i].refused))
            fail_msg("%s: %s", cases[i].file, refusal.message);
    }
}

static void
test_equal_specs_have_equal_bytes(void **state)
{
    (void) state;
    struct slu_document a =
        parse("sandbox/s", "{\"kind\":\"Sandbox\",\"id\":\"s\",\"scope\":{\"tenantId\":\"t\","
                           "\"projectId\":\"p\"},\"spec\":{"
                           "\"placement\":{\"computer\":\"c\"},\"ttlMs\":1000,\"skillEnv\":{\"A\":"
                           "\"\\u00e9\",\"B\":\"2\"},\"state\":\"running\"}}");
    struct slu_document b =
        parse("sandbox/s", "{ "
                           "\"id\":\"s\",\"kind\":\"Sandbox\",\"scope\":{\"projectId\":\"p\","
                           "\"tenantId\":\"t\"},\"spec\":{"
                           "\"skillEnv\":{\"B\":\"2\",\"A\":\"é\"},\"ttlMs\":1000,\"alias\":null,"
                           "\"placement\":{\"computer\":\"c\"},\"owners\":[]}}");
    size_t size_a, size_b;
    char *text_a = slu_spec_text(a.spec, &size_a);
    char *text_b = slu_spec_text(b.spec, &size_b);
    assert_string_equal(text_a, text_b);
    assert_int_equal(size_a, size_b);
    assert_int_equal(size_a, strlen(text_a));
    free(text_a);
    free(text_b);
    slu_document_done(&a);
    slu_document_done(&b);
}

static void
test_canonical_bytes_come_back_as_their_tree(void **state)
{
    (void) state;
    static const char text[] =
        "{\"a\":[1,-2,1.5,\"x\\n\\\"\\\\é\",true,false,null,{}],\"b\":{\"c\":[]}}";
    json_t *tree = slu_spec_tree(text, sizeof(text) - 1);
    char *again = slu_spec_text(tree, NULL);
    assert_string_equal(again, text);
    free(again);
    json_decref(tree);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_minimal_document_is_read),
        cmocka_unit_test(test_a_full_envelope_is_read),
        cmocka_unit_test(test_envelope_members_have_their_bounds),
        cmocka_unit_test(test_kinds_of_later_versions_are_named_as_such),
        cmocka_unit_test(test_key_and_document_must_agree),
        cmocka_unit_test(test_cloud_events_in_structured_mode_are_opened),
        cmocka_unit_test(test_broken_cloud_events_are_refused),
        cmocka_unit_test(test_what_is_no_json_object_is_refused),
        cmocka_unit_test(test_invalid_utf8_is_refused),
        cmocka_unit_test(test_nul_is_refused_in_every_form),
        cmocka_unit_test(test_duplicate_members_are_named),
        cmocka_unit_test(test_size_is_bounded_before_parsing),
        cmocka_unit_test(test_depth_is_bounded_before_a_tree_is_built),
        cmocka_unit_test(test_brackets_inside_texts_are_no_depth),
        cmocka_unit_test(test_values_are_cut_to_64_characters),
        cmocka_unit_test(test_secrets_are_never_repeated),
        cmocka_unit_test(test_long_secret_values_are_told_without_their_text),
        cmocka_unit_test(test_names_from_outside_are_cut_and_cleaned_in_paths),
        cmocka_unit_test(test_the_projects_examples_decode_or_are_refused_as_they_say),
        cmocka_unit_test(test_equal_specs_have_equal_bytes),
        cmocka_unit_test(test_canonical_bytes_come_back_as_their_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
