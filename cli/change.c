/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice pause`, `resume`, `stop`, `delete`, `redrive`: small changes to a sandbox that is there.
 * A change of state is the accepted spec with another state, published under `ifGeneration`, so
 * that it never undoes what somebody else wished meanwhile. */
#include "cli.h"
#include "judgement.h"
#include "output.h"
#include "resources.h"
#include "slu/base/memory.h"
#include "slu/model/key.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The address of a sandbox by its word on the command line. */
static int
address(const struct cli *cli, const char *word, struct kafka_message *ret)
{
    struct selection selection = {0};
    struct slu_key key;
    struct slu_refusal refusal;
    if (!selection_read_sandbox(word, &selection) ||
        !slu_key_parse(selection.key, strlen(selection.key), &key, &refusal))
        return CLI_USAGE;
    const int shards = kafka_shard_count(cli);
    if (shards == 0)
        return CLI_FAILED;
    *ret = (struct kafka_message){.offset = -1};
    judgement_address(&key, shards, ret);
    return CLI_OK;
}

/* What the leader wrote last about it: from the log, since a view may lag behind it. */
static int
read_status(const struct cli *cli, const char *key, struct resources *ret)
{
    struct selection selection = {0};
    snprintf(selection.key, sizeof(selection.key), "%s", key);
    const int status = resources_read_log(cli, &selection, ret);
    if (status == CLI_OK && ret->count == 0) {
        complain("there is no %s", key);
        hint("`sluice get sandbox` lists those there are");
        return CLI_NOT_FOUND;
    }
    return status;
}

/* The document that wishes `state`, or for NULL what is wished already. The caller frees. */
static char *
write_document(const json_t *status, const char *state)
{
    json_t *document = json_object();
    static const char *const kept[] = {"kind", "id", "scope"};
    for (size_t i = 0; i < SLU_COUNT(kept); i++)
        json_object_set(document, kept[i], json_object_get(status, kept[i]));
    if (state)
        json_object_set(document, "ifGeneration", json_object_get(status, "observedGeneration"));
    json_t *spec = json_copy(json_object_get(status, "spec"));
    if (state)
        json_object_set_new(spec, "state", json_string(state));
    json_object_set_new(document, "spec", spec);
    char *text = json_dumps(document, JSON_COMPACT);
    json_decref(document);
    return text;
}

static int
publish_again(struct cli *cli, const char *state)
{
    struct kafka_message message;
    struct resources found = {0};
    int status = address(cli, cli->argv[0], &message);
    if (status == CLI_OK)
        status = read_status(cli, message.key, &found);
    if (status == CLI_OK) {
        char *text = write_document(found.items[0].status, state);
        message.value = text;
        message.size = strlen(text);
        message.redrive = state == NULL;
        status = judgement_publish(cli, &message, 1);
        if (status == CLI_REFUSED && state)
            hint("REVISION_CONFLICT means that somebody changed it meanwhile: look, and try again");
        free(text);
    }
    resources_done(&found);
    return status;
}

int
cli_pause(struct cli *cli)
{
    return publish_again(cli, "paused");
}

int
cli_resume(struct cli *cli)
{
    return publish_again(cli, "running");
}

int
cli_stop(struct cli *cli)
{
    return publish_again(cli, "stopped");
}

int
cli_redrive(struct cli *cli)
{
    return publish_again(cli, NULL);
}

/* A tombstone needs nothing that is there. */
int
cli_delete(struct cli *cli)
{
    struct kafka_message message;
    const int status = address(cli, cli->argv[0], &message);
    return status == CLI_OK ? judgement_publish(cli, &message, 1) : status;
}
