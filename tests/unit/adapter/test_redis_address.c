/* SPDX-License-Identifier: Apache-2.0 */
#include "slu/adapter/redis_address.h"
#include "slu/base/macros.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *url;
    const char *host; /* NULL: refused. */
    const char *user;
    int port, database;
    const char *says; /* Part of the refusal. */
} cases[] = {
    /* clang-format off */
    {"redis://localhost",              "localhost", "",     6379, 0, NULL},
    {"redis://10.0.0.7:7000",          "10.0.0.7",  "",     7000, 0, NULL},
    {"redis://10.0.0.7:7000/",         "10.0.0.7",  "",     7000, 0, NULL},
    {"redis://cache:7000/12",          "cache",     "",     7000, 12, NULL},
    {"redis://sluice@cache/3",         "cache",     "sluice", 6379, 3, NULL},
    {"redis://[::1]:7000/1",           "::1",       "",     7000, 1, NULL},
    {"redis://[::1]",                  "::1",       "",     6379, 0, NULL},
    {"rediss://cache",                 NULL, NULL, 0, 0, "redis://"},
    {"cache:6379",                     NULL, NULL, 0, 0, "redis://"},
    {"redis://:hunter2@cache",         NULL, NULL, 0, 0, "--redis-password-file"},
    {"redis://user:hunter2@cache",     NULL, NULL, 0, 0, "--redis-password-file"},
    {"redis://",                       NULL, NULL, 0, 0, "host"},
    {"redis://:7000",                  NULL, NULL, 0, 0, "host"},
    {"redis://cache:0",                NULL, NULL, 0, 0, "port"},
    {"redis://cache:65536",            NULL, NULL, 0, 0, "port"},
    {"redis://cache:70a",              NULL, NULL, 0, 0, "port"},
    {"redis://[::1",                   NULL, NULL, 0, 0, "host"},
    {"redis://[::1]7000",              NULL, NULL, 0, 0, "port"},
    {"redis://cache/one",              NULL, NULL, 0, 0, "database"},
    {"redis://cache/-1",               NULL, NULL, 0, 0, "database"},
    /* clang-format on */
};

static void
test_address_cases(void **state)
{
    (void) state;
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct slu_redis_address address;
        struct slu_error error = {0};
        const enum slu_status status = slu_redis_address_read(cases[i].url, &address, &error);
        if (!cases[i].host) {
            if (status != SLU_INVALID || !strstr(error.message, cases[i].says))
                fail_msg("%s: status %d, '%s'", cases[i].url, status, error.message);
            continue;
        }
        if (status != SLU_OK)
            fail_msg("%s: %s", cases[i].url, error.message);
        assert_string_equal(address.host, cases[i].host);
        assert_string_equal(address.user, cases[i].user);
        assert_int_equal(address.port, cases[i].port);
        assert_int_equal(address.database, cases[i].database);
    }
}

static void
test_a_password_in_the_url_is_never_repeated(void **state)
{
    (void) state;
    struct slu_redis_address address;
    struct slu_error error = {0};
    assert_int_equal(slu_redis_address_read("redis://u:hunter2@cache", &address, &error),
                     SLU_INVALID);
    assert_null(strstr(error.message, "hunter2"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_address_cases),
        cmocka_unit_test(test_a_password_in_the_url_is_never_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
