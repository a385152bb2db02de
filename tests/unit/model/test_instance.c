/* SPDX-License-Identifier: Apache-2.0 */
/* Provider instances: defaults of behaviour.md 8a, bounds, and errors that name the path. */
#include "slu/base/macros.h"
#include "slu/model/instance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static enum slu_status
read_instance(const char *name,
              const char *text,
              struct slu_provider_instance *ret_instance,
              struct slu_error *reterr)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    const enum slu_status status = slu_instance_read(name, value, ret_instance, reterr);
    json_decref(value);
    return status;
}

static void
test_defaults_are_those_of_the_documents(void **state)
{
    (void) state;

    static const struct {
        enum slu_action action;
        int64_t timeout_ms;
    } timeouts[] = {
        {SLU_ACTION_INSPECT, 10000},     {SLU_ACTION_CREATE, 60000},  {SLU_ACTION_RESUME, 60000},
        {SLU_ACTION_PAUSE, 60000},       {SLU_ACTION_DELETE, 30000},  {SLU_ACTION_INIT, 600000},
        {SLU_ACTION_CHECKPOINT, 600000}, {SLU_ACTION_REWIND, 600000}, {SLU_ACTION_RESTORE, 600000},
        {SLU_ACTION_EXTEND, 30000},
    };
    struct slu_provider_instance instance;
    struct slu_error error = {0};
    assert_int_equal(read_instance("local",
                                   "{\"type\":\"local\",\"url\":\"http://127.0.0.1:7070\"}",
                                   &instance, &error),
                     SLU_OK);
    assert_string_equal(instance.name, "local");
    assert_string_equal(instance.type, "local");
    assert_string_equal(instance.url, "http://127.0.0.1:7070");
    assert_string_equal(instance.data_url, "");
    assert_string_equal(instance.api_key_file, "");
    assert_string_equal(instance.default_template, "base");
    assert_int_equal(instance.pool_count, 1);
    assert_string_equal(instance.pools[0], "default");
    assert_int_equal(instance.default_cpu_count, 0);
    assert_int_equal(instance.concurrent, 50);
    assert_int_equal(instance.per_second, 20);
    assert_int_equal(instance.resync_ms, 60000);
    for (size_t i = 0; i < SLU_COUNT(timeouts); i++)
        assert_int_equal(instance.timeout_ms[timeouts[i].action], timeouts[i].timeout_ms);
    slu_instance_done(&instance);
    assert_int_equal(instance.pool_count, 0);
}

static void
test_every_member_is_read(void **state)
{
    (void) state;
    struct slu_provider_instance instance;
    struct slu_error error = {0};
    assert_int_equal(
        read_instance("e2b-eu",
                      "{\"type\":\"e2b\",\"url\":\"https://api.example.org/"
                      "v1\",\"dataUrl\":\"http://127.0.0.1:1\","
                      "\"apiKeyFile\":\"/run/key\",\"pools\":[\"gpu\"],"
                      "\"defaultResources\":{\"cpuCount\":2,\"memoryMb\":256,\"diskMb\":1024},"
                      "\"defaultTemplate\":\"py\",\"concurrent\":7,\"perSecond\":9,"
                      "\"timeoutsMs\":{\"create\":1234},\"resyncSeconds\":5}",
                      &instance, &error),
        SLU_OK);
    assert_string_equal(instance.data_url, "http://127.0.0.1:1");
    assert_string_equal(instance.api_key_file, "/run/key");
    assert_int_equal(instance.pool_count, 2); /* `default` always exists. */
    assert_string_equal(instance.pools[0], "gpu");
    assert_string_equal(instance.pools[1], "default");
    assert_int_equal(instance.default_cpu_count, 2);
    assert_int_equal(instance.default_memory_mb, 256);
    assert_int_equal(instance.default_disk_mb, 1024);
    assert_string_equal(instance.default_template, "py");
    assert_int_equal(instance.concurrent, 7);
    assert_int_equal(instance.per_second, 9);
    assert_int_equal(instance.timeout_ms[SLU_ACTION_CREATE], 1234);
    assert_int_equal(instance.timeout_ms[SLU_ACTION_DELETE], 30000);
    assert_int_equal(instance.resync_ms, 5000);
    slu_instance_done(&instance);
}

static void
test_wrong_members_are_refused_by_their_path(void **state)
{
    (void) state;
#define MINIMAL "\"type\":\"local\",\"url\":\"http://h\""

    static const struct {
        const char *name, *text, *message;
    } cases[] = {
        {"a/b", "{" MINIMAL "}", "providers: a name must be"},
        {"x", "[]", "providers.x: a list of 0 is not allowed"},
        {"x", "{\"url\":\"http://h\"}", "providers.x.type: missing"},
        {"x", "{\"type\":\"local\"}", "providers.x.url: missing"},
        {"x", "{\"type\":\"local\",\"url\":\"h\"}", "providers.x.url: \"h\" is not allowed"},
        {"x", "{\"type\":\"local\",\"url\":\"http://h/\"}", "without a trailing slash"},
        {"x", "{\"type\":\"local\",\"url\":\"http://\"}", "providers.x.url"},
        {"x", "{" MINIMAL ",\"apiKey\":\"hunter2\"}",
         "providers.x.apiKey: unknown field; known fields are type, url"},
        {"x", "{" MINIMAL ",\"concurrent\":0}",
         "providers.x.concurrent: 0 is not allowed: concurrent must be between 1 and 10000"},
        {"x", "{" MINIMAL ",\"perSecond\":\"20\"}", "providers.x.perSecond"},
        {"x", "{" MINIMAL ",\"timeoutsMs\":{\"list\":1000}}",
         "providers.x.timeoutsMs.list: unknown field; known fields are inspect, create"},
        {"x", "{" MINIMAL ",\"timeoutsMs\":{\"create\":99}}", "between 100 and 3600000"},
        {"x", "{" MINIMAL ",\"defaultResources\":{\"cpuCount\":65}}",
         "providers.x.defaultResources.cpuCount: 65 is not allowed"},
        {"x", "{" MINIMAL ",\"pools\":[\"a\",\"a\"]}", "providers.x.pools[1]"},
        {"x", "{" MINIMAL ",\"pools\":[\"\"]}", "providers.x.pools[0]"},
        {"x",
         "{" MINIMAL ",\"pools\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\","
         "\"11\",\"12\",\"13\",\"14\",\"15\",\"16\"]}",
         "providers.x.pools: 16 pools without \"default\""},
        {"x", "{" MINIMAL ",\"resyncSeconds\":0}", "providers.x.resyncSeconds"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct slu_provider_instance instance;
        struct slu_error error = {0};
        assert_int_equal(read_instance(cases[i].name, cases[i].text, &instance, &error),
                         SLU_INVALID);
        if (!strstr(error.message, cases[i].message) || strstr(error.message, "hunter2"))
            fail_msg("%s: %s", cases[i].text, error.message);
    }
}

static void
test_capabilities_are_looked_up_by_word(void **state)
{
    (void) state;
    static const char *const capabilities[] = {"exec", "pause", NULL};
    struct slu_provider_instance instance = {.capabilities = capabilities};
    assert_true(slu_instance_has(&instance, "pause"));
    assert_false(slu_instance_has(&instance, "resize"));
    instance.capabilities = NULL;
    assert_false(slu_instance_has(&instance, "pause"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_those_of_the_documents),
        cmocka_unit_test(test_every_member_is_read),
        cmocka_unit_test(test_wrong_members_are_refused_by_their_path),
        cmocka_unit_test(test_capabilities_are_looked_up_by_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
