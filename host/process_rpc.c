/* SPDX-License-Identifier: Apache-2.0 */
/* From the JSON of process.Process to requests of the init. A request that is wrong is refused
 * before the sandbox hears of it; a stream answers 200 even then, and says so in its last frame. */
#include "process_rpc.h"

#include "connect_frame.h"
#include "lifecycle.h"
#include "slu/base/memory.h"
#include "stream.h"
#include "unary.h"
#include "uri.h"

#include <sodium.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMEOUT_MS_MAX = 2000000000
};

/* What goes to the init once the sandbox's turn has come. */
struct asking {
    struct slu_buffer message;
    const struct slu_host_unary_ops *ops;
};

static void
drop_asking(void *context)
{
    struct asking *asking = context;
    slu_buffer_done(&asking->message);
    slu_free_ptr(&asking);
}

static struct asking *
new_asking(struct slu_host_request *request, const struct slu_host_unary_ops *ops)
{
    struct asking *asking = slu_alloc(sizeof(*asking));
    asking->ops = ops;
    request->context = asking;
    request->drop_context = drop_asking;
    return asking;
}

static void
run_stream(struct slu_host_request *request, struct slu_host_sandbox *sandbox)
{
    const struct asking *asking = request->context;
    slu_host_stream_open(request, sandbox, &asking->message);
}

static void
run_unary(struct slu_host_request *request, struct slu_host_sandbox *sandbox)
{
    const struct asking *asking = request->context;
    slu_host_unary_ask(request, sandbox, &asking->message, -1, asking->ops, NULL);
}

static void
use(struct slu_host_request *request,
    void (*run)(struct slu_host_request *request, struct slu_host_sandbox *sandbox))
{
    struct slu_host_sandbox *sandbox =
        slu_host_sandboxes_find(&request->host->sandboxes, request->sandbox_id);
    if (sandbox)
        slu_host_use(request, sandbox, run);
    else
        slu_host_respond_gone(request, request->sandbox_id);
}

/* ---- Fields ---- */

static bool
is_plain_text(const json_t *value)
{
    return json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value);
}

static bool
put_list(struct slu_buffer *out,
         const json_t *list,
         enum slu_init_field field,
         const char *name,
         struct slu_error *reterr)
{
    size_t i;
    const json_t *item;
    if (list && !json_is_array(list))
        return slu_fail(reterr, SLU_INVALID, "'%s' must be a list of strings", name) == SLU_OK;
    json_array_foreach(list, i, item)
    {
        if (!is_plain_text(item))
            return slu_fail(reterr, SLU_INVALID, "'%s[%zu]' must be a string without NUL", name,
                            i) == SLU_OK;
        slu_init_put_text(out, field, json_string_value(item));
    }
    return true;
}

static bool
put_environment(struct slu_buffer *out, json_t *values, struct slu_error *reterr)
{
    const char *name;
    json_t *value;
    if (values && !json_is_object(values))
        return slu_fail(reterr, SLU_INVALID, "'process.envs' must be an object of strings") ==
               SLU_OK;
    json_object_foreach(values, name, value)
    {
        if (!is_plain_text(value) || strchr(name, '=') || !*name)
            return slu_fail(reterr, SLU_INVALID, "'process.envs.%s' must be a string without NUL",
                            name) == SLU_OK;
        SLU_AUTO_BUFFER struct slu_buffer entry = {0};
        slu_buffer_printf(&entry, "%s=%s", name, json_string_value(value));
        slu_init_put(out, SLU_INIT_F_ENVIRONMENT, entry.data, entry.size);
    }
    return true;
}

static bool
put_size(struct slu_buffer *out, const json_t *pty, struct slu_error *reterr)
{
    const json_t *size = json_object_get(pty, "size");
    const json_int_t columns = json_integer_value(json_object_get(size, "cols"));
    const json_int_t rows = json_integer_value(json_object_get(size, "rows"));
    if (columns < 1 || columns > 65535 || rows < 1 || rows > 65535)
        return slu_fail(reterr, SLU_INVALID, "'pty.size' needs cols and rows of 1 to 65535") ==
               SLU_OK;
    slu_init_put_number(out, SLU_INIT_F_COLUMNS, columns);
    slu_init_put_number(out, SLU_INIT_F_ROWS, rows);
    return true;
}

static bool
put_selector(struct slu_buffer *out, const json_t *message, struct slu_error *reterr)
{
    const json_t *process = json_object_get(message, "process");
    const json_t *pid = json_object_get(process, "pid");
    const json_t *tag = json_object_get(process, "tag");
    if (json_is_integer(pid))
        slu_init_put_number(out, SLU_INIT_F_PID, json_integer_value(pid));
    else if (is_plain_text(tag))
        slu_init_put_text(out, SLU_INIT_F_TAG, json_string_value(tag));
    else
        return slu_fail(reterr, SLU_INVALID, "'process' must hold a number 'pid' or a 'tag'") ==
               SLU_OK;
    return true;
}

/* ---- Start and Connect: streams ---- */

static bool
put_command(struct slu_buffer *out, const json_t *message, struct slu_error *reterr)
{
    const json_t *process = json_object_get(message, "process");
    const json_t *command = json_object_get(process, "cmd");
    const json_t *directory = json_object_get(process, "cwd");
    const json_t *tag = json_object_get(message, "tag");
    const json_t *input = json_object_get(message, "stdin");
    const json_t *pty = json_object_get(message, "pty");

    if (!is_plain_text(command) || json_string_length(command) == 0)
        return slu_fail(reterr, SLU_INVALID, "'process.cmd' must be the name of a program") ==
               SLU_OK;
    slu_init_put_text(out, SLU_INIT_F_COMMAND, json_string_value(command));
    if (!put_list(out, json_object_get(process, "args"), SLU_INIT_F_ARGUMENT, "process.args",
                  reterr) ||
        !put_environment(out, json_object_get(process, "envs"), reterr))
        return false;

    if (json_is_string(directory) && json_string_length(directory) > 0) {
        char path[SLU_HOST_PATH_MAX];
        if (!slu_host_uri_sandbox_path(json_string_value(directory), path))
            return slu_fail(reterr, SLU_INVALID, "'process.cwd' is too long") == SLU_OK;
        slu_init_put_text(out, SLU_INIT_F_DIRECTORY, path);
    }
    if (is_plain_text(tag))
        slu_init_put_text(out, SLU_INIT_F_TAG, json_string_value(tag));
    if (json_is_object(pty) && !put_size(out, pty, reterr))
        return false;
    /* Absent means true: clients older than the field expect an open input. */
    slu_init_put_number(out, SLU_INIT_F_STDIN, !json_is_false(input));
    return true;
}

static void
put_timeout(struct slu_buffer *out, const struct slu_host_request *request)
{
    const char *text = slu_host_request_header(request, "Connect-Timeout-Ms");
    const long long timeout_ms = text ? strtoll(text, NULL, 10) : 0;
    if (timeout_ms > 0 && timeout_ms <= TIMEOUT_MS_MAX)
        slu_init_put_number(out, SLU_INIT_F_TIMEOUT_MS, timeout_ms);
}

static void
open_stream(struct slu_host_request *request,
            enum slu_init_message type,
            bool (*put)(struct slu_buffer *out, const json_t *message, struct slu_error *reterr))
{
    struct slu_error error;
    json_t *message = NULL;
    struct asking *asking = new_asking(request, NULL);

    const size_t at = slu_init_begin(&asking->message, type);
    const bool good =
        slu_connect_read_one(request->body.data, request->body.size, &message, &error) == SLU_OK &&
        put(&asking->message, message, &error);
    if (good && type == SLU_INIT_START) {
        put_timeout(&asking->message, request);
        request->host->metrics.commands++;
    }
    json_decref(message);
    slu_init_end(&asking->message, at);

    if (!good)
        slu_host_stream_refuse(request, "invalid_argument", error.message);
    else if (asking->message.size > SLU_INIT_REQUEST_MAX) {
        slu_host_stream_refuse(request, "invalid_argument",
                               "the command is above the limit of 1 MiB");
    } else {
        use(request, run_stream);
    }
}

void
slu_host_process_start(struct slu_host_request *request)
{
    open_stream(request, SLU_INIT_START, put_command);
}

void
slu_host_process_connect(struct slu_host_request *request)
{
    open_stream(request, SLU_INIT_ATTACH, put_selector);
}

/* ---- The unary methods ---- */

static const struct slu_host_unary_ops plain = {
    .done = slu_host_unary_done_empty,
    .failed = slu_host_unary_failed_connect,
};

static void
ask(struct slu_host_request *request,
    enum slu_init_message type,
    const struct slu_host_unary_ops *ops,
    bool (*put)(struct slu_buffer *out, const json_t *message, struct slu_error *reterr))
{
    struct slu_error error;
    json_error_t where;
    struct asking *asking = new_asking(request, ops);
    json_t *message = json_loadb(request->body.data, request->body.size, 0, &where);
    if (!json_is_object(message)) {
        json_decref(message);
        slu_host_respond_connect_error(request, "invalid_argument", "the body is no JSON object");
        return;
    }

    const size_t at = slu_init_begin(&asking->message, type);
    const bool good = !put || put(&asking->message, message, &error);
    slu_init_end(&asking->message, at);
    json_decref(message);
    if (good)
        use(request, run_unary);
    else
        slu_host_respond_connect_error(request, "invalid_argument", error.message);
}

static json_t *
text_of(const struct slu_init_value *value)
{
    json_t *text = json_stringn(value->bytes, value->size);
    return text ? text : json_string("?"); /* No valid UTF-8. */
}

static void
add_variable(json_t *environment, const struct slu_init_value *value)
{
    SLU_AUTO_FREE char *entry = slu_memdup(value->bytes, value->size);
    char *equals = strchr(entry, '=');
    if (equals)
        *equals++ = '\0';
    json_object_set_new(environment, entry, json_string(equals ? equals : ""));
}

static void
add_process(struct slu_host_unary *unary, struct slu_init_reader reader)
{
    json_t *arguments = json_array();
    json_t *environment = json_object();
    json_t *config = json_pack("{s:o, s:o}", "args", arguments, "envs", environment);
    json_t *process = json_pack("{s:o, s:I}", "config", config, "pid",
                                (json_int_t) slu_init_number(reader, SLU_INIT_F_PID, 0));
    struct slu_init_value value;
    while (slu_init_next(&reader, &value)) {
        if (value.field == SLU_INIT_F_COMMAND)
            json_object_set_new(config, "cmd", text_of(&value));
        if (value.field == SLU_INIT_F_DIRECTORY)
            json_object_set_new(config, "cwd", text_of(&value));
        if (value.field == SLU_INIT_F_TAG)
            json_object_set_new(process, "tag", text_of(&value));
        if (value.field == SLU_INIT_F_ARGUMENT)
            json_array_append_new(arguments, text_of(&value));
        if (value.field == SLU_INIT_F_ENVIRONMENT)
            add_variable(environment, &value);
    }
    if (!unary->result)
        unary->result = json_array();
    json_array_append_new(unary->result, process);
}

static void
answer_list(struct slu_host_unary *unary)
{
    json_t *list = unary->result ? json_incref(unary->result) : json_array();
    slu_host_respond_json(unary->request, 200, json_pack("{s:o}", "processes", list));
}

void
slu_host_process_list(struct slu_host_request *request)
{
    static const struct slu_host_unary_ops ops = {
        .message = add_process,
        .done = answer_list,
        .failed = slu_host_unary_failed_connect,
    };
    ask(request, SLU_INIT_LIST, &ops, NULL);
}

static bool
put_signal(struct slu_buffer *out, const json_t *message, struct slu_error *reterr)
{
    const json_t *value = json_object_get(message, "signal");
    const char *name = json_string_value(value);
    int number = (int) json_integer_value(value);
    if (name && strcmp(name, "SIGNAL_SIGKILL") == 0)
        number = SIGKILL;
    if (name && strcmp(name, "SIGNAL_SIGTERM") == 0)
        number = SIGTERM;
    if (number != SIGKILL && number != SIGTERM)
        return slu_fail(reterr, SLU_INVALID, "'signal' must be SIGNAL_SIGKILL or SIGNAL_SIGTERM") ==
               SLU_OK;
    if (!put_selector(out, message, reterr))
        return false;
    slu_init_put_number(out, SLU_INIT_F_SIGNAL, number);
    return true;
}

void
slu_host_process_send_signal(struct slu_host_request *request)
{
    ask(request, SLU_INIT_SIGNAL, &plain, put_signal);
}

static bool
put_input(struct slu_buffer *out, const json_t *message, struct slu_error *reterr)
{
    const json_t *input = json_object_get(message, "input");
    const json_t *value = json_object_get(input, "stdin");
    if (!value)
        value = json_object_get(input, "pty");
    const size_t size = json_string_length(value);
    SLU_AUTO_FREE char *bytes = slu_alloc(size + 1);
    size_t decoded = 0;
    if (!json_is_string(value) ||
        sodium_base642bin((unsigned char *) bytes, size + 1, json_string_value(value), size, NULL,
                          &decoded, NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
        return slu_fail(reterr, SLU_INVALID, "'input' must hold base64 in 'stdin' or 'pty'") ==
               SLU_OK;
    if (!put_selector(out, message, reterr))
        return false;
    slu_init_put(out, SLU_INIT_F_BYTES, bytes, decoded);
    return true;
}

void
slu_host_process_send_input(struct slu_host_request *request)
{
    ask(request, SLU_INIT_INPUT, &plain, put_input);
}

void
slu_host_process_close_stdin(struct slu_host_request *request)
{
    ask(request, SLU_INIT_CLOSE_STDIN, &plain, put_selector);
}

static bool
put_update(struct slu_buffer *out, const json_t *message, struct slu_error *reterr)
{
    return put_selector(out, message, reterr) &&
           put_size(out, json_object_get(message, "pty"), reterr);
}

void
slu_host_process_update(struct slu_host_request *request)
{
    ask(request, SLU_INIT_RESIZE, &plain, put_update);
}
