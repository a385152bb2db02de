/* SPDX-License-Identifier: Apache-2.0 */
#include "e2b.h"
#include "json.h"
#include "slu/model/time.h"

#include <string.h>

static size_t
id_length(const char *id)
{
    const char *suffix = strchr(id, '-');
    return suffix ? (size_t) (suffix - id) : strlen(id);
}

bool
slu_e2b_same_id(const char *one, const char *other)
{
    const size_t size = id_length(one);
    return size == id_length(other) && strncmp(one, other, size) == 0;
}

/* Words that are no life of an instance that is there. */
static bool
is_shown_life(int life)
{
    return life > SLU_LIFE_UNKNOWN && life != SLU_LIFE_ABSENT && life != SLU_LIFE_GONE;
}

static enum slu_life
life_of(const struct slu_e2b_dialect *dialect, const char *state)
{
    const int life = slu_name_index(slu_life_names, SLU_LIFE_COUNT, state);
    if (!is_shown_life(life))
        return SLU_LIFE_UNKNOWN;
    if (!dialect->every_life && life != SLU_LIFE_RUNNING && life != SLU_LIFE_PAUSED)
        return SLU_LIFE_UNKNOWN;
    return (enum slu_life) life;
}

bool
slu_e2b_seen(const struct slu_e2b_dialect *dialect,
             const struct slu_call *call,
             const json_t *sandbox,
             struct slu_seen *ret_seen)
{
    *ret_seen = (struct slu_seen){0};
    const char *id = slu_json_text(sandbox, "sandboxID");
    const char *state = slu_json_text(sandbox, "state");
    if (!id || !state || strlen(id) > SLU_EXTERNAL_ID_MAX || !slu_id_valid(id, strlen(id)))
        return false;

    memcpy(ret_seen->external_id, id, strlen(id) + 1);
    ret_seen->life = life_of(dialect, state);
    slu_e2b_labels_read(json_object_get(sandbox, "metadata"), call->cluster, ret_seen);

    /* Of a paused sandbox `endAt` is the moment it was paused: no lease. */
    const char *end_at = slu_json_text(sandbox, "endAt");
    int64_t lease_expires_at_ms = 0;
    if (ret_seen->life == SLU_LIFE_RUNNING && end_at && slu_time_read(end_at, &lease_expires_at_ms))
        ret_seen->lease_expires_at_ms = lease_expires_at_ms;
    return true;
}

json_t *
slu_e2b_json(const struct slu_http_response *response)
{
    const char *type = slu_http_header_find(response, "content-type");
    static const char json_type[] = "application/json";
    if (!type || strncasecmp(type, json_type, strlen(json_type)) != 0 || !response->body.data)
        return NULL;
    return json_loadb(response->body.data, response->body.size, JSON_REJECT_DUPLICATES, NULL);
}
