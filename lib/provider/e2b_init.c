/* SPDX-License-Identifier: Apache-2.0 */
/* INIT: one command through envd's process service, as a stream of frames. The exit that counts is
 * the line the wrapper prints (init_wrapper.h), never the exit code of the wrapper's own process:
 * so trouble of ours is not taken for a failure of the command. */
#include "connect_frames.h"
#include "e2b.h"
#include "facts.h"
#include "init_wrapper.h"
#include "json.h"
#include "slu/base/memory.h"

#include <sodium.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char workspace[] = "/home/user";
static const char envd_port[] = "49983";

enum {
    OUTPUT_MAX = 256,       /* Of what the wrapper prints; it prints one short line. */
    ANSWER_GRACE_MS = 5000, /* The far side's own deadline should end the stream first. */
};

const char *
slu_e2b_init_command(const json_t *spec, int32_t index)
{
    const json_t *init = json_object_get(json_object_get(spec, "session"), "init");
    return json_string_value(json_array_get(json_object_get(init, "commands"), (size_t) index));
}

static bool
is_domain(const char *text)
{
    if (text[0] == '\0' || strlen(text) > 253)
        return false;
    for (; *text; text++) {
        if (!isalnum((unsigned char) *text) && *text != '-' && *text != '.')
            return false;
    }
    return true;
}

void
slu_e2b_init_address(const json_t *sandbox, struct slu_exchange *exchange)
{
    const char *token = slu_json_text(sandbox, "envdAccessToken");
    const char *domain = slu_json_text(sandbox, "domain");

    exchange->token[0] = '\0';
    if (token && strlen(token) < sizeof(exchange->token))
        memcpy(exchange->token, token, strlen(token) + 1);

    exchange->cursor[0] = '\0';
    if (domain && is_domain(domain))
        memcpy(exchange->cursor, domain, strlen(domain) + 1);
}

/* The vendor's own domains route by header at one name; all others by a name per sandbox
 * (providers.md §2.1). */
static bool
routes_by_header(const char *domain)
{
    static const char *const domains[] = {"e2b.app", "e2b.dev", "e2b.pro", "e2b-staging.dev"};
    for (size_t i = 0; i < SLU_COUNT(domains); i++) {
        if (strcmp(domains[i], domain) == 0)
            return true;
    }
    return false;
}

static void
write_base_url(const struct slu_e2b_dialect *dialect,
               const struct slu_provider_instance *instance,
               const struct slu_call *call,
               const struct slu_exchange *exchange,
               struct slu_buffer *url)
{
    static const char api_prefix[] = "https://api.";
    const bool is_api = strncmp(instance->url, api_prefix, strlen(api_prefix)) == 0;
    const char *domain = exchange->cursor[0] ? exchange->cursor : NULL;

    if (instance->data_url[0] != '\0') {
        slu_buffer_puts(url, instance->data_url);
        return;
    }
    if (!domain && is_api)
        domain = instance->url + strlen(api_prefix);
    if (dialect->one_address || !is_api || !domain)
        slu_buffer_puts(url, instance->url); /* One listener for both planes. */
    else if (routes_by_header(domain))
        slu_buffer_printf(url, "https://sandbox.%s", domain);
    else
        slu_buffer_printf(url, "https://%s-%s.%s", envd_port, call->external_id, domain);
}

static void
write_body(const struct slu_call *call, const char *command, struct slu_buffer *out)
{
    SLU_AUTO_JSON json_t *body = json_object();
    json_t *process = json_object();
    json_t *arguments = json_array();

    json_array_append_new(arguments, json_string("-c"));
    json_array_append_new(arguments, json_string(slu_init_outer));
    json_array_append_new(arguments, json_string("sluice-init"));
    json_array_append_new(arguments, json_string(slu_init_inner));
    json_array_append_new(arguments, json_string(call->init_hash));
    json_array_append_new(arguments, json_sprintf("%" PRId32, call->init_index + 1));
    json_array_append_new(arguments, json_sprintf("%" PRId64, call->call));
    json_array_append_new(arguments, json_string(command));
    json_object_set_new(process, "cmd", json_string("/bin/sh"));
    json_object_set_new(process, "args", arguments);
    json_object_set_new(process, "cwd", json_string(workspace));
    json_object_set_new(body, "process", process);
    json_object_set_new(body, "stdin", json_false());

    SLU_AUTO_BUFFER struct slu_buffer text = {0};
    slu_json_write(body, &text);
    slu_connect_write(out, text.data, text.size);
}

void
slu_e2b_init_request(const struct slu_e2b_dialect *dialect,
                     const struct slu_provider_instance *instance,
                     const struct slu_call *call,
                     const struct slu_exchange *exchange,
                     const char *command,
                     struct slu_http_request *ret_request)
{
    ret_request->method = "POST";
    write_base_url(dialect, instance, call, exchange, &ret_request->url);
    slu_buffer_puts(&ret_request->url, "/process.Process/Start");

    slu_http_header_add(ret_request, "content-type", "application/connect+json");
    slu_http_header_add(ret_request, "connect-protocol-version", "1");
    slu_http_header_add(ret_request, "connect-timeout-ms", "%" PRId64, call->timeout_ms);
    slu_http_header_add(ret_request, "e2b-sandbox-id", "%s", call->external_id);
    slu_http_header_add(ret_request, "e2b-sandbox-port", "%s", envd_port);
    if (exchange->token[0] != '\0') {
        slu_http_header_add(ret_request, "x-access-token", "%s", exchange->token);
        ret_request->secret_headers = true;
    }
    ret_request->timeout_ms = call->timeout_ms + ANSWER_GRACE_MS;
    write_body(call, command, &ret_request->body);
}

/* What a stream has told so far. */
struct stream {
    char output[OUTPUT_MAX];
    size_t output_size;
    bool process_ended;
};

static void
take_output(const char *base64, struct stream *stream)
{
    unsigned char bytes[OUTPUT_MAX];
    size_t size = 0;
    if (!base64 ||
        sodium_base642bin(bytes, sizeof(bytes), base64, strlen(base64), NULL, &size, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        size >= sizeof(stream->output) - stream->output_size)
        return; /* Not the one short line that the wrapper prints: no exit will be found. */
    memcpy(stream->output + stream->output_size, bytes, size);
    stream->output_size += size;
}

static bool
take_message(const struct slu_connect_frame *frame, struct stream *stream)
{
    SLU_AUTO_JSON json_t *message =
        json_loadb(frame->payload, frame->size, JSON_REJECT_DUPLICATES, NULL);
    const json_t *event = json_object_get(message, "event");
    if (!json_is_object(event))
        return false;
    take_output(slu_json_text(json_object_get(event, "data"), "stdout"), stream);
    if (json_object_get(event, "end"))
        stream->process_ended = true;
    return true;
}

/* The end frame's error. Only what says that nothing was started, and never will be, is final. */
static bool
end_is_error(const struct slu_connect_frame *frame, struct slu_facts *facts)
{
    SLU_AUTO_JSON json_t *end = json_loadb(frame->payload, frame->size, 0, NULL);
    const char *code = slu_json_text(json_object_get(end, "error"), "code");
    if (json_is_object(end) && !json_object_get(end, "error"))
        return false;

    enum slu_outcome outcome = SLU_OUTCOME_AMBIGUOUS;
    if (code && (strcmp(code, "invalid_argument") == 0 || strcmp(code, "unimplemented") == 0))
        outcome = SLU_OUTCOME_PERMANENT;
    else if (code && strcmp(code, "resource_exhausted") == 0)
        outcome = SLU_OUTCOME_CAPACITY;
    slu_facts_end(facts, outcome, "the command's stream ended with %.40s", code ? code : "no code");
    return true;
}

static bool
read_exit(const char *output, int32_t *ret_code)
{
    const size_t prefix = strlen(SLU_INIT_EXIT_LINE);
    if (strncmp(output, SLU_INIT_EXIT_LINE, prefix) != 0)
        return false;
    char *end = NULL;
    const long code = strtol(output + prefix, &end, 10);
    if (end == output + prefix || strcmp(end, "\n") != 0 || code < 0 || code > 255)
        return false;
    *ret_code = (int32_t) code;
    return true;
}

static void
finish(const struct slu_call *call, const struct stream *stream, struct slu_facts *facts)
{
    int32_t code = 0;
    if (!stream->process_ended || !read_exit(stream->output, &code)) {
        slu_facts_end(facts, SLU_OUTCOME_AMBIGUOUS,
                      "init command %" PRId32 ": its exit is not known yet", call->init_index + 1);
        return;
    }
    facts->has_exit = true;
    facts->exit_code = code;
    slu_facts_end(facts, SLU_OUTCOME_DONE, "init command %" PRId32 " exited with %" PRId32,
                  call->init_index + 1, code);
}

void
slu_e2b_init_response(const struct slu_provider_instance *instance,
                      const struct slu_call *call,
                      struct slu_facts *facts,
                      const struct slu_http_response *response)
{
    static const char stream_type[] = "application/connect+json";
    const char *type = slu_http_header_find(response, "content-type");
    if (response->status != 200 || !type ||
        strncasecmp(type, stream_type, strlen(stream_type)) != 0) {
        slu_e2b_fail(instance, call, facts, response);
        return;
    }

    struct stream stream = {0};
    size_t offset = 0;
    for (;;) {
        const struct slu_connect_frame frame =
            slu_connect_next(response->body.data, response->body.size, &offset);
        if (frame.kind == SLU_CONNECT_MESSAGE && take_message(&frame, &stream))
            continue;
        if (frame.kind != SLU_CONNECT_END) {
            slu_facts_end(facts, SLU_OUTCOME_AMBIGUOUS,
                          "init command %" PRId32 ": the stream of its output is broken off",
                          call->init_index + 1);
            return;
        }
        if (!end_is_error(&frame, facts))
            finish(call, &stream, facts);
        return;
    }
}
