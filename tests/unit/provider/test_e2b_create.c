/* SPDX-License-Identifier: Apache-2.0 */
/* CREATE's body: template, sizes, environment, and what is refused rather than left out. */
#include "../../../lib/provider/e2b.h"
#include "exchange.h"

static const struct slu_e2b_dialect e2b_like = {.egress = true};
static const struct slu_e2b_dialect host_like = {.sized = true};

static const struct {
    const char *name;
    const struct slu_e2b_dialect *dialect;
    const char *spec;
    const char *expect;  /* Part of the body; NULL: refused. */
    const char *refused; /* Part of the message. */
} cases[] = {
    /* clang-format off */
    {"default template", &e2b_like, "{}", "{\"templateID\":\"base\",\"timeout\":1200,\"autoPause\":true,", NULL},
    {"template of the session", &e2b_like, "{\"session\":{\"providerConfig\":{\"template\":\"py:3\"}}}", "{\"templateID\":\"py:3\",", NULL},
    {"an empty template is none", &e2b_like, "{\"session\":{\"providerConfig\":{\"template\":\"\"}}}", "{\"templateID\":\"base\",", NULL},
    {"environment", &e2b_like, "{\"skillEnv\":{\"A\":\"1\"}}", "\"envVars\":{\"A\":\"1\"}", NULL},
    {"sizes of the spec", &host_like, "{\"resources\":{\"cpuCount\":4,\"memoryMb\":256,\"diskMb\":512}}", "\"cpuCount\":4,\"memoryMB\":256,\"diskSizeMB\":512}", NULL},
    {"sizes of the instance", &host_like, "{}", "\"cpuCount\":1,\"memoryMB\":128}", NULL},
    {"everything allowed", &host_like, "{\"egressRules\":[]}", "\"allow_internet_access\":true", NULL},
    {"everything denied", &host_like, "{\"egressRules\":[{\"action\":\"deny\",\"target\":\"0.0.0.0/0\"}]}", "\"allow_internet_access\":false", NULL},
    {"single rules at a host", &host_like, "{\"egressRules\":[{\"action\":\"allow\",\"target\":\"a.example\"}]}", NULL, "spec.egressRules"},
    {"snapshot", &e2b_like, "{\"snapshotId\":\"s\"}", NULL, "spec.snapshotId"},
    {"template version", &e2b_like, "{\"templateId\":\"s\"}", NULL, "spec.templateId"},
    {"mounts", &e2b_like, "{\"mounts\":[{}]}", NULL, "spec.mounts"},
    {"computer", &e2b_like, "{\"placement\":{\"computer\":\"c\"}}", NULL, "spec.placement.computer"},
    /* clang-format on */
};

static void
test_create_body_says_the_spec_or_refuses_it(void **state)
{
    (void) state;
    struct slu_provider_instance instance = exchange_instance("local", "http://h:1");
    instance.default_cpu_count = 1;
    instance.default_memory_mb = 128;
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct slu_call *call = exchange_call(SLU_ACTION_CREATE, cases[i].spec);
        SLU_AUTO_BUFFER struct slu_buffer body = {0};
        struct slu_error error = {0};
        enum slu_status status =
            slu_e2b_create_body(cases[i].dialect, &instance, call, false, &body, &error);
        if (cases[i].expect && (status || !strstr(body.data, cases[i].expect)))
            fail_msg("%s: %s %s", cases[i].name, error.message, body.data);
        if (cases[i].refused && (status != SLU_INVALID || !strstr(error.message, cases[i].refused)))
            fail_msg("%s: %d %s", cases[i].name, (int) status, error.message);
        slu_call_free(call);
    }
}

static void
test_create_body_is_the_same_for_a_new_leader(void **state)
{
    (void) state;
    const struct slu_provider_instance instance = exchange_instance("local", "http://h:1");
    struct slu_call *call = exchange_call(SLU_ACTION_CREATE, "{}");
    SLU_AUTO_BUFFER struct slu_buffer before = {0};
    SLU_AUTO_BUFFER struct slu_buffer after = {0};
    struct slu_error error = {0};

    assert_int_equal(slu_e2b_create_body(&host_like, &instance, call, false, &before, &error),
                     SLU_OK);
    call->epoch++;
    call->call++;
    assert_int_equal(slu_e2b_create_body(&host_like, &instance, call, false, &after, &error),
                     SLU_OK);
    assert_string_equal(before.data, after.data);
    slu_call_free(call);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create_body_says_the_spec_or_refuses_it),
        cmocka_unit_test(test_create_body_is_the_same_for_a_new_leader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
