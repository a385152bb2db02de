/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include "secret_file.h"
#include "slu/base/buffer.h"
#include "slu/base/log.h"
#include "slu/base/memory.h"
#include "slu/base/settings.h"
#include "slu/provider/provider.h"

#include <jansson.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(member)                                         \
    SLU_SETTING_TEXT, offsetof(struct slu_settings, member), \
        sizeof(((struct slu_settings *) NULL)->member)
#define NUMBER(member) SLU_SETTING_NUMBER, offsetof(struct slu_settings, member), sizeof(int64_t)
#define SWITCH(member) SLU_SETTING_SWITCH, offsetof(struct slu_settings, member), sizeof(bool)
#define SECRET(member)                                         \
    SLU_SETTING_SECRET, offsetof(struct slu_settings, member), \
        sizeof(((struct slu_settings *) NULL)->member)

static const struct slu_setting rows[] = {
    /* clang-format off */
    {"config", TEXT(config), "", 0, 0, "JSON file with these settings by member name, and the object `providers`"},
    {"kafka-brokers", TEXT(kafka_brokers), "localhost:9092", 0, 0, "brokers to start from, host:port, comma-separated"},
    {"kafka-properties-file", SECRET(kafka_properties_file), "", 0, 0, "further librdkafka properties (TLS, SASL), one name=value a line"},
    {"topic-prefix", TEXT(topic_prefix), "sluice.", 0, 0, "what the topics' names begin with"},
    {"group", TEXT(group), "sluice-reconciler", 0, 0, "consumer group that elects the leader of each shard; all replicas share it"},
    {"client-id", TEXT(client_id), "sluice-reconciler", 0, 0, "how this replica names itself to the brokers"},
    {"session-timeout-ms", NUMBER(session_timeout_ms), "6000", 1000, 60000, "a replica silent this long loses its shards"},
    {"redis-url", TEXT(redis_url), "redis://localhost:6379", 0, 0, "where views and observations go"},
    {"redis-password-file", SECRET(redis_password_file), "", 0, 0, "file that holds the password"},
    {"redis-key-prefix", TEXT(redis_key_prefix), "slu:", 0, 0, "what the keys begin with"},
    {"listen", TEXT(listen), "127.0.0.1:0", 0, 0, "host:port of /metrics, /healthz, /readyz; port 0: any free one"},
    {"advertise", TEXT(advertise), "", 0, 0, "URL under which others reach this replica; empty: the address it listens on"},
    {"default-provider", TEXT(default_provider), "e2b", 0, 0, "provider instance of documents that name none"},
    {"deleted-retention-seconds", NUMBER(deleted_retention_seconds), "86400", 1, 31536000, "status of a deleted resource is kept this long"},
    {"ca-file", TEXT(ca_file), "", 0, 0, "certificates to trust for providers; empty: the system's"},
    {"log-level", TEXT(log_level), "info", 0, 0, "debug, info, warn or error"},
    {"log-json", SWITCH(log_json), "false", 0, 0, "log lines as JSON objects"},
    /* clang-format on */
};

static void
print_help(void)
{
    printf(
        "Usage: sluice-reconciler --config FILE [settings]\n"
        "\n"
        "Keeps agent sandboxes as their owners asked for them: reads desired documents from Kafka\n"
        "(sluice.desired), compares them with what the providers run, creates, resumes, pauses "
        "and\n"
        "deletes until both agree, and writes what it sees and does to Kafka (sluice.status,\n"
        "sluice.events) and Redis. Any number of replicas may run: each shard has one leader.\n"
        "\n"
        "Settings: a flag is stronger than its variable, a variable than the file's member.\n"
        "\n");
    slu_settings_help(rows, SLU_COUNT(rows), stdout);
    printf("\n"
           "Providers are members of the file's object `providers`:\n"
           "\n"
           "  {\"kafkaBrokers\": \"localhost:9092\", \"defaultProvider\": \"local\", "
           "\"providers\": {\n"
           "     \"local\": {\"type\": \"local\", \"url\": \"http://127.0.0.1:4000\",\n"
           "               \"apiKeyFile\": \"/etc/sluice/host.key\", \"concurrent\": 50}}}\n"
           "\n"
           "An apiKeyFile must be readable by its owner alone (chmod 600).\n"
           "\n"
           "SIGTERM or SIGINT: no new calls, at most 5 s for those in flight, commit, leave the "
           "group.\n"
           "Exit status: 0 asked to stop, 1 cannot go on, 2 wrong settings.\n");
}

/* --- the file -------------------------------------------------------------------------------- */

static const char *
member_text(void *context, const char *member)
{
    static char number[32]; /* Each is used before the next one is asked for. */
    const json_t *value = json_object_get(context, member);
    if (json_is_integer(value)) {
        snprintf(number, sizeof(number), "%lld", (long long) json_integer_value(value));
        return number;
    }
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    return json_string_value(value);
}

/* Whether `member` is `name` in camelCase. */
static bool
is_camel_case_of(const char *member, const char *name)
{
    for (; *name; name++, member++) {
        const bool upper = *name == '-';
        if (upper)
            name++;
        if (*member != (upper ? (char) toupper((unsigned char) *name) : *name))
            return false;
    }
    return *member == '\0';
}

static bool
is_member(const char *member)
{
    for (size_t i = 0; i < SLU_COUNT(rows); i++) {
        if (is_camel_case_of(member, rows[i].name))
            return true;
    }
    return false;
}

static enum slu_status
check_members(const char *path, json_t *file, struct slu_error *reterr)
{
    const char *name;
    json_t *value;
    json_object_foreach(file, name, value)
    {
        if (strcmp(name, "providers") == 0)
            continue;
        if (!is_member(name) || strcmp(name, "config") == 0)
            return slu_fail(reterr, SLU_INVALID,
                            "%s: unknown member \"%s\"; --help lists the settings", path, name);
        if (!json_is_string(value) && !json_is_integer(value) && !json_is_boolean(value)) {
            return slu_fail(reterr, SLU_INVALID,
                            "%s: member \"%s\" must be a string, a number or a boolean", path,
                            name);
        }
    }
    return SLU_OK;
}

static enum slu_status
read_file(const char *path, json_t **ret_file, struct slu_error *reterr)
{
    json_error_t where;
    json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(file)) {
        json_decref(file);
        return slu_fail(reterr, SLU_INVALID, "%s: no JSON object: %s, line %d", path,
                        file ? "something else" : where.text, where.line);
    }
    enum slu_status status = check_members(path, file, reterr);
    if (status)
        json_decref(file);
    else
        *ret_file = file;
    return status;
}

/* --- providers ------------------------------------------------------------------------------- */

static enum slu_status
read_instance(const char *name,
              const json_t *value,
              struct slu_provider_instance *ret_instance,
              struct slu_error *reterr)
{
    enum slu_status status = slu_instance_read(name, value, ret_instance, reterr);
    if (status)
        return status;
    const struct slu_provider *provider = slu_provider_find(ret_instance->type);
    if (!provider) {
        return slu_fail(reterr, SLU_INVALID,
                        "providers.%s.type: \"%s\" is not built in; e2b and local are", name,
                        ret_instance->type);
    }
    ret_instance->capabilities = provider->capabilities;
    if (ret_instance->api_key_file[0] == '\0')
        return SLU_OK;
    status = slu_secret_file_read(ret_instance->api_key_file, ret_instance->api_key,
                                  sizeof(ret_instance->api_key), reterr);
    if (status)
        slu_error_prefix(reterr, "providers.%s.apiKeyFile", name);
    return status;
}

static enum slu_status
read_instances(json_t *providers, struct slu_settings *settings, struct slu_error *reterr)
{
    if (!providers)
        return SLU_OK;
    if (!json_is_object(providers))
        return slu_fail(reterr, SLU_INVALID, "providers: must be an object of provider instances");

    settings->instances =
        slu_alloc((json_object_size(providers) + 1) * sizeof(*settings->instances));
    const char *name;
    json_t *value;
    json_object_foreach(providers, name, value)
    {
        enum slu_status status =
            read_instance(name, value, &settings->instances[settings->instance_count++], reterr);
        if (status)
            return status;
    }
    return SLU_OK;
}

/* --- librdkafka's own properties -------------------------------------------------------------- */

/* The file may hold passwords: it is read like one. Lines become "name=value;…". */
static enum slu_status
read_properties(struct slu_settings *settings, struct slu_error *reterr)
{
    char text[16 * 1024] = "";
    if (settings->kafka_properties_file[0] != '\0') {
        enum slu_status status =
            slu_secret_file_read(settings->kafka_properties_file, text, sizeof(text), reterr);
        if (status) {
            slu_error_prefix(reterr, "kafka-properties-file");
            return status;
        }
    }
    SLU_AUTO_BUFFER struct slu_buffer joined = {0};
    char *rest = NULL;
    for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        if (line[0] == '#')
            continue;
        if (!strchr(line, '=') || strchr(line, ';')) {
            return slu_fail(reterr, SLU_INVALID,
                            "%s: each line must be name=value without a semicolon",
                            settings->kafka_properties_file);
        }
        slu_buffer_printf(&joined, "%s%s", joined.size > 0 ? ";" : "", line);
    }
    settings->kafka_properties = slu_buffer_take(&joined);
    slu_secret_wipe(text, sizeof(text));
    return SLU_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool
answer(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help();
            return true;
        }
        if (strcmp(argv[i], "--version") == 0) {
            puts("sluice-reconciler " SLU_VERSION);
            return true;
        }
    }
    return false;
}

static enum slu_status
load(int argc,
     char **argv,
     char **environment,
     json_t *file,
     struct slu_settings *settings,
     struct slu_error *reterr)
{
    enum slu_log_level level;
    enum slu_status status = slu_settings_load(rows, SLU_COUNT(rows), &argc, argv, environment,
                                               member_text, file, settings, reterr);
    if (!status && argc > 1)
        status = slu_fail(reterr, SLU_INVALID, "%s: no argument is expected; see --help", argv[1]);
    if (!status && !slu_log_level_parse(settings->log_level, &level)) {
        status =
            slu_fail(reterr, SLU_INVALID, "log-level: \"%s\" is none of debug, info, warn, error",
                     settings->log_level);
    }
    if (!status)
        status = read_instances(json_object_get(file, "providers"), settings, reterr);
    if (!status)
        status = read_properties(settings, reterr);
    return status;
}

enum slu_status
slu_settings_read(int argc,
                  char **argv,
                  char **environment,
                  struct slu_settings *ret_settings,
                  bool *ret_answered,
                  struct slu_error *reterr)
{
    *ret_answered = answer(argc, argv);
    if (*ret_answered)
        return SLU_OK;

    json_t *file = NULL;
    const char *path = slu_settings_peek(argc, argv, environment, "config");
    enum slu_status status = SLU_OK;
    if (path && path[0] != '\0')
        status = read_file(path, &file, reterr);
    if (!status)
        status = load(argc, argv, environment, file, ret_settings, reterr);
    json_decref(file);
    return status;
}

void
slu_settings_done(struct slu_settings *settings)
{
    for (int i = 0; i < settings->instance_count; i++)
        slu_instance_done(&settings->instances[i]);
    slu_free_ptr(&settings->instances);
    settings->instance_count = 0;
    if (settings->kafka_properties)
        slu_secret_wipe(settings->kafka_properties, strlen(settings->kafka_properties));
    slu_free_ptr(&settings->kafka_properties);
}

void
slu_settings_log(const struct slu_settings *settings)
{
    SLU_LOG(INFO, "settings", SLU_TEXT("kafka_brokers", settings->kafka_brokers),
            SLU_TEXT("topic_prefix", settings->topic_prefix), SLU_TEXT("group", settings->group),
            SLU_TEXT("redis_url", settings->redis_url),
            SLU_TEXT("default_provider", settings->default_provider),
            SLU_INT("providers", settings->instance_count),
            SLU_INT("session_timeout_ms", settings->session_timeout_ms),
            SLU_INT("deleted_retention_seconds", settings->deleted_retention_seconds));
    for (int i = 0; i < settings->instance_count; i++) {
        const struct slu_provider_instance *instance = &settings->instances[i];
        SLU_LOG(INFO, "provider", SLU_TEXT("name", instance->name),
                SLU_TEXT("type", instance->type), SLU_TEXT("url", instance->url),
                SLU_INT("concurrent", instance->concurrent),
                SLU_INT("per_second", instance->per_second));
    }
}
