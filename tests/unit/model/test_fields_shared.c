/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that rows share, through a sandbox's members: egress targets, paths, names. */
#include "unit/model/decode_support.h"

static bool
is_allowed(const char *where, json_t *value)
{
    json_t *spec = parse_json("{\"placement\":{\"computer\":\"c-1\"},\"ttlMs\":1000}");
    json_object_set_new(spec, where, value);
    struct slu_refusal refusal;
    json_t *decoded = slu_fields_decode(slu_spec_fields(SLU_KIND_SANDBOX), spec, "spec", &refusal);
    const bool allowed = decoded;
    json_decref(decoded);
    json_decref(spec);
    return allowed;
}

/* Contract-map §2.2. */
static void
test_egress_targets_are_addresses_networks_or_domains(void **state)
{
    (void) state;

    static const struct {
        const char *target;
        bool allowed;
    } cases[] = {
        {"1.2.3.4", true},
        {"255.255.255.255", true},
        {"256.1.1.1", false},
        {"1.2.3", false},
        {"01.2.3.4", false},
        {"1.2.3.4 ", false},
        {"10.0.0.0/8", true},
        {"10.1.0.0/8", false}, /* Host bits. */
        {"10.1.0.0/16", true},
        {"0.0.0.0/0", true},
        {"1.2.3.4/32", true},
        {"1.2.3.4/33", false},
        {"1.2.3.4/", false},
        {"1.2.3.4/+8", false},
        {"1.2.3.4/08", false},
        {"::1", true},
        {"2001:db8::/32", true},
        {"2001:db8::1/32", false},
        {"2001:db8::1/128", true},
        {"::/0", true},
        {"::1/129", false},
        {"[::1]", false},
        {"fe80::1%eth0", false},
        {"example.org", true},
        {"localhost", true},
        {"a-b.example", true},
        {"*.example.org", true},
        {"*", false},
        {"*.", false},
        {"*.*.org", false},
        {"a.*.org", false},
        {"Example.org", false},
        {"example.org.", false},
        {".example.org", false},
        {"a..b", false},
        {"-a.org", false},
        {"a-.org", false},
        {"a_b.org", false},
        {"bücher.example", false},
        {"xn--bcher-kva.example", true},
        {"example.123", false},
        {"http://example.org", false},
        {"example.org:443", false},
        {"", false},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        json_t *rules = json_pack("[{s:s}]", "target", cases[i].target);
        if (is_allowed("egressRules", rules) != cases[i].allowed)
            fail_msg("\"%s\" should be %s", cases[i].target,
                     cases[i].allowed ? "allowed" : "refused");
    }
}

static void
test_domain_labels_have_at_most_63_characters(void **state)
{
    (void) state;
    char target[64 + sizeof(".org")];
    for (size_t size = 63; size <= 64; size++) {
        memset(target, 'a', size);
        memcpy(target + size, ".org", sizeof(".org"));
        assert_int_equal(is_allowed("egressRules", json_pack("[{s:s}]", "target", target)),
                         size == 63);
    }
}

/* Behaviour rule 39: relative, normalized, at most 4,096 bytes. */
static void
test_paths_are_relative_and_normalized(void **state)
{
    (void) state;

    static const struct {
        const char *path;
        bool allowed;
    } cases[] = {
        {"a", true},     {"a/b.c", true},  {"...", true},     {".a", true},  {"a/..b", true},
        {"ä/✓", true},   {"", false},      {"/", false},      {"/a", false}, {"a/", false},
        {"a//b", false}, {".", false},     {"./a", false},    {"..", false}, {"a/..", false},
        {"../a", false}, {"a/./b", false}, {"a/../b", false},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        json_t *mounts = json_pack("[{s:s,s:s,s:s,s:s,s:s}]", "alias", "a", "spaceId", "s", "mode",
                                   "read_only", "accessTicketId", "t", "pathPrefix", cases[i].path);
        if (is_allowed("mounts", mounts) != cases[i].allowed)
            fail_msg("\"%s\" should be %s", cases[i].path,
                     cases[i].allowed ? "allowed" : "refused");
    }
}

static void
test_paths_have_at_most_4096_bytes(void **state)
{
    (void) state;
    for (size_t size = 4096; size <= 4097; size++) {
        char path[4098];
        memset(path, 'a', size);
        path[size] = '\0';
        json_t *mounts = json_pack("[{s:s,s:s,s:s,s:s,s:s}]", "alias", "a", "spaceId", "s", "mode",
                                   "read_only", "accessTicketId", "t", "pathPrefix", path);
        assert_int_equal(is_allowed("mounts", mounts), size == 4096);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_egress_targets_are_addresses_networks_or_domains),
        cmocka_unit_test(test_domain_labels_have_at_most_63_characters),
        cmocka_unit_test(test_paths_are_relative_and_normalized),
        cmocka_unit_test(test_paths_have_at_most_4096_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
