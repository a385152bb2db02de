/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: precedence, bounds, unknown names, and the help text. */
#include "slu/base/macros.h"
#include "slu/base/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct config {
    char brokers[16];
    int64_t resync_ms;
    bool json;
    char password_file[32];
};

static const struct slu_setting rows[] = {
    {"kafka-brokers", SLU_SETTING_TEXT, offsetof(struct config, brokers), 16, "a:1", 0, 0,
     "Where Kafka is."},
    {"resync-ms", SLU_SETTING_NUMBER, offsetof(struct config, resync_ms), 8, "60000", 1000, 3600000,
     "How often."},
    {"log-json", SLU_SETTING_SWITCH, offsetof(struct config, json), 1, "false", 0, 0,
     "JSON lines."},
    {"password-file", SLU_SETTING_SECRET, offsetof(struct config, password_file), 32, "", 0, 0,
     "Of Redis."},
};

static const char *
file_with_brokers(void *context, const char *member)
{
    return strcmp(member, "kafkaBrokers") == 0 ? context : NULL;
}

/* Loads from words; argv[0] is added. */
static enum slu_status
load(const char *flags,
     char **environment,
     const char *in_file,
     struct config *config,
     struct slu_error *error)
{
    char text[256];
    char *argv[16] = {(char[]){"program"}};
    int argc = 1;
    snprintf(text, sizeof(text), "%s", flags);
    char *rest = text;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;

    char file_value[32] = "";
    if (in_file)
        snprintf(file_value, sizeof(file_value), "%s", in_file);
    return slu_settings_load(rows, SLU_COUNT(rows), &argc, argv, environment,
                             in_file ? file_with_brokers : NULL, file_value, config, error);
}

static void
test_defaults_fill_what_nobody_set(void **state)
{
    (void) state;
    struct config config;
    struct slu_error error;
    assert_int_equal(load("", NULL, NULL, &config, &error), SLU_OK);
    assert_string_equal(config.brokers, "a:1");
    assert_int_equal(config.resync_ms, 60000);
    assert_false(config.json);
    assert_string_equal(config.password_file, "");
}

static void
test_a_flag_beats_a_variable_beats_the_file_beats_the_default(void **state)
{
    (void) state;
    struct config config;
    struct slu_error error;
    char variable[] = "SLU_KAFKA_BROKERS=env:1";
    char *environment[] = {variable, NULL};

    assert_int_equal(load("", NULL, "file:1", &config, &error), SLU_OK);
    assert_string_equal(config.brokers, "file:1");
    assert_int_equal(load("", environment, "file:1", &config, &error), SLU_OK);
    assert_string_equal(config.brokers, "env:1");
    assert_int_equal(load("--kafka-brokers flag:1", environment, "file:1", &config, &error),
                     SLU_OK);
    assert_string_equal(config.brokers, "flag:1");
    assert_int_equal(load("--kafka-brokers=flag:2", environment, "file:1", &config, &error),
                     SLU_OK);
    assert_string_equal(config.brokers, "flag:2");
}

static void
test_a_bare_switch_means_true(void **state)
{
    (void) state;

    static const struct {
        const char *flags;
        bool value;
    } cases[] = {
        {"--log-json", true},
        {"--log-json=yes", true},
        {"--log-json=1", true},
        {"--log-json=no", false},
        {"--log-json --log-json=false", false},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct config config;
        struct slu_error error;
        assert_int_equal(load(cases[i].flags, NULL, NULL, &config, &error), SLU_OK);
        assert_int_equal(config.json, cases[i].value);
    }
}

static void
test_wrong_input_is_refused_with_what_would_be_right(void **state)
{
    (void) state;
    char unknown[] = "SLU_KAFKA_BROKER=x";
    char bad_number[] = "SLU_RESYNC_MS=soon";
    char *unknown_environment[] = {unknown, NULL};
    char *bad_environment[] = {bad_number, NULL};

    const struct {
        const char *flags;
        char **environment;
        const char *message;
    } cases[] = {
        {"--kafka-broker=x", NULL, "--kafka-broker: unknown flag; did you mean --kafka-brokers?"},
        {"--kafka-brokers", NULL, "--kafka-brokers: a value must follow"},
        {"--kafka-brokers=1234567890123456", NULL,
         "--kafka-brokers: the text of 16 bytes is too long: at most 15 are allowed"},
        {"--resync-ms=999", NULL,
         "--resync-ms: \"999\" is not allowed: it must be a whole number between 1000 and 3600000"},
        {"--resync-ms=3600001", NULL, "between 1000 and 3600000"},
        {"--resync-ms=1e4", NULL, "must be a whole number"},
        {"--resync-ms=", NULL, "must be a whole number"},
        {"--resync-ms=99999999999999999999", NULL, "must be a whole number"},
        {"--log-json=maybe", NULL,
         "--log-json: \"maybe\" is not allowed: it must be true or false"},
        {"", unknown_environment, "SLU_KAFKA_BROKER: unknown variable"},
        {"", bad_environment, "SLU_RESYNC_MS: \"soon\" is not allowed"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct config config;
        struct slu_error error = {0};
        assert_int_equal(load(cases[i].flags, cases[i].environment, NULL, &config, &error),
                         SLU_INVALID);
        if (!strstr(error.message, cases[i].message))
            fail_msg("%s: %s", cases[i].flags, error.message);
    }
}

static void
test_bounds_themselves_are_allowed(void **state)
{
    (void) state;
    struct config config;
    struct slu_error error;
    assert_int_equal(load("--resync-ms=1000", NULL, NULL, &config, &error), SLU_OK);
    assert_int_equal(config.resync_ms, 1000);
    assert_int_equal(load("--resync-ms=3600000", NULL, NULL, &config, &error), SLU_OK);
    assert_int_equal(load("--kafka-brokers=123456789012345", NULL, NULL, &config, &error), SLU_OK);
    assert_string_equal(config.brokers, "123456789012345");
}

static void
test_what_is_no_flag_stays_in_order(void **state)
{
    (void) state;
    char words[][16] = {"program", "get", "--log-json", "sandbox/a", "-w", "--", "--not-a-flag"};
    char *argv[SLU_COUNT(words) + 1] = {0};
    for (size_t i = 0; i < SLU_COUNT(words); i++)
        argv[i] = words[i];
    int argc = SLU_COUNT(words);

    struct config config;
    struct slu_error error;
    assert_int_equal(
        slu_settings_load(rows, SLU_COUNT(rows), &argc, argv, NULL, NULL, NULL, &config, &error),
        SLU_OK);
    assert_int_equal(argc, 5);
    assert_string_equal(argv[1], "get");
    assert_string_equal(argv[2], "sandbox/a");
    assert_string_equal(argv[3], "-w");
    assert_string_equal(argv[4], "--not-a-flag");
    assert_null(argv[5]);
    assert_true(config.json);
}

static void
test_peek_finds_one_flag_without_loading(void **state)
{
    (void) state;
    char words[][16] = {"program", "--config", "a.json", "--log-json"};
    char *argv[] = {words[0], words[1], words[2], words[3], NULL};
    char variable[] = "SLU_CONFIG=b.json";
    char *environment[] = {variable, NULL};

    assert_string_equal(slu_settings_peek(4, argv, environment, "config"), "a.json");
    assert_string_equal(slu_settings_peek(1, argv, environment, "config"), "b.json");
    assert_null(slu_settings_peek(1, argv, NULL, "config"));
    assert_null(slu_settings_peek(2, (char *[]){words[0], words[1], NULL}, NULL, "config"));
}

static void
test_file_members_are_known_by_name(void **state)
{
    (void) state;
    assert_true(slu_settings_has_member(rows, SLU_COUNT(rows), "kafkaBrokers"));
    assert_true(slu_settings_has_member(rows, SLU_COUNT(rows), "resyncMs"));
    assert_false(slu_settings_has_member(rows, SLU_COUNT(rows), "kafka-brokers"));
    assert_false(slu_settings_has_member(rows, SLU_COUNT(rows), "kafkaBroker"));
}

static void
test_help_has_a_line_for_each_row(void **state)
{
    (void) state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    slu_settings_help(rows, SLU_COUNT(rows), out);
    fclose(out);
    assert_string_equal(
        text,
        "  --kafka-brokers TEXT             Where Kafka is. (default a:1; SLU_KAFKA_BROKERS)\n"
        "  --resync-ms NUMBER               How often. (default 60000; 1000…3600000; "
        "SLU_RESYNC_MS)\n"
        "  --log-json                       JSON lines. (default false; SLU_LOG_JSON)\n"
        "  --password-file FILE             Of Redis. (SLU_PASSWORD_FILE)\n");
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_fill_what_nobody_set),
        cmocka_unit_test(test_a_flag_beats_a_variable_beats_the_file_beats_the_default),
        cmocka_unit_test(test_a_bare_switch_means_true),
        cmocka_unit_test(test_wrong_input_is_refused_with_what_would_be_right),
        cmocka_unit_test(test_bounds_themselves_are_allowed),
        cmocka_unit_test(test_what_is_no_flag_stays_in_order),
        cmocka_unit_test(test_peek_finds_one_flag_without_loading),
        cmocka_unit_test(test_file_members_are_known_by_name),
        cmocka_unit_test(test_help_has_a_line_for_each_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
