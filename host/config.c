/* SPDX-License-Identifier: Apache-2.0 */
/* The table of settings and the file behind --config. */
#include "config.h"

#include <jansson.h>

#include <stddef.h>
#include <stdio.h>

#define TEXT(name, member, fallback, help)                                       \
    {                                                                            \
        name, SLU_SETTING_TEXT, offsetof(struct slu_host_config, member),        \
            sizeof(((struct slu_host_config *) 0)->member), fallback, 0, 0, help \
    }
#define NUMBER(name, member, fallback, min, max, help)                                       \
    {                                                                                        \
        name, SLU_SETTING_NUMBER, offsetof(struct slu_host_config, member), sizeof(int64_t), \
            fallback, min, max, help                                                         \
    }

static const struct slu_setting rows[] = {
    TEXT("config", config, "", "JSON file of settings, its members in camelCase"),
    TEXT("listen",
         listen,
         "127.0.0.1:4980",
         "loopback address and port of the HTTP API; port 0 takes a free one"),
    TEXT("state-dir",
         state_dir,
         "/var/lib/sluice-host",
         "folder of all state: sandboxes, fences, keys; made when missing"),
    TEXT("api-key-file",
         api_key_file,
         "",
         "file of API keys, one a line; empty: <state-dir>/api-key, made with a random key"),
    TEXT("log-level", log_level, "info", "debug, info, warn or error"),
    {"log-json", SLU_SETTING_SWITCH, offsetof(struct slu_host_config, log_json), sizeof(bool),
     "false", 0, 1, "log JSON objects instead of key=value lines"},
    NUMBER("max-sandboxes",
           sandboxes_max,
           "1000",
           1,
           100000,
           "sandboxes at once, paused ones included; more are refused with 429"),
    NUMBER("max-timeout-seconds",
           timeout_max_s,
           "86400",
           1,
           31536000,
           "longest time a sandbox may ask to live"),
    NUMBER("default-cpus", cpu_count, "2", 1, 64, "CPUs of a sandbox that names no cpuCount"),
    NUMBER("default-memory-mb",
           memory_mb,
           "1024",
           64,
           1048576,
           "memory of a sandbox that names no memoryMB"),
    NUMBER("default-disk-mb",
           disk_mb,
           "2048",
           64,
           1048576,
           "disk of a sandbox that names no diskSizeMB"),
    NUMBER(
        "max-processes", processes_max, "512", 16, 32768, "processes and threads in one sandbox"),
    NUMBER("max-upload-mb", upload_max_mb, "1024", 1, 65536, "largest upload of files at once"),
    NUMBER("uid-base",
           uid_base,
           "1880000000",
           1000,
           2147000000,
           "when run as root: sandbox number n runs as user id base + n"),
    TEXT("bubblewrap", bubblewrap, "/usr/bin/bwrap", "the bubblewrap program"),
    TEXT("init", init, "", "the init of sandboxes; empty: sluice-sandbox-init beside this program"),
};

static const char *
look_up(void *context, const char *member)
{
    static _Thread_local char text[64];
    const json_t *value = json_object_get(context, member);
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    if (!json_is_integer(value))
        return NULL;
    snprintf(text, sizeof(text), "%lld", (long long) json_integer_value(value));
    return text;
}

enum slu_status
slu_host_config_load(int *argc,
                     char **argv,
                     char **environment,
                     struct slu_host_config *ret_config,
                     struct slu_error *reterr)
{
    json_t *file = NULL;
    json_error_t where;
    const char *path = slu_settings_peek(*argc, argv, environment, "config");
    if (path && *path && !(file = json_load_file(path, JSON_REJECT_DUPLICATES, &where)))
        return slu_fail(reterr, SLU_INVALID, "--config %s: line %d: %s", path, where.line,
                        where.text);

    const char *member;
    json_t *unused;
    json_object_foreach(file, member, unused)
    {
        if (!slu_settings_has_member(rows, SLU_COUNT(rows), member)) {
            const enum slu_status unknown = slu_fail(
                reterr, SLU_INVALID, "--config %s: unknown member '%s'; see --help", path, member);
            json_decref(file);
            return unknown;
        }
    }

    const enum slu_status status =
        slu_settings_load(rows, SLU_COUNT(rows), argc, argv, environment, file ? look_up : NULL,
                          file, ret_config, reterr);
    json_decref(file);
    return status;
}

void
slu_host_config_help(FILE *out)
{
    slu_settings_help(rows, SLU_COUNT(rows), out);
}
