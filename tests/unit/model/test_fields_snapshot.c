/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshot's wish against contract-map §2.3, §2.4, §3.4 and §3.15. */
#include "unit/model/decode_support.h"

static const char valid[] = "{\"createdBy\":{\"kind\":\"user\",\"id\":\"u-1\"},"
                            "\"source\":{\"kind\":\"build\",\"spec\":{}}}";
static const char of_computer[] = "{\"createdBy\":{\"kind\":\"user\",\"id\":\"u-1\"},"
                                  "\"source\":{\"kind\":\"computer\",\"computer_id\":\"c-1\"}}";

#define ALLOWED NULL, NULL

static void
test_defaults_are_the_contracts(void **state)
{
    (void) state;
    check_canonical(
        SLU_KIND_SNAPSHOT, valid,
        "{\"provider\":\"e2b\",\"visibility\":\"private\",\"owners\":[],\"builtin\":false,"
        "\"createdBy\":{\"kind\":\"user\",\"id\":\"u-1\"},"
        "\"source\":{\"kind\":\"build\",\"spec\":{\"steps\":[],\"force\":false}},"
        "\"buildKey\":\"\",\"state\":\"ready\"}");
}

static void
test_bounds_and_words(void **state)
{
    (void) state;
    static const struct slu_change_case rows[] = {
        {"alias", "*128", ALLOWED},
        {"alias", "*129", "spec.alias", NULL},
        {"alias", "\"\"", "spec.alias", NULL},
        {"visibility", "\"project\"", ALLOWED},
        {"visibility", "\"tenant\"", ALLOWED},
        {"visibility", "\"public\"", ALLOWED},
        {"visibility", "\"everyone\"", "spec.visibility",
         "one of private, project, tenant, public"},
        {"owners", "#64 {\"kind\":\"user\",\"id\":\"u%d\"}", ALLOWED},
        {"owners", "#65 {\"kind\":\"user\",\"id\":\"u%d\"}", "spec.owners", "at most 64"},
        {"builtin", "true", ALLOWED},
        {"createdBy", NULL, "spec.createdBy", "missing"},
        {"createdBy", "{\"kind\":\"robot\",\"id\":\"u\"}", "spec.createdBy.kind",
         "one of user, agent"},
        {"createdBy.id", "*256", ALLOWED},
        {"createdBy.id", "*257", "spec.createdBy.id", "1 to 256 characters"},
        {"source", NULL, "spec.source", "missing"},
        {"buildKey", "*256", ALLOWED},
        {"buildKey", "*257", "spec.buildKey",
         "the value is not allowed: buildKey must be a text of at most 256 characters"},
        {"buildKey", "\"a b~\"", ALLOWED},
        {"buildKey", "\"é\"", "spec.buildKey", "printable ASCII"},
        {"state", "\"deleted\"", ALLOWED},
        {"state", "\"paused\"", "spec.state", "one of ready, deleted"},
    };
    check_changes(SLU_KIND_SNAPSHOT, valid, rows, SLU_COUNT(rows));
}

static void
test_sources_name_what_their_kind_says(void **state)
{
    (void) state;
    static const struct slu_change_case rows[] = {
        {"source", "{\"kind\":\"sandbox\",\"sandbox_id\":\"s-1\"}", ALLOWED},
        {"source", "{\"kind\":\"space\",\"space_id\":\"s-1\"}", ALLOWED},
        {"source", "{\"kind\":\"computer\"}", "spec.source.computer_id",
         "must be there when kind is computer"},
        {"source", "{\"kind\":\"computer\",\"computerId\":\"c-1\"}", "spec.source.computerId",
         "unknown field"},
        {"source", "{\"kind\":\"computer\",\"computer_id\":\"c\",\"sandbox_id\":\"s\"}",
         "spec.source.sandbox_id", "must not be there when kind is computer"},
        {"source", "{\"kind\":\"sandbox\",\"sandbox_id\":\"s\",\"spec\":{}}", "spec.source.spec",
         "must not be there when kind is sandbox"},
        {"source", "{\"kind\":\"build\"}", "spec.source.spec", "must be there when kind is build"},
        {"source", "{\"spec\":{}}", "spec.source.kind", "missing"},
        {"source", "{\"kind\":\"volume\"}", "spec.source.kind",
         "one of build, computer, sandbox, space"},
        {"buildKey", "\"k\"", "spec.buildKey", "unless source.kind is build"},
        {"buildKey", "\"\"", ALLOWED},
    };
    check_changes(SLU_KIND_SNAPSHOT, of_computer, rows, SLU_COUNT(rows));
}

static void
test_builds(void **state)
{
    (void) state;
    static const struct slu_change_case rows[] = {
        {"source.spec.baseImage", "*512", ALLOWED},
        {"source.spec.baseImage", "*513", "spec.source.spec.baseImage", NULL},
        {"source.spec.baseSnapshotId", "\"snap-1\"", ALLOWED},
        {"source.spec", "{\"baseImage\":\"debian\",\"baseSnapshotId\":\"s\"}",
         "spec.source.spec.baseImage", "at most one of"},
        {"source.spec.startCommand", "*16384", ALLOWED},
        {"source.spec.startCommand", "*16385", "spec.source.spec.startCommand", NULL},
        {"source.spec.readyCommand", "*16384", ALLOWED},
        {"source.spec.readyCommand", "*16385", "spec.source.spec.readyCommand", NULL},
        {"source.spec.force", "true", ALLOWED},
        {"source.spec.resources", "{\"cpuCount\":65,\"memoryMb\":128,\"diskMb\":512}",
         "spec.source.spec.resources.cpuCount", "between 1 and 64"},
        {"source.spec.steps", "#256 {\"run\":\"true\"}", ALLOWED},
        {"source.spec.steps", "#257 {\"run\":\"true\"}", "spec.source.spec.steps", "at most 256"},
    };
    check_changes(SLU_KIND_SNAPSHOT, valid, rows, SLU_COUNT(rows));
}

static void
test_a_build_is_bounded_as_a_whole(void **state)
{
    (void) state;
    for (int over = 0; over <= 1; over++) {
        json_t *spec = parse_json(valid);
        /* {"steps":[{"run":"…"},{"run":"…"}],"force":false}: 47 bytes around the commands. */
        change_member(spec, "source.spec.steps", "[{},{}]");
        json_t *steps =
            json_object_get(json_object_get(json_object_get(spec, "source"), "spec"), "steps");
        change_member(json_array_get(steps, 0), "run", "*131072");
        change_member(json_array_get(steps, 1), "run", over ? "*131026" : "*131025");

        struct slu_refusal refusal = {0};
        json_t *decoded =
            slu_fields_decode(slu_spec_fields(SLU_KIND_SNAPSHOT), spec, "spec", &refusal);
        assert_string_equal(refusal.path, over ? "spec.source.spec" : "");
        assert_int_equal(decoded == NULL, over);
        json_decref(decoded);
        json_decref(spec);
    }
}

static void
test_steps_have_exactly_one_member(void **state)
{
    (void) state;
#define STEP(text) "source.spec.steps", "[" text "]"
#define AT(member) "spec.source.spec.steps[0]" member
    static const struct slu_change_case rows[] = {
        {STEP("{}"), AT(""), "exactly one of run, copy, file, env, workdir, user"},
        {STEP("{\"run\":\"a\",\"user\":\"b\"}"), AT(""), "it has 2 members"},
        {STEP("{\"run\":\"\"}"), AT(".run"), NULL},
        {STEP("{\"exec\":\"a\"}"), AT(".exec"), "unknown field"},

        {STEP("{\"copy\":{\"fromSnapshotId\":\"s\",\"from\":\"a/b\",\"to\":\"c\"}}"), ALLOWED},
        {STEP("{\"copy\":{\"fromSnapshotId\":\"s\",\"from\":\"/a\",\"to\":\"c\"}}"),
         AT(".copy.from"), "a relative path"},
        {STEP("{\"copy\":{\"from\":\"a\",\"to\":\"c\"}}"), AT(".copy.fromSnapshotId"), "missing"},

        {STEP("{\"file\":{\"path\":\"a\",\"content\":\"\"}}"), ALLOWED},
        {STEP("{\"file\":{\"path\":\"a\",\"content\":\"aGk=\",\"mode\":\"0755\"}}"), ALLOWED},
        {STEP("{\"file\":{\"path\":\"a\",\"content\":\"aGk\"}}"), AT(".file.content"), "base64"},
        {STEP("{\"file\":{\"path\":\"a\",\"content\":\"aG k\"}}"), AT(".file.content"), "base64"},
        {STEP("{\"file\":{\"path\":\"a\",\"content\":\"aG-_\"}}"), AT(".file.content"), "base64"},
        {STEP("{\"file\":{\"path\":\"a\",\"content\":\"====\"}}"), AT(".file.content"), "base64"},
        {STEP("{\"file\":{\"path\":\"a\",\"content\":\"aGl=\"}}"), AT(".file.content"),
         "base64"}, /* Bits left over. */
        {STEP("{\"file\":{\"path\":\"a\"}}"), AT(".file.content"), "missing"},
        {STEP("{\"file\":{\"path\":\"../a\",\"content\":\"\"}}"), AT(".file.path"),
         "a relative path"},
        {STEP("{\"file\":{\"path\":\"a\",\"content\":\"\",\"mode\":\"755\"}}"), AT(".file.mode"),
         NULL},
        {STEP("{\"file\":{\"path\":\"a\",\"content\":\"\",\"mode\":\"0888\"}}"), AT(".file.mode"),
         "4 octal digits"},

        {STEP("{\"env\":{\"A\":\"1\"}}"), ALLOWED},
        {STEP("{\"env\":{}}"), AT(".env"), "1 to 64"},
        {STEP("{\"env\":{\"1A\":\"1\"}}"), AT(".env.1A"), "the name is not allowed"},
        {STEP("{\"workdir\":\"/srv\"}"), ALLOWED},
        {STEP("{\"workdir\":\"srv\"}"), ALLOWED},
        {STEP("{\"workdir\":\"\"}"), AT(".workdir"), NULL},
        {STEP("{\"user\":\"root\"}"), ALLOWED},
        {STEP("{\"user\":\"\"}"), AT(".user"), "1 to 64"},
    };
    check_changes(SLU_KIND_SNAPSHOT, valid, rows, SLU_COUNT(rows));
}

/* A file has at most 65,536 bytes: 87,384 base64 digits with two of padding; one more byte needs
 * one of padding less. */
static void
test_files_are_bounded_by_their_decoded_size(void **state)
{
    (void) state;
    for (int over = 0; over <= 1; over++) {
        char content[87384 + 1];
        memset(content, 'A', sizeof(content) - 1);
        content[sizeof(content) - 1] = '\0';
        memset(content + sizeof(content) - 1 - (over ? 1 : 2), '=', over ? 1 : 2);

        json_t *spec = parse_json(valid);
        json_t *build = json_object_get(json_object_get(spec, "source"), "spec");
        json_object_set_new(build, "steps",
                            json_pack("[{s:{s:s,s:s}}]", "file", "path", "a", "content", content));
        struct slu_refusal refusal = {0};
        json_t *decoded =
            slu_fields_decode(slu_spec_fields(SLU_KIND_SNAPSHOT), spec, "spec", &refusal);
        assert_int_equal(decoded == NULL, over);
        if (over)
            assert_non_null(strstr(refusal.message, "a file of 65537 bytes is not allowed"));
        json_decref(decoded);
        json_decref(spec);
    }
}

static void
test_what_a_later_generation_may_change(void **state)
{
    (void) state;
    static const struct slu_follow_case rows[] = {
        {"provider", "\"local\"", "\"e2b\"", SLU_CODE_INVALID, NULL},
        {"alias", NULL, "\"a\"", SLU_CODE_NONE, NULL},
        {"visibility", "\"private\"", "\"public\"", SLU_CODE_NONE, NULL},
        {"owners", "[]", "[{\"kind\":\"user\",\"id\":\"u\"}]", SLU_CODE_NONE, NULL},
        {"builtin", "false", "true", SLU_CODE_INVALID, NULL},
        {"createdBy.id", "\"u-1\"", "\"u-2\"", SLU_CODE_INVALID, "spec.createdBy"},
        {"buildKey", "\"a\"", "\"b\"", SLU_CODE_INVALID, NULL},
        /* "no while building/ready; yes after failed": admission's, which knows the state. */
        {"source.spec.force", "false", "true", SLU_CODE_NONE, NULL},
        {"state", "\"ready\"", "\"deleted\"", SLU_CODE_NONE, NULL},
    };
    check_follows(SLU_KIND_SNAPSHOT, valid, rows, SLU_COUNT(rows));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_the_contracts),
        cmocka_unit_test(test_bounds_and_words),
        cmocka_unit_test(test_sources_name_what_their_kind_says),
        cmocka_unit_test(test_builds),
        cmocka_unit_test(test_a_build_is_bounded_as_a_whole),
        cmocka_unit_test(test_steps_have_exactly_one_member),
        cmocka_unit_test(test_files_are_bounded_by_their_decoded_size),
        cmocka_unit_test(test_what_a_later_generation_may_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
