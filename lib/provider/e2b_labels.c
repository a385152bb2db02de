/* SPDX-License-Identifier: Apache-2.0 */
#include "e2b.h"
#include "json.h"
#include "slu/base/memory.h"
#include "url.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Labels are absent when empty: a filter on an empty value would match nothing. */
static void
put_text(json_t *labels, const char *name, const char *value)
{
    if (value && value[0] != '\0')
        json_object_set_new(labels, name, json_string(value));
}

static void
put_number(json_t *labels, const char *name, int64_t value)
{
    json_object_set_new(labels, name, json_sprintf("%" PRId64, value));
}

json_t *
slu_e2b_labels(const struct slu_call *call)
{
    json_t *labels = json_object();
    put_text(labels, "sluice.cluster", call->cluster);
    put_number(labels, "sluice.shard", call->shard);
    put_text(labels, "sluice.key", call->key);
    put_text(labels, "sluice.uid", call->uid);
    put_number(labels, "sluice.incarnation", call->incarnation);
    put_text(labels, "sluice.session", call->session_id);
    put_text(labels, "sluice.tenant", call->tenant);
    put_text(labels, "sluice.project", call->project);
    return labels;
}

/* One `name=value` of the filter. The server decodes the parameter once, then once more before it
 * splits it at `&` and `=`, and then each value: so a value is escaped three times in all
 * (providers.md §1.5), the last time by the caller for the whole parameter. */
static void
add_pair(struct slu_buffer *pairs, const char *name, const char *value)
{
    SLU_AUTO_BUFFER struct slu_buffer once = {0};
    slu_url_escape(&once, value);

    slu_buffer_printf(pairs, "%s%s=", pairs->size > 0 ? "&" : "", name);
    slu_url_escape(pairs, once.data ? once.data : "");
}

void
slu_e2b_labels_filter(const struct slu_call *call, struct slu_buffer *out)
{
    SLU_AUTO_BUFFER struct slu_buffer pairs = {0};
    add_pair(&pairs, "sluice.cluster", call->cluster);
    add_pair(&pairs, "sluice.key", call->key);
    slu_url_escape(out, pairs.data);
}

static bool
copy_label(const json_t *metadata, const char *name, char *ret_text, size_t size)
{
    const char *text = slu_json_text(metadata, name);
    if (!text || strlen(text) >= size)
        return false;
    memcpy(ret_text, text, strlen(text) + 1);
    return true;
}

static bool
read_number(const json_t *metadata, const char *name, int64_t *ret_number)
{
    char digits[20];
    if (!copy_label(metadata, name, digits, sizeof(digits)) || digits[0] == '\0' ||
        strspn(digits, "0123456789") != strlen(digits))
        return false;
    *ret_number = strtoll(digits, NULL, 10);
    return true;
}

void
slu_e2b_labels_read(const json_t *metadata, const char *cluster, struct slu_seen *seen)
{
    const char *labelled_cluster = slu_json_text(metadata, "sluice.cluster");
    struct slu_seen read = {0};

    if (labelled_cluster && strcmp(labelled_cluster, cluster) == 0 &&
        copy_label(metadata, "sluice.key", read.key, sizeof(read.key)) &&
        copy_label(metadata, "sluice.uid", read.uid, sizeof(read.uid)) &&
        read_number(metadata, "sluice.incarnation", &read.incarnation)) {
        memcpy(seen->key, read.key, sizeof(seen->key));
        memcpy(seen->uid, read.uid, sizeof(seen->uid));
        seen->incarnation = read.incarnation;
        return;
    }
    seen->key[0] = '\0';
    seen->uid[0] = '\0';
    seen->incarnation = 0;
}
