/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice providers`: the instances of the --config file, each asked for its health. */
#include "cli.h"
#include "output.h"
#include "slu/base/memory.h"
#include "slu/model/instance.h"
#include "slu/provider/provider.h"

#include <curl/curl.h>
#include <jansson.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEALTH_MS = 3000
};

struct health {
    bool good;
    double ms;
    char text[CURL_ERROR_SIZE + 32];
};

/* The parameters are libcurl's. */
/* NOLINTBEGIN(readability-non-const-parameter) */
static size_t
drop_body(char *bytes, size_t unit, size_t count, void *context)
{
    (void) bytes;
    (void) context;
    return unit * count;
}

/* NOLINTEND(readability-non-const-parameter) */

/* GET <url>/health needs no key and changes nothing. */
static void
ask_health(const char *url, struct health *ret)
{
    char whole[300], error[CURL_ERROR_SIZE] = "";
    snprintf(whole, sizeof(whole), "%s/health", url);
    CURL *easy = curl_easy_init();
    if (!easy)
        abort();
    curl_easy_setopt(easy, CURLOPT_URL, whole);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long) HEALTH_MS);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop_body);
    const CURLcode code = curl_easy_perform(easy);
    long status = 0;
    curl_off_t microseconds = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &microseconds);
    curl_easy_cleanup(easy);
    ret->ms = (double) microseconds / 1000;
    ret->good = code == CURLE_OK && status >= 200 && status < 300;
    if (code != CURLE_OK)
        snprintf(ret->text, sizeof(ret->text), "%s", error[0] ? error : curl_easy_strerror(code));
    else
        snprintf(ret->text, sizeof(ret->text), "HTTP %ld", status);
}

static void
write_capabilities(const char *const *capabilities, char *ret_text, size_t size)
{
    ret_text[0] = '\0';
    for (size_t used = 0; capabilities && *capabilities && used < size; capabilities++) {
        snprintf(ret_text + used, size - used, "%s%s", used ? " " : "", *capabilities);
        used = strlen(ret_text);
    }
}

static void
print_json(const struct slu_provider_instance *instance,
           const struct slu_provider *type,
           const struct health *health)
{
    json_t *line = json_pack("{s:s, s:s, s:s, s:b, s:s, s:f, s:i, s:i}", "name", instance->name,
                             "type", instance->type, "url", instance->url, "healthy", health->good,
                             "answer", health->text, "ms", health->ms, "concurrent",
                             instance->concurrent, "perSecond", instance->per_second);
    json_t *capabilities = json_array(), *pools = json_array();
    for (const char *const *one = type ? type->capabilities : NULL; one && *one; one++)
        json_array_append_new(capabilities, json_string(*one));
    for (int i = 0; i < instance->pool_count; i++)
        json_array_append_new(pools, json_string(instance->pools[i]));
    json_object_set_new(line, "capabilities", capabilities);
    json_object_set_new(line, "pools", pools);
    json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(4));
    putchar('\n');
    json_decref(line);
}

static bool
show(const struct cli *cli, struct table *table, const struct slu_provider_instance *instance)
{
    const struct slu_provider *type = slu_provider_find(instance->type);
    struct health health = {0};
    char capabilities[400];
    ask_health(instance->url, &health);
    write_capabilities(type ? type->capabilities : NULL, capabilities, sizeof(capabilities));
    if (cli->options.json) {
        print_json(instance, type, &health);
        return health.good && type;
    }
    table_cell(table, TONE_PLAIN, "%s", instance->name);
    table_cell(table, type ? TONE_PLAIN : TONE_BAD, "%s%s", instance->type,
               type ? "" : " (not built in)");
    table_cell(table, TONE_PLAIN, "%s", instance->url);
    table_cell(table, health.good ? TONE_GOOD : TONE_BAD, "%s", health.good ? "ok" : health.text);
    table_cell(table, TONE_PLAIN, "%.0f ms", health.ms);
    table_cell(table, TONE_PLAIN, "%d at once, %d/s", instance->concurrent, instance->per_second);
    table_cell(table, TONE_PLAIN, "%s", capabilities);
    return health.good && type;
}

int
cli_providers(struct cli *cli)
{
    static const char *const titles[] = {"NAME",   "TYPE",   "URL",         "HEALTH",
                                         "ANSWER", "LIMITS", "CAPABILITIES"};
    if (!cli->settings.config[0]) {
        complain(
            "providers: which file? --config FILE (SLU_CONFIG) names the one the reconciler uses");
        return CLI_USAGE;
    }
    json_error_t where;
    json_t *file = json_load_file(cli->settings.config, JSON_REJECT_DUPLICATES, &where);
    const char *name;
    json_t *value;
    struct table *table = table_new(titles, SLU_COUNT(titles));
    int status = CLI_OK;
    if (json_object_size(json_object_get(file, "providers")) == 0)
        fprintf(stderr, "%s names no providers.\n", cli->settings.config);
    json_object_foreach(json_object_get(file, "providers"), name, value)
    {
        struct slu_provider_instance instance = {0};
        struct slu_error error;
        if (slu_instance_read(name, value, &instance, &error)) {
            complain("%s: %s", cli->settings.config, error.message);
            status = CLI_USAGE;
            continue;
        }
        if (!show(cli, table, &instance) && status == CLI_OK)
            status = CLI_UNHEALTHY;
        slu_instance_done(&instance);
    }
    if (!cli->options.json)
        table_print(table);
    table_free(table);
    json_decref(file);
    return status;
}
