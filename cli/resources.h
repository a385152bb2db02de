/* SPDX-License-Identifier: Apache-2.0 */
/* Status documents for commands: from the views in Redis, which are quick, or when Redis is away
 * from sluice.status itself, which is always right and takes longer; the change is said. */
#ifndef SLU_CLI_RESOURCES_H
#define SLU_CLI_RESOURCES_H

#include "cli.h"
#include "slu/base/buffer.h"

#include <jansson.h>

/* Which resources are asked for. */
struct selection {
    char key[600];                /* One resource by its whole key; or "". */
    char kind[32];                /* All of a kind; or "". */
    char id[160];                 /* With `kind`: a child whose root was not given. */
    const char *tenant, *project; /* "" for all. */
};

/* "sandbox", "sandboxes", "sandbox/a", "checkpoint/a/cp-1", "checkpoint/cp-1". False: complained.
 */
bool selection_read(const char *word, struct selection *ret_selection);

/* A sandbox given by id or by key, as pause, delete, … take it. False: complained. */
bool selection_read_sandbox(const char *word, struct selection *ret_selection);
bool selection_matches(const struct selection *selection, const char *key, const json_t *status);

struct resource {
    char *key;
    char *text; /* The document as it was written. */
    size_t size;
    json_t *status;
};

struct resources {
    struct resource *items;
    size_t count;
};

/* CLI_OK, sorted by key; CLI_FAILED: complained. Finding nothing is CLI_OK with none. */
int resources_read(const struct cli *cli, const struct selection *selection, struct resources *ret);

/* The same from Kafka alone: what the leaders wrote, not what Redis has of it yet. */
int
resources_read_log(const struct cli *cli, const struct selection *selection, struct resources *ret);

/* From Redis alone. CLI_FAILED: it is away, or has no view; `ret_why` says so. */
int resources_read_views(const struct cli *cli,
                         const struct selection *selection,
                         struct resources *ret,
                         char *ret_why,
                         size_t why_size);

/* Takes the text; NULL when it is no JSON object. */
const struct resource *resources_add(
    struct resources *resources, const char *key, size_t key_size, const char *text, size_t size);
void resources_remove(struct resources *resources, const char *key, size_t key_size);
void resources_sort(struct resources *resources);
void resources_done(struct resources *resources);

/* Members along a path of names, "a.b.c"; "" or 0 when absent. */
const json_t *member(const json_t *document, const char *path);
const char *member_text(const json_t *document, const char *path);
int64_t member_number(const json_t *document, const char *path);

/* The condition of this type; NULL. */
const json_t *condition(const json_t *status, const char *type);

/* The pointers of the shards' views, for `sluice shards`. */
struct view_pointer {
    bool there;
    long long epoch, seq;
    char url[256], view[64];
};

int views_pointers(
    const struct cli *cli, int count, struct view_pointer *ret, char *ret_why, size_t size);

#endif
