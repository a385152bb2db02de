/* SPDX-License-Identifier: Apache-2.0 */
/* Events of sluice.events, read and shown. */
#ifndef SLU_CLI_HISTORY_H
#define SLU_CLI_HISTORY_H

#include "cli.h"
#include "slu/model/key.h"
#include "slu/model/record.h"

#include <jansson.h>

struct happening {
    int64_t at_ms;
    int partition;
    int64_t offset;
    char key[600];
    char verb[64];
    json_t *event; /* CloudEvent in structured form. */
};

struct history {
    struct happening *items;
    size_t count;
};

/* What this record tells; false when it is no event. The caller ends it. */
bool happening_read(const struct slu_record *record, struct happening *ret);
void happening_done(struct happening *happening);

/* Events in the last `last` records of each shard (0: all), of `key` ("": any), oldest first.
 * Shard −1: every one. */
int
history_read(const struct cli *cli, const char *key, int shard, int64_t last, struct history *ret);
void history_done(struct history *history);

void happening_print(const struct cli *cli, const struct happening *happening);

#endif
