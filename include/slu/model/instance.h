/* SPDX-License-Identifier: Apache-2.0 */
/* Configured provider instances: the members of the settings' object `providers`. */
#ifndef SLU_MODEL_INSTANCE_H
#define SLU_MODEL_INSTANCE_H

#include "slu/base/status.h"
#include "slu/model/key.h"
#include "slu/model/sandbox.h"

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

/* A configured provider instance: settings only (one member of the settings' `providers`). */
struct slu_provider_instance {
    char name[SLU_ID_MAX + 1];
    char type[32];
    char url[256];      /* Without a trailing slash. */
    char data_url[256]; /* envd of every sandbox; "" = by the provider's own rule. */
    char api_key_file[256];
    char api_key[256]; /* Read from the file by the shell; wiped when replaced. */
    char *pools[16];
    int pool_count;
    char default_template[129];
    int32_t default_cpu_count, default_memory_mb, default_disk_mb; /* 0: contract default. */
    int32_t concurrent;                                            /* Calls open at once. */
    int32_t per_second;                                            /* Calls started per second. */
    int64_t timeout_ms[SLU_ACTION_COUNT]; /* Call time-outs, behaviour.md 8a; setting member
                                             `timeoutsMs`: {"create": 60000, …}. */
    int64_t resync_ms;                    /* Every wanted resource is looked at this often. */
    const char *const *capabilities; /* Of its type; set by the program from lib/provider. Sorted,
                                        NULL-terminated; contract-map §2.10. */
};

/* Reads one member of `providers`; unknown members, wrong types and values out of bounds are
 * refused with the member's path. Defaults: pools ["default"], concurrent 50, perSecond 20,
 * defaultTemplate "base", time-outs of behaviour.md 8a, resyncSeconds 60. The API key is read from
 * apiKeyFile by the program, not here. `type` is checked by the program against lib/provider. */
enum slu_status slu_instance_read(const char *name,
                                  const json_t *value,
                                  struct slu_provider_instance *ret_instance,
                                  struct slu_error *reterr);
void slu_instance_done(struct slu_provider_instance *instance); /* Wipes the key, frees pools. */
bool slu_instance_has(const struct slu_provider_instance *instance, const char *capability);

#endif
