/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator may set. Every row of the table in config.c is a flag, a variable, a member of
 * the --config file and a line of --help. */
#ifndef SLU_HOST_CONFIG_H
#define SLU_HOST_CONFIG_H

#include "slu/base/settings.h"
#include "slu/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct slu_host_config {
    char config[1024];
    char listen[128];
    char state_dir[1024];
    char api_key_file[1024];
    char log_level[16];
    bool log_json;
    int64_t sandboxes_max;
    int64_t timeout_max_s;
    int64_t cpu_count;
    int64_t memory_mb;
    int64_t disk_mb;
    int64_t processes_max;
    int64_t upload_max_mb;
    int64_t uid_base;
    char bubblewrap[1024];
    char init[1024];
};

enum slu_status slu_host_config_load(int *argc,
                                     char **argv,
                                     char **environment,
                                     struct slu_host_config *ret_config,
                                     struct slu_error *reterr);
void slu_host_config_help(FILE *out);

#endif
