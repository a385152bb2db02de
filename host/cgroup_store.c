/* SPDX-License-Identifier: Apache-2.0 */
/* A small JSON file: for each controller its version and the parent of our groups. */
#include "cgroup_store.h"

#include "atomic_file.h"
#include "slu/base/memory.h"

#include <jansson.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FILE_MAX = 64 * 1024
};

static const char file_name[] = "cgroups.json";

bool
slu_cgroups_recall(const char *state_dir, struct slu_cgroups *ret_cgroups)
{
    char path[PATH_MAX];
    SLU_AUTO_FREE char *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "%s/%s", state_dir, file_name);
    if (slu_host_file_read(path, FILE_MAX, &text, &size, NULL))
        return false;

    struct slu_cgroups found = {0};
    int usable = 0, gone = 0;
    json_t *rows = json_loadb(text, size, 0, NULL);
    for (int i = 0; i < SLU_CGROUP_COUNT; i++) {
        const json_t *row = json_object_get(rows, slu_cgroup_names[i]);
        const char *parent = json_string_value(json_object_get(row, "parent"));
        const json_int_t version = json_integer_value(json_object_get(row, "version"));
        if (!parent || (version != 1 && version != 2) || strlen(parent) >= sizeof(found.parent[i]))
            continue;
        memcpy(found.parent[i], parent, strlen(parent) + 1);
        found.version[i] = (int) version;
        usable += access(parent, W_OK) == 0;
        gone += access(parent, W_OK) != 0;
    }
    json_decref(rows);
    *ret_cgroups = found;
    return usable > 0 && gone == 0;
}

enum slu_status
slu_cgroups_remember(const char *state_dir,
                     const struct slu_cgroups *cgroups,
                     struct slu_error *reterr)
{
    json_t *rows = json_object();
    for (int i = 0; i < SLU_CGROUP_COUNT; i++) {
        if (cgroups->version[i])
            json_object_set_new(rows, slu_cgroup_names[i],
                                json_pack("{s:i, s:s}", "version", cgroups->version[i], "parent",
                                          cgroups->parent[i]));
    }
    char *text = json_dumps(rows, JSON_INDENT(1));
    json_decref(rows);
    const enum slu_status status =
        slu_host_file_write(state_dir, file_name, text, strlen(text), reterr);
    free(text);
    return status;
}
