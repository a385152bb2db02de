/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's wish against contract-map §3.1 and §3.15: every default, bound and rule, written by
 * hand from there. */
#include "unit/model/decode_support.h"

static const char valid[] = "{\"placement\":{\"provider_pool\":\"default\"},\"ttlMs\":60000}";
static const char with_session[] = "{\"placement\":{\"provider_pool\":\"default\"},\"ttlMs\":60000,"
                                   "\"session\":{\"sessionId\":\"ses-1\"}}";

#define UUID    "\"00000000-0000-0000-0000-000000000001\""
#define ALLOWED NULL, NULL

static void
test_defaults_are_the_contracts(void **state)
{
    (void) state;
    check_canonical(
        SLU_KIND_SANDBOX, valid,
        "{\"provider\":\"e2b\",\"state\":\"running\",\"placement\":{\"provider_pool\":\"default\"},"
        "\"ttlMs\":60000,\"ttlPausedTimeCounts\":true,\"owners\":[],\"profile\":{},\"mounts\":[],"
        "\"checkpoints\":{\"auto\":\"before_pause\",\"keepLast\":10,\"keepPinned\":true,"
        "\"pendingTimeoutMs\":600000},\"recovery\":\"replace\",\"resumeOnUse\":false,"
        "\"keepCheckpoints\":false,\"skillEnv\":{},\"providerLeaseSeconds\":1200}");
}

static void
test_session_defaults_are_the_contracts(void **state)
{
    (void) state;
    json_t *spec = parse_json(with_session);
    struct slu_refusal refusal;
    json_t *decoded = slu_fields_decode(slu_spec_fields(SLU_KIND_SANDBOX), spec, "spec", &refusal);
    assert_non_null(decoded);
    char *session = slu_spec_text(json_object_get(decoded, "session"), NULL);
    assert_string_equal(
        session,
        "{\"sessionId\":\"ses-1\",\"autoStart\":true,\"idlePauseAfterSeconds\":180,"
        "\"idlePauseEnabled\":true,\"credential\":{\"source\":\"none\"},\"providerConfig\":{},"
        "\"init\":{\"commands\":[]}}");
    free(session);
    json_decref(decoded);
    json_decref(spec);
}

/* Absent is "provider default", [] is "unrestricted": both must survive. */
static void
test_absent_and_empty_egress_rules_stay_apart(void **state)
{
    (void) state;
    check_canonical(
        SLU_KIND_SANDBOX,
        "{\"placement\":{\"computer\":\"c-1\"},\"expiresAtMs\":1796006712000,\"egressRules\":[]}",
        "{\"provider\":\"e2b\",\"state\":\"running\",\"placement\":{\"computer\":\"c-1\"},"
        "\"expiresAtMs\":1796006712000,\"ttlPausedTimeCounts\":true,\"owners\":[],\"profile\":{},"
        "\"egressRules\":[],\"mounts\":[],"
        "\"checkpoints\":{\"auto\":\"before_pause\",\"keepLast\":10,\"keepPinned\":true,"
        "\"pendingTimeoutMs\":600000},\"recovery\":\"replace\",\"resumeOnUse\":false,"
        "\"keepCheckpoints\":false,\"skillEnv\":{},\"providerLeaseSeconds\":1200}");
}

/* Everything set, in another order than the table's, with maps in any order. */
static void
test_canonical_text_is_in_table_order_and_sorted(void **state)
{
    (void) state;
    check_canonical(
        SLU_KIND_SANDBOX,
        "{\"skillEnv\":{\"b\":\"2\",\"A\":\"1\"},\"rewind\":{\"token\":\"r-1\",\"checkpoint\":null}"
        ","
        "\"session\":{\"providerConfig\":{\"z\":{\"y\":1.5,\"x\":[{\"q\":1,\"p\":-2}]},\"a\":null},"
        "\"credential\":{\"virtualUserId\":\"ABCDEF00-0000-0000-0000-00000000000F\",\"source\":"
        "\"agent\"},"
        "\"sessionId\":\"ses-1\",\"init\":{\"commands\":[\"b\",\"a\"]}},"
        "\"egressRules\":[{\"target\":\"example.org\"}],\"alias\":\"büro\",\"delegationId\":\"dlg-"
        "1\","
        "\"profile\":{\"python\":\"3.12\",\"a\":\"\"},\"resources\":{\"diskMb\":512,\"memoryMb\":"
        "128,\"cpuCount\":1},"
        "\"owners\":[{\"id\":\"u-2\",\"kind\":\"agent\"},{\"id\":\"u-1\",\"kind\":\"user\"}],"
        "\"ttlMs\":1000,\"placement\":{\"provider_pool\":\"p\"},\"state\":\"paused\",\"provider\":"
        "\"local\","
        "\"templateId\":\"py\",\"templateVersion\":\"1.0\",\"recovery\":\"manual\","
        "\"mounts\":[{\"accessTicketId\":\"t-1\",\"alias\":\"src\",\"mode\":\"read_only\","
        "\"spaceId\":\"sp-1\"}]}",
        "{\"provider\":\"local\",\"state\":\"paused\",\"placement\":{\"provider_pool\":\"p\"},"
        "\"ttlMs\":1000,"
        "\"ttlPausedTimeCounts\":true,\"alias\":\"büro\","
        "\"owners\":[{\"kind\":\"agent\",\"id\":\"u-2\"},{\"kind\":\"user\",\"id\":\"u-1\"}],"
        "\"profile\":{\"a\":\"\",\"python\":\"3.12\"},\"resources\":{\"cpuCount\":1,\"memoryMb\":"
        "128,\"diskMb\":512},"
        "\"egressRules\":[{\"action\":\"allow\",\"target\":\"example.org\"}],\"templateId\":\"py\","
        "\"templateVersion\":\"1.0\",\"delegationId\":\"dlg-1\","
        "\"mounts\":[{\"alias\":\"src\",\"spaceId\":\"sp-1\",\"mode\":\"read_only\","
        "\"accessTicketId\":\"t-1\"}],"
        "\"session\":{\"sessionId\":\"ses-1\",\"autoStart\":true,\"idlePauseAfterSeconds\":180,"
        "\"idlePauseEnabled\":true,\"credential\":{\"source\":\"agent\","
        "\"virtualUserId\":\"abcdef00-0000-0000-0000-00000000000f\"},"
        "\"providerConfig\":{\"a\":null,\"z\":{\"x\":[{\"p\":-2,\"q\":1}],\"y\":1.5}},"
        "\"init\":{\"commands\":[\"b\",\"a\"]}},"
        "\"checkpoints\":{\"auto\":\"before_pause\",\"keepLast\":10,\"keepPinned\":true,"
        "\"pendingTimeoutMs\":600000},"
        "\"recovery\":\"manual\",\"rewind\":{\"checkpoint\":null,\"mode\":\"restore\",\"token\":"
        "\"r-1\"},"
        "\"resumeOnUse\":false,\"keepCheckpoints\":false,\"skillEnv\":{\"A\":\"1\",\"b\":\"2\"},"
        "\"providerLeaseSeconds\":1200}");
}

static void // NOLINTNEXTLINE(readability-function-size): one table.
test_bounds_and_words(void **state)
{
    (void) state;
    static const struct slu_change_case rows[] = {
        {"provider", "\"my.local_1-x\"", ALLOWED},
        {"provider", "*128", ALLOWED},
        {"provider", "*129", "spec.provider",
         "provider must be 1 to 128 characters of A-Z a-z 0-9 . _ -"},
        {"provider", "\"\"", "spec.provider", NULL},
        {"provider", "\"a/b\"", "spec.provider", "\"a/b\" is not allowed"},
        {"provider", "null", "spec.provider", "null is not allowed"},
        {"provider", "7", "spec.provider", "7 is not allowed"},

        {"state", "\"running\"", ALLOWED},
        {"state", "\"paused\"", ALLOWED},
        {"state", "\"stopped\"", ALLOWED},
        {"state", "\"deleted\"", ALLOWED},
        {"state", "\"Running\"", "spec.state",
         "state must be one of running, paused, stopped, deleted"},
        {"state", "true", "spec.state", "true is not allowed"},

        {"placement", NULL, "spec.placement", "missing"},
        {"placement", "null", "spec.placement", "null is not allowed"},
        {"placement", "[]", "spec.placement", "a list of 0 is not allowed"},
        {"placement", "{}", "spec.placement", "exactly one of computer, provider_pool"},
        {"placement", "{\"computer\":\"c\",\"provider_pool\":\"p\"}", "spec.placement",
         "exactly one of"},
        {"placement", "{\"computer\":\"c/1\"}", "spec.placement.computer", NULL},
        {"placement", "{\"provider_pool\":\"\"}", "spec.placement.provider_pool",
         "1 to 128 characters"},
        {"placement.provider_pool", "*128", ALLOWED},
        {"placement.provider_pool", "*129", "spec.placement.provider_pool", NULL},
        {"placement", "{\"providerPool\":\"p\"}", "spec.placement.providerPool", "unknown field"},

        {"ttlMs", "1000", ALLOWED},
        {"ttlMs", "999", "spec.ttlMs",
         "999 is not allowed: ttlMs must be between 1000 and 31536000000"},
        {"ttlMs", "31536000000", ALLOWED},
        {"ttlMs", "31536000001", "spec.ttlMs", NULL},
        {"ttlMs", "1e3", "spec.ttlMs", "ttlMs must be a whole number between"},
        {"ttlMs", "1000.0", "spec.ttlMs", "1000.0 is not allowed"},
        {"ttlMs", "\"1000\"", "spec.ttlMs", "\"1000\" is not allowed"},
        {"ttlMs", "-1", "spec.ttlMs", "-1 is not allowed"},
        {"ttlMs", NULL, "spec.ttlMs", "exactly one of ttlMs, expiresAtMs"},
        {"ttlMs", "null", "spec.ttlMs", "exactly one of ttlMs, expiresAtMs"},
        {"expiresAtMs", "1796006712000", "spec.ttlMs", "exactly one of ttlMs, expiresAtMs"},

        {"ttlPausedTimeCounts", "false", ALLOWED},
        {"ttlPausedTimeCounts", "0", "spec.ttlPausedTimeCounts", "must be true or false"},
        {"ttlPausedTimeCounts", "null", "spec.ttlPausedTimeCounts", "null is not allowed"},

        {"alias", "*1", ALLOWED},
        {"alias", "*128", ALLOWED},
        {"alias", "*129", "spec.alias", "a text of 1 to 128 characters"},
        {"alias", "\"\"", "spec.alias", NULL},
        {"alias", "null", ALLOWED},
        {"alias", "\"a\\nb\"", "spec.alias", "control characters"},
        {"alias", "\"a\\u007f\"", "spec.alias", "control characters"},
        {"alias", "\"a\\u0085\"", "spec.alias", "control characters"},
        {"alias", "\"a\\u00a0b\"", ALLOWED},

        {"owners", "[{\"kind\":\"user\",\"id\":\"u-1\"},{\"kind\":\"agent\",\"id\":\"u-1\"}]",
         ALLOWED},
        {"owners", "[{\"kind\":\"user\",\"id\":\"u\"},{\"id\":\"u\",\"kind\":\"user\"}]",
         "spec.owners[1]", "the same as member 0"},
        {"owners", "#64 {\"kind\":\"user\",\"id\":\"u%d\"}", ALLOWED},
        {"owners", "#65 {\"kind\":\"user\",\"id\":\"u%d\"}", "spec.owners",
         "a list of 65 is not allowed: owners must be a list of at most 64 members"},
        {"owners", "[{\"kind\":\"group\",\"id\":\"g\"}]", "spec.owners[0].kind",
         "one of user, agent"},
        {"owners", "[{\"kind\":\"user\"}]", "spec.owners[0].id", "missing"},
        {"owners", "[{\"kind\":\"user\",\"id\":\"\"}]", "spec.owners[0].id", "1 to 256 characters"},
        {"owners", "[{\"kind\":\"user\",\"id\":\"a\\tb\"}]", "spec.owners[0].id",
         "control characters"},
        {"owners", "[null]", "spec.owners[0]", "null is not allowed"},
        {"owners", "null", "spec.owners", "null is not allowed"},

        {"profile", "@64 \"v\"", ALLOWED},
        {"profile", "@65 \"v\"", "spec.profile", "at most 64"},
        {"profile", "{\"\":\"v\"}", "spec.profile", NULL},
        {"profile", "{\"k\":1}", "spec.profile.k", "1 is not allowed"},
        {"profile.k", "*4096", ALLOWED},
        {"profile.k", "*4097", "spec.profile.k", "at most 4096 characters"},

        {"resources", "{\"cpuCount\":1,\"memoryMb\":128,\"diskMb\":512}", ALLOWED},
        {"resources", "{\"cpuCount\":64,\"memoryMb\":131072,\"diskMb\":1048576}", ALLOWED},
        {"resources", "{\"cpuCount\":0,\"memoryMb\":128,\"diskMb\":512}", "spec.resources.cpuCount",
         "cpuCount must be between 1 and 64"},
        {"resources", "{\"cpuCount\":65,\"memoryMb\":128,\"diskMb\":512}",
         "spec.resources.cpuCount",
         "spec.resources.cpuCount: 65 is not allowed: cpuCount must be between 1 and 64"},
        {"resources", "{\"cpuCount\":1,\"memoryMb\":127,\"diskMb\":512}", "spec.resources.memoryMb",
         "memoryMb must be between 128 and 131072"},
        {"resources", "{\"cpuCount\":1,\"memoryMb\":131073,\"diskMb\":512}",
         "spec.resources.memoryMb", NULL},
        {"resources", "{\"cpuCount\":1,\"memoryMb\":128,\"diskMb\":511}", "spec.resources.diskMb",
         "diskMb must be between 512 and 1048576"},
        {"resources", "{\"cpuCount\":1,\"memoryMb\":128,\"diskMb\":1048577}",
         "spec.resources.diskMb", NULL},
        {"resources", "{\"cpuCount\":1,\"memoryMb\":128}", "spec.resources.diskMb", "missing"},
        {"resources", "{\"cpus\":1}", "spec.resources.cpus",
         "unknown field; known fields are cpuCount, memoryMb, diskMb"},
        {"resources", "null", ALLOWED},

        {"snapshotId", "\"snap-1\"", ALLOWED},
        {"snapshotId", "\"snap 1\"", "spec.snapshotId", NULL},
        {"templateId", "\"py\"", "spec.templateVersion", "missing"},
        {"templateVersion", "\"1.0\"", "spec.templateVersion", "without templateId"},
        {"delegationId", "\"dlg-1\"", ALLOWED},
        {"delegationId", "\"\"", "spec.delegationId", NULL},

        {"recovery", "\"manual\"", ALLOWED},
        {"recovery", "\"never\"", "spec.recovery", "one of replace, manual"},
        {"resumeOnUse", "true", ALLOWED},
        {"resumeOnUse", "\"true\"", "spec.resumeOnUse", NULL},
        {"keepCheckpoints", "true", ALLOWED},
        {"keepCheckpoints", "1", "spec.keepCheckpoints", NULL},
        {"providerLeaseSeconds", "60", ALLOWED},
        {"providerLeaseSeconds", "59", "spec.providerLeaseSeconds", "between 60 and 86400"},
        {"providerLeaseSeconds", "86400", ALLOWED},
        {"providerLeaseSeconds", "86401", "spec.providerLeaseSeconds", NULL},

        {"accessTicketToken", "\"slt.secret\"", "spec.accessTicketToken",
         "unknown field; known fields are provider, state, placement"},
    };
    check_changes(SLU_KIND_SANDBOX, valid, rows, SLU_COUNT(rows));
}

static void
test_absolute_deadlines_stand_alone(void **state)
{
    (void) state;
    static const char absolute[] =
        "{\"placement\":{\"computer\":\"c-1\"},\"expiresAtMs\":1796006712000}";
    static const struct slu_change_case rows[] = {
        {"expiresAtMs", "1", ALLOWED},
        {"expiresAtMs", "0", "spec.expiresAtMs", NULL},
        {"expiresAtMs", "9007199254740991", ALLOWED},
        {"expiresAtMs", "9007199254740992", "spec.expiresAtMs", "between 1 and 9007199254740991"},
        {"expiresAtMs", NULL, "spec.ttlMs", "exactly one of ttlMs, expiresAtMs"},
        {"ttlMs", "1000", "spec.ttlMs", "both are there"},
    };
    check_changes(SLU_KIND_SANDBOX, absolute, rows, SLU_COUNT(rows));
}

static void
test_a_template_excludes_a_snapshot(void **state)
{
    (void) state;
    static const char templated[] = "{\"placement\":{\"computer\":\"c-1\"},\"ttlMs\":1000,"
                                    "\"templateId\":\"py\",\"templateVersion\":\"1.0\"}";
    static const struct slu_change_case rows[] = {
        {"templateVersion", "\"2.0\"", ALLOWED},
        {"snapshotId", "\"snap-1\"", "spec.snapshotId", "together with templateId"},
        {"templateVersion", NULL, "spec.templateVersion", "must be there when templateId is"},
    };
    check_changes(SLU_KIND_SANDBOX, templated, rows, SLU_COUNT(rows));
}

static void
test_egress_rules(void **state)
{
    (void) state;
    static const struct slu_change_case rows[] = {
        {"egressRules", "[]", ALLOWED},
        {"egressRules",
         "[{\"target\":\"10.0.0.0/8\"},{\"action\":\"deny\",\"target\":\"10.0.0.0/8\"}]", ALLOWED},
        {"egressRules", "[{\"target\":\"a.b\"},{\"action\":\"allow\",\"target\":\"a.b\"}]",
         "spec.egressRules[1]", "the same as member 0"},
        {"egressRules", "#256 {\"target\":\"h%d.example.org\"}", ALLOWED},
        {"egressRules", "#257 {\"target\":\"h%d.example.org\"}", "spec.egressRules", "at most 256"},
        {"egressRules", "[{\"action\":\"block\",\"target\":\"a.b\"}]", "spec.egressRules[0].action",
         "one of allow, deny"},
        {"egressRules", "[{}]", "spec.egressRules[0].target", "missing"},
        {"egressRules", "[{\"action\":\"deny\",\"target\":\"example.org\"}]",
         "spec.egressRules[0].target", "\"example.org\" is not allowed"},
        {"egressRules", "[{\"action\":\"deny\",\"target\":\"2001:db8::/32\"}]", ALLOWED},
    };
    check_changes(SLU_KIND_SANDBOX, valid, rows, SLU_COUNT(rows));
}

static void
test_mounts(void **state)
{
    (void) state;
#define MOUNT(alias, mode, rest)                                     \
    "{\"alias\":\"" alias "\",\"spaceId\":\"sp-1\",\"mode\":\"" mode \
    "\",\"accessTicketId\":\"t-1\"" rest "}"
    static const struct slu_change_case rows[] = {
        {"mounts",
         "[" MOUNT("a", "read_only", "") "," MOUNT("b", "direct_write",
                                                   "") "," MOUNT("c", "copy_on_write", "") "]",
         ALLOWED},
        {"mounts", "[" MOUNT("a", "read_only", "") "," MOUNT("a", "direct_write", "") "]",
         "spec.mounts", "alias \"a\" is there twice"},
        {"mounts", "[" MOUNT("a", "write", "") "]", "spec.mounts[0].mode",
         "one of read_only, direct_write, copy_on_write"},
        {"mounts", "[" MOUNT("a", "read_only", ",\"pathPrefix\":\"src/lib\"") "]", ALLOWED},
        {"mounts", "[" MOUNT("a", "read_only", ",\"pathPrefix\":\"/src\"") "]",
         "spec.mounts[0].pathPrefix", "a relative path"},
        {"mounts", "[" MOUNT("a", "read_only", ",\"pathPrefix\":\"src/../x\"") "]",
         "spec.mounts[0].pathPrefix", NULL},
        {"mounts", "[" MOUNT("a", "read_only", ",\"accessTicketToken\":\"slt.x\"") "]",
         "spec.mounts[0].accessTicketToken", "unknown field"},
        {"mounts", "#32 " MOUNT("m%d", "read_only", ""), ALLOWED},
        {"mounts", "#33 " MOUNT("m%d", "read_only", ""), "spec.mounts", "at most 32"},
        {"mounts", "[{\"alias\":\"a\",\"spaceId\":\"sp-1\",\"mode\":\"read_only\"}]",
         "spec.mounts[0].accessTicketId", "missing"},
    };
    check_changes(SLU_KIND_SANDBOX, valid, rows, SLU_COUNT(rows));
}

static void
test_session_members(void **state)
{
    (void) state;
    static const struct slu_change_case rows[] = {
        {"session", "{}", "spec.session.sessionId", "missing"},
        {"session", "null", ALLOWED},
        {"session.autoStart", "false", ALLOWED},
        {"session.autoStart", "null", "spec.session.autoStart", "null is not allowed"},
        {"session.idlePauseAfterSeconds", "1", ALLOWED},
        {"session.idlePauseAfterSeconds", "0", "spec.session.idlePauseAfterSeconds",
         "between 1 and 86400"},
        {"session.idlePauseAfterSeconds", "86400", ALLOWED},
        {"session.idlePauseAfterSeconds", "86401", "spec.session.idlePauseAfterSeconds", NULL},
        {"session.idlePauseEnabled", "false", ALLOWED},

        {"session.credential", "{\"source\":\"none\"}", ALLOWED},
        {"session.credential", "{}", "spec.session.credential.source", "missing"},
        {"session.credential", "{\"source\":\"none\",\"virtualUserId\":" UUID "}",
         "spec.session.credential.virtualUserId", "must not be there when source is none"},
        {"session.credential", "{\"source\":\"session_user\"}",
         "spec.session.credential.virtualUserId", "must be there when source is session_user"},
        {"session.credential", "{\"source\":\"session_user\",\"virtualUserId\":" UUID "}", ALLOWED},
        {"session.credential", "{\"source\":\"agent\",\"virtualUserId\":" UUID "}", ALLOWED},
        {"session.credential",
         "{\"source\":\"agent\",\"virtualUserId\":" UUID ",\"connectionId\":" UUID "}",
         "spec.session.credential.connectionId", "must not be there when source is agent"},
        {"session.credential", "{\"source\":\"organization\",\"virtualUserId\":" UUID "}",
         "spec.session.credential.connectionId", "must be there when source is organization"},
        {"session.credential",
         "{\"source\":\"organization\",\"virtualUserId\":" UUID ",\"connectionId\":" UUID "}",
         ALLOWED},
        {"session.credential", "{\"source\":\"organization\",\"connectionId\":" UUID "}",
         "spec.session.credential.virtualUserId", NULL},
        {"session.credential", "{\"source\":\"user\"}", "spec.session.credential.source",
         "one of none, session_user, agent, organization"},
        {"session.credential", "{\"source\":\"agent\",\"virtualUserId\":\"u-1\"}",
         "spec.session.credential.virtualUserId", "a UUID"},
        {"session.credential",
         "{\"source\":\"agent\",\"virtualUserId\":\"00000000-0000-0000-0000-00000000000g\"}",
         "spec.session.credential.virtualUserId", NULL},

        {"session.providerConfig", "{\"a\":[1,2.5,\"x\",null,true]}", ALLOWED},
        {"session.providerConfig", "[]", "spec.session.providerConfig",
         "an object of at most 65536 bytes"},
        {"session.providerConfig.a", "*65528", ALLOWED}, /* {"a":"…"} adds 8 bytes. */
        {"session.providerConfig.a", "*65529", "spec.session.providerConfig", NULL},
        {"session.providerConfig", "{\"a\":[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]}", ALLOWED},
        {"session.providerConfig", "{\"a\":[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]}",
         "spec.session.providerConfig", "nested at most 16 deep"},

        {"session.init", "{}", ALLOWED},
        {"session.init.commands", "#64 \"c%d\"", ALLOWED},
        {"session.init.commands", "#65 \"c%d\"", "spec.session.init.commands", "at most 64"},
        {"session.init.commands", "[\"\"]", "spec.session.init.commands[0]", "1 to 16384 bytes"},
        {"session.init.commands", "[1]", "spec.session.init.commands[0]",
         "1 is not allowed: commands[0] must be"},
    };
    check_changes(SLU_KIND_SANDBOX, with_session, rows, SLU_COUNT(rows));
}

/* `size` bytes made of characters of three bytes: bytes are counted, not characters. */
static json_t *
spec_with_commands(size_t count, size_t size)
{
    char *command = malloc(size + 1);
    assert_non_null(command);
    memset(command, 'a', size);
    memcpy(command, "✓✓", 6);
    command[size] = '\0';

    json_t *spec = parse_json(with_session);
    json_t *commands = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(commands, json_string(command));
    json_object_set_new(json_object_get(spec, "session"), "init",
                        json_pack("{s:o}", "commands", commands));
    free(command);
    return spec;
}

static void
test_init_commands_are_bounded_one_by_one_and_together(void **state)
{
    (void) state;

    static const struct {
        size_t count, size;
        const char *refused_path;
    } cases[] = {
        {1, 16384, NULL},
        {1, 16385, "spec.session.init.commands[0]"},
        {8, 16384, NULL},
        {9, 16384, "spec.session.init.commands"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        json_t *spec = spec_with_commands(cases[i].count, cases[i].size);
        struct slu_refusal refusal = {0};
        json_t *decoded =
            slu_fields_decode(slu_spec_fields(SLU_KIND_SANDBOX), spec, "spec", &refusal);
        assert_string_equal(refusal.path, cases[i].refused_path ? cases[i].refused_path : "");
        assert_int_equal(decoded != NULL, cases[i].refused_path == NULL);
        json_decref(decoded);
        json_decref(spec);
    }
}

static void
test_checkpoint_policy_and_rewind(void **state)
{
    (void) state;
    static const struct slu_change_case rows[] = {
        {"checkpoints.auto", "\"none\"", ALLOWED},
        {"checkpoints.auto", "\"after_exec\"", ALLOWED},
        {"checkpoints.auto", "\"afterExec\"", "spec.checkpoints.auto",
         "one of none, after_exec, before_pause"},
        {"checkpoints.keepLast", "1", ALLOWED},
        {"checkpoints.keepLast", "0", "spec.checkpoints.keepLast", "between 1 and 100"},
        {"checkpoints.keepLast", "100", ALLOWED},
        {"checkpoints.keepLast", "101", "spec.checkpoints.keepLast", NULL},
        {"checkpoints.maxAgeMs", "60000", ALLOWED},
        {"checkpoints.maxAgeMs", "59999", "spec.checkpoints.maxAgeMs", NULL},
        {"checkpoints.maxAgeMs", "9007199254740991", ALLOWED},
        {"checkpoints.maxAgeMs", "9007199254740992", "spec.checkpoints.maxAgeMs", NULL},
        {"checkpoints.keepPinned", "false", ALLOWED},
        {"checkpoints.pendingTimeoutMs", "1000", ALLOWED},
        {"checkpoints.pendingTimeoutMs", "999", "spec.checkpoints.pendingTimeoutMs", NULL},
        {"checkpoints.pendingTimeoutMs", "86400000", ALLOWED},
        {"checkpoints.pendingTimeoutMs", "86400001", "spec.checkpoints.pendingTimeoutMs", NULL},
        {"checkpoints", "null", "spec.checkpoints", "null is not allowed"},

        {"rewind", "{\"checkpoint\":\"cp-1\",\"token\":\"r\"}", ALLOWED},
        {"rewind", "{\"checkpoint\":null,\"token\":\"r\",\"mode\":\"pointer\"}", ALLOWED},
        {"rewind", "{\"token\":\"r\"}", "spec.rewind.checkpoint", "missing"},
        {"rewind", "{\"checkpoint\":\"a/b\",\"token\":\"r\"}", "spec.rewind.checkpoint", "or null"},
        {"rewind", "{\"checkpoint\":null}", "spec.rewind.token", "missing"},
        {"rewind", "{\"checkpoint\":null,\"token\":\"\"}", "spec.rewind.token",
         "the value is not allowed"},
        {"rewind", "{\"checkpoint\":null,\"token\":\"r\",\"mode\":\"undo\"}", "spec.rewind.mode",
         "one of restore, pointer"},
        {"rewind", "null", ALLOWED},
    };
    check_changes(SLU_KIND_SANDBOX, valid, rows, SLU_COUNT(rows));
}

static void
test_skill_env_names_and_sizes(void **state)
{
    (void) state;
    static const struct slu_change_case rows[] = {
        {"skillEnv", "{\"_a1\":\"\",\"B\":\"x y\"}", ALLOWED},
        {"skillEnv", "{\"1a\":\"\"}", "spec.skillEnv.1a",
         "a letter or _, then letters, digits and _"},
        {"skillEnv", "{\"a-b\":\"\"}", "spec.skillEnv.a-b", NULL},
        {"skillEnv", "{\"\":\"\"}", "spec.skillEnv", NULL},
        {"skillEnv", "@128 \"v\"", ALLOWED},
        {"skillEnv", "@129 \"v\"", "spec.skillEnv", "at most 128"},
        {"skillEnv.A", "*32768", ALLOWED},
        {"skillEnv.A", "*32769", "spec.skillEnv.A", "at most 32768 bytes"},
    };
    check_changes(SLU_KIND_SANDBOX, valid, rows, SLU_COUNT(rows));
}

/* Names and values together: 2 × (1 + 32,767) is the 64 KiB that are allowed. */
static void
test_skill_env_is_bounded_as_a_whole(void **state)
{
    (void) state;
    for (int over = 0; over <= 1; over++) {
        json_t *spec = parse_json(valid);
        change_member(spec, "skillEnv.A", "*32767");
        change_member(spec, "skillEnv.B", over ? "*32768" : "*32767");
        struct slu_refusal refusal = {0};
        json_t *decoded =
            slu_fields_decode(slu_spec_fields(SLU_KIND_SANDBOX), spec, "spec", &refusal);
        assert_int_equal(decoded == NULL, over);
        assert_string_equal(refusal.path, over ? "spec.skillEnv" : "");
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
        {"provider", NULL, "\"e2b\"", SLU_CODE_NONE, NULL}, /* The default, written out. */
        {"state", "\"running\"", "\"paused\"", SLU_CODE_NONE, NULL},
        {"placement.provider_pool", "\"a\"", "\"b\"", SLU_CODE_INVALID, "spec.placement"},
        {"ttlMs", "1000", "2000", SLU_CODE_NONE, NULL},
        {"ttlPausedTimeCounts", "true", "false", SLU_CODE_NONE, NULL},
        {"alias", NULL, "\"a\"", SLU_CODE_NONE, NULL},
        {"owners", "[]", "[{\"kind\":\"user\",\"id\":\"u\"}]", SLU_CODE_NONE, NULL},
        {"profile", "{}", "{\"a\":\"b\"}", SLU_CODE_INVALID, NULL},
        {"resources", NULL, "{\"cpuCount\":1,\"memoryMb\":128,\"diskMb\":512}",
         SLU_CODE_CAPABILITY_UNSUPPORTED, NULL},
        {"egressRules", NULL, "[]", SLU_CODE_CAPABILITY_UNSUPPORTED, NULL},
        {"snapshotId", "\"a\"", "\"b\"", SLU_CODE_INVALID, NULL},
        {"snapshotId", NULL, "\"b\"", SLU_CODE_INVALID, NULL},
        {"snapshotId", "\"a\"", NULL, SLU_CODE_INVALID, NULL},
        {"delegationId", NULL, "\"b\"", SLU_CODE_INVALID, NULL},
        {"mounts", "[]",
         "[{\"alias\":\"a\",\"spaceId\":\"s\",\"mode\":\"read_only\",\"accessTicketId\":\"t\"}]",
         SLU_CODE_INVALID, NULL},
        {"session.sessionId", "\"a\"", "\"b\"", SLU_CODE_INVALID, NULL},
        {"session.autoStart", "true", "false", SLU_CODE_NONE, NULL},
        {"session.idlePauseAfterSeconds", "1", "2", SLU_CODE_NONE, NULL},
        {"session.idlePauseEnabled", "true", "false", SLU_CODE_NONE, NULL},
        {"session.credential", NULL, "{\"source\":\"agent\",\"virtualUserId\":" UUID "}",
         SLU_CODE_INVALID, NULL},
        {"session.providerConfig", "{\"a\":1}", "{\"a\":2}", SLU_CODE_INVALID, NULL},
        {"session.init.commands", "[\"a\"]", "[\"b\"]", SLU_CODE_NONE, NULL},
        {"session", "{\"sessionId\":\"s\"}", NULL, SLU_CODE_INVALID, "spec.session.sessionId"},
        {"session", NULL, "{\"sessionId\":\"s\"}", SLU_CODE_INVALID, "spec.session.sessionId"},
        {"checkpoints.keepLast", "1", "2", SLU_CODE_NONE, NULL},
        {"recovery", "\"replace\"", "\"manual\"", SLU_CODE_NONE, NULL},
        {"rewind", NULL, "{\"checkpoint\":null,\"token\":\"r\"}", SLU_CODE_NONE, NULL},
        {"resumeOnUse", "false", "true", SLU_CODE_NONE, NULL},
        {"keepCheckpoints", "false", "true", SLU_CODE_NONE, NULL},
        {"skillEnv", "{}", "{\"A\":\"1\"}", SLU_CODE_NONE, NULL},
        {"providerLeaseSeconds", "60", "61", SLU_CODE_NONE, NULL},
    };
    for (size_t i = 0; i < SLU_COUNT(rows); i++) {
        const bool of_session = strncmp(rows[i].where, "session.", 8) == 0;
        check_follow(SLU_KIND_SANDBOX, of_session ? with_session : valid, &rows[i]);
    }
}

static void
test_a_template_is_chosen_once(void **state)
{
    (void) state;
    static const char templated[] = "{\"placement\":{\"computer\":\"c-1\"},\"ttlMs\":1000,"
                                    "\"templateId\":\"py\",\"templateVersion\":\"1.0\"}";
    static const struct slu_follow_case rows[] = {
        {"templateId", "\"py\"", "\"js\"", SLU_CODE_INVALID, NULL},
        {"templateVersion", "\"1.0\"", "\"1.1\"", SLU_CODE_INVALID, NULL},
    };
    check_follows(SLU_KIND_SANDBOX, templated, rows, SLU_COUNT(rows));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_the_contracts),
        cmocka_unit_test(test_session_defaults_are_the_contracts),
        cmocka_unit_test(test_absent_and_empty_egress_rules_stay_apart),
        cmocka_unit_test(test_canonical_text_is_in_table_order_and_sorted),
        cmocka_unit_test(test_bounds_and_words),
        cmocka_unit_test(test_absolute_deadlines_stand_alone),
        cmocka_unit_test(test_a_template_excludes_a_snapshot),
        cmocka_unit_test(test_egress_rules),
        cmocka_unit_test(test_mounts),
        cmocka_unit_test(test_session_members),
        cmocka_unit_test(test_init_commands_are_bounded_one_by_one_and_together),
        cmocka_unit_test(test_checkpoint_policy_and_rewind),
        cmocka_unit_test(test_skill_env_names_and_sizes),
        cmocka_unit_test(test_skill_env_is_bounded_as_a_whole),
        cmocka_unit_test(test_what_a_later_generation_may_change),
        cmocka_unit_test(test_a_template_is_chosen_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
