/* SPDX-License-Identifier: Apache-2.0 */
/* From the JSON of filesystem.Filesystem to file requests of the init, and entries back. */
#include "filesystem_rpc.h"

#include "lifecycle.h"
#include "slu/base/memory.h"
#include "unary.h"
#include "uri.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
    DEPTH_MAX = 64
};

struct question {
    struct slu_buffer message;
    const struct slu_host_unary_ops *ops;
};

static void
drop_question(void *context)
{
    struct question *question = context;
    slu_buffer_done(&question->message);
    slu_free_ptr(&question);
}

static void
run(struct slu_host_request *request, struct slu_host_sandbox *sandbox)
{
    const struct question *question = request->context;
    slu_host_unary_ask(request, sandbox, &question->message, -1, question->ops, NULL);
}

static bool
put_path(struct slu_buffer *out,
         const json_t *body,
         const char *name,
         enum slu_init_field field,
         struct slu_error *reterr)
{
    char path[SLU_HOST_PATH_MAX];
    const json_t *value = json_object_get(body, name);
    const char *text = json_string_value(value);
    if (!text || strlen(text) != json_string_length(value) ||
        !slu_host_uri_sandbox_path(text, path))
        return slu_fail(reterr, SLU_INVALID, "'%s' must be a path of 1 to %d bytes without NUL",
                        name, SLU_HOST_PATH_MAX - 1) == SLU_OK;
    slu_init_put_text(out, field, path);
    return true;
}

static void
ask(struct slu_host_request *request,
    enum slu_init_message type,
    const char *path_name,
    const char *destination_name,
    const struct slu_host_unary_ops *ops)
{
    struct slu_error error;
    struct question *question = slu_alloc(sizeof(*question));
    question->ops = ops;
    request->context = question;
    request->drop_context = drop_question;

    json_t *body = json_loadb(request->body.data, request->body.size, 0, NULL);
    const json_int_t depth = json_integer_value(json_object_get(body, "depth"));
    const size_t at = slu_init_begin(&question->message, type);
    const bool good = put_path(&question->message, body, path_name, SLU_INIT_F_PATH, &error) &&
                      (!destination_name || put_path(&question->message, body, destination_name,
                                                     SLU_INIT_F_DESTINATION, &error));
    slu_init_put_number(&question->message, SLU_INIT_F_DEPTH,
                        depth < 1 ? 1 : (depth > DEPTH_MAX ? DEPTH_MAX : depth));
    slu_init_end(&question->message, at);
    json_decref(body);

    struct slu_host_sandbox *sandbox =
        slu_host_sandboxes_find(&request->host->sandboxes, request->sandbox_id);
    if (!good)
        slu_host_respond_connect_error(request, "invalid_argument", error.message);
    else if (!sandbox)
        slu_host_respond_gone(request, request->sandbox_id);
    else
        slu_host_use(request, sandbox, run);
}

static json_t *
text_of(struct slu_init_reader reader, enum slu_init_field field)
{
    struct slu_init_value value;
    json_t *text =
        slu_init_find(reader, field, &value) ? json_stringn(value.bytes, value.size) : NULL;
    return text ? text : json_string("?"); /* A name that is no valid UTF-8 cannot be said. */
}

/* "-rw-r--r--" */
static void
write_permissions(mode_t mode, char ret_text[11])
{
    static const char bits[] = "rwxrwxrwx";
    ret_text[0] = S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'L' : '-';
    for (int i = 0; i < 9; i++)
        ret_text[1 + i] = mode & (1U << (8 - i)) ? bits[i] : '-';
    ret_text[10] = '\0';
}

static void
write_time(int64_t ns, char ret_text[48])
{
    struct tm parts;
    const time_t seconds = (time_t) (ns / 1000000000);
    gmtime_r(&seconds, &parts);
    const size_t size = strftime(ret_text, 32, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(ret_text + size, 48 - size, ".%09lldZ", (long long) (ns % 1000000000));
}

static json_t *
entry_of(struct slu_init_reader reader)
{
    char permissions[11], modified[48], size[24];
    const mode_t mode = (mode_t) slu_init_number(reader, SLU_INIT_F_MODE, 0);
    const char *type = S_ISDIR(mode)   ? "FILE_TYPE_DIRECTORY"
                       : S_ISLNK(mode) ? "FILE_TYPE_SYMLINK"
                       : S_ISREG(mode) ? "FILE_TYPE_FILE"
                                       : "FILE_TYPE_UNSPECIFIED";
    write_permissions(mode, permissions);
    write_time(slu_init_number(reader, SLU_INIT_F_MODIFIED_NS, 0), modified);
    snprintf(size, sizeof(size), "%lld", (long long) slu_init_number(reader, SLU_INIT_F_SIZE, 0));
    json_t *entry =
        json_pack("{s:o, s:s, s:o, s:s, s:i, s:s, s:o, s:o, s:s}", "name",
                  text_of(reader, SLU_INIT_F_NAME), "type", type, "path",
                  text_of(reader, SLU_INIT_F_PATH), "size", size, "mode", (int) (mode & 07777),
                  "permissions", permissions, "owner", text_of(reader, SLU_INIT_F_OWNER), "group",
                  text_of(reader, SLU_INIT_F_GROUP), "modifiedTime", modified);
    struct slu_init_value target;
    if (slu_init_find(reader, SLU_INIT_F_TARGET, &target))
        json_object_set_new(entry, "symlinkTarget", text_of(reader, SLU_INIT_F_TARGET));
    return entry;
}

static void
take_entry(struct slu_host_unary *unary, struct slu_init_reader reader)
{
    if (!unary->result)
        unary->result = json_array();
    json_array_append_new(unary->result, entry_of(reader));
}

static void
answer_entry(struct slu_host_unary *unary)
{
    json_t *entry = json_array_get(unary->result, 0);
    slu_host_respond_json(unary->request, 200,
                          json_pack("{s:O}", "entry", entry ? entry : json_null()));
}

static void
answer_entries(struct slu_host_unary *unary)
{
    json_t *entries = unary->result ? json_incref(unary->result) : json_array();
    slu_host_respond_json(unary->request, 200, json_pack("{s:o}", "entries", entries));
}

static const struct slu_host_unary_ops one_entry = {
    .message = take_entry,
    .done = answer_entry,
    .failed = slu_host_unary_failed_connect,
};

static const struct slu_host_unary_ops many_entries = {
    .message = take_entry,
    .done = answer_entries,
    .failed = slu_host_unary_failed_connect,
};

static const struct slu_host_unary_ops no_entry = {
    .done = slu_host_unary_done_empty,
    .failed = slu_host_unary_failed_connect,
};

void
slu_host_filesystem_stat(struct slu_host_request *request)
{
    ask(request, SLU_INIT_STAT, "path", NULL, &one_entry);
}

void
slu_host_filesystem_list(struct slu_host_request *request)
{
    ask(request, SLU_INIT_LIST_DIR, "path", NULL, &many_entries);
}

void
slu_host_filesystem_make(struct slu_host_request *request)
{
    ask(request, SLU_INIT_MAKE_DIR, "path", NULL, &one_entry);
}

void
slu_host_filesystem_move(struct slu_host_request *request)
{
    ask(request, SLU_INIT_MOVE, "source", "destination", &one_entry);
}

void
slu_host_filesystem_remove(struct slu_host_request *request)
{
    ask(request, SLU_INIT_REMOVE, "path", NULL, &no_entry);
}
