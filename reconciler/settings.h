/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that can be set, in one table; and the provider instances of the configuration file.
 * Secrets are never settings: only the paths of files that hold them are. */
#ifndef SLU_RECONCILER_SETTINGS_H
#define SLU_RECONCILER_SETTINGS_H

#include "slu/base/status.h"
#include "slu/model/instance.h"

#include <stdbool.h>
#include <stdint.h>

struct slu_settings {
    char config[1024];
    char kafka_brokers[1024];
    char kafka_properties_file[1024];
    char topic_prefix[128];
    char group[128];
    char client_id[128];
    int64_t session_timeout_ms;
    char redis_url[512];
    char redis_password_file[1024];
    char redis_key_prefix[64];
    char listen[128];
    char advertise[256];
    char default_provider[SLU_ID_MAX + 1];
    int64_t deleted_retention_seconds;
    char ca_file[1024];
    char log_level[16];
    bool log_json;

    struct slu_provider_instance *instances; /* In the order of the file. */
    int instance_count;
    char *kafka_properties; /* "name=value;…" of the file; "" without. */
};

/* Reads flags, environment and the file; answers --help and --version itself and says so in
 * `ret_answered`. */
enum slu_status slu_settings_read(int argc,
                                  char **argv,
                                  char **environment,
                                  struct slu_settings *ret_settings,
                                  bool *ret_answered,
                                  struct slu_error *reterr);
void slu_settings_done(struct slu_settings *settings); /* Wipes keys. */

/* One line with what is in force; files of secrets by path only. */
void slu_settings_log(const struct slu_settings *settings);

#endif
