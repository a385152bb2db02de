/* SPDX-License-Identifier: Apache-2.0 */
/* From the init's messages to Connect frames, and from there to the client at its own pace. A
 * sleeping connection never times out and its client's leaving is not noticed by the library, so
 * both are looked after here every second. */
#include "stream.h"

#include "connect_frame.h"
#include "init_call.h"
#include "slu/base/memory.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    PENDING_MAX = 256 * 1024, /* For one slow client; then the init is no longer read. */
    BLOCK_SIZE = 32 * 1024,
    KEEPALIVE_S = 90,
};

struct slu_host_stream {
    struct slu_host *host;
    struct MHD_Connection *connection;
    struct slu_init_call *call; /* NULL once over. */
    char id[SLU_HOST_ID_SIZE];
    struct slu_buffer out;
    size_t sent;
    bool asleep;
    bool finished; /* Nothing follows `out`. */
    bool gone;     /* The client has. */
    bool holding;  /* The init is not read. */
    int64_t keepalive_ms;
    int64_t spoke_at_ms;
    struct slu_host_stream *next;
    struct slu_host_stream *previous;
};

static int64_t
monotonic_ms(void)
{
    return (int64_t) (uv_hrtime() / 1000000);
}

static void
wake(struct slu_host_stream *stream)
{
    if (!stream->asleep)
        return;
    stream->asleep = false;
    slu_host_server_wake(stream->host, stream->connection);
}

static void
spoke(struct slu_host_stream *stream)
{
    stream->spoke_at_ms = monotonic_ms();
    wake(stream);
}

static void
say(struct slu_host_stream *stream, json_t *event)
{
    json_t *message = json_pack("{s:o}", "event", event);
    slu_connect_frame_json(&stream->out, message);
    json_decref(message);
    spoke(stream);
}

static void
finish(struct slu_host_stream *stream, const char *code, const char *message)
{
    if (stream->finished)
        return;
    stream->finished = true;
    slu_connect_end(&stream->out, code, message);
    if (stream->call)
        slu_init_call_close(stream->call);
    stream->call = NULL;
    spoke(stream);
}

static void
say_output(struct slu_host_stream *stream, const struct slu_init_value *value)
{
    const char *name = value->field == SLU_INIT_F_STDOUT   ? "stdout"
                       : value->field == SLU_INIT_F_STDERR ? "stderr"
                                                           : "pty";
    SLU_AUTO_BUFFER struct slu_buffer payload = {0};
    slu_buffer_printf(&payload, "{\"event\":{\"data\":{\"%s\":\"", name);
    slu_base64_append(&payload, value->bytes, value->size);
    slu_buffer_puts(&payload, "\"}}}");
    slu_connect_frame(&stream->out, 0, payload.data, payload.size);
    spoke(stream);
}

/* In the words of the process library that the first servers of this protocol used. */
static void
say_end(struct slu_host_stream *stream, struct slu_init_reader reader)
{
    char status[64];
    const int number = (int) slu_init_number(reader, SLU_INIT_F_SIGNAL, 0);
    const int code = number ? -1 : (int) slu_init_number(reader, SLU_INIT_F_EXIT_CODE, 0);
    if (slu_init_number(reader, SLU_INIT_F_TIMED_OUT, 0)) {
        finish(stream, "deadline_exceeded", "the command was killed at its timeout");
        return;
    }
    if (number) {
        const char *name = sigdescr_np(number);
        snprintf(status, sizeof(status), "signal: %s", name ? name : "unknown");
        if (number == SIGKILL)
            snprintf(status, sizeof(status), "signal: killed");
    } else {
        snprintf(status, sizeof(status), "exit status %d", code);
    }

    json_t *end =
        json_pack("{s:i, s:b, s:s}", "exitCode", code, "exited", number == 0, "status", status);
    if (code != 0)
        json_object_set_new(end, "error", json_string(status));
    say(stream, json_pack("{s:o}", "end", end));
    finish(stream, NULL, NULL);
}

static void
on_message(void *context, struct slu_init_call *call, struct slu_init_reader reader)
{
    struct slu_host_stream *stream = context;
    struct slu_init_value value;

    if (reader.type == SLU_INIT_STARTED) {
        say(stream, json_pack("{s:{s:I}}", "start", "pid",
                              (json_int_t) slu_init_number(reader, SLU_INIT_F_PID, 0)));
    } else if (reader.type == SLU_INIT_OUTPUT && slu_init_next(&reader, &value)) {
        say_output(stream, &value);
    } else if (reader.type == SLU_INIT_ENDED) {
        say_end(stream, reader);
    } else if (reader.type == SLU_INIT_FAILED) {
        SLU_AUTO_FREE char *code = slu_init_text(reader, SLU_INIT_F_CODE);
        SLU_AUTO_FREE char *text = slu_init_text(reader, SLU_INIT_F_TEXT);
        finish(stream, code ? code : "internal", text ? text : "");
    }
    if (!stream->finished && stream->out.size - stream->sent > PENDING_MAX) {
        stream->holding = true;
        slu_init_call_read(call, false);
    }
}

static void
on_closed(void *context, struct slu_init_call *call)
{
    (void) call;
    finish(context, "unavailable", "the sandbox has ended");
}

static ssize_t
read_stream(void *cls, uint64_t position, char *bytes, size_t max)
{
    (void) position;
    struct slu_host_stream *stream = cls;
    const size_t there = stream->out.size - stream->sent;
    if (stream->gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (there == 0 && stream->finished)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (there == 0) {
        stream->asleep = true;
        slu_host_server_sleep(stream->host, stream->connection);
        return 0;
    }

    const size_t size = there < max ? there : max;
    memcpy(bytes, stream->out.data + stream->sent, size);
    stream->sent += size;
    if (stream->sent == stream->out.size) {
        slu_buffer_reset(&stream->out);
        stream->sent = 0;
        if (stream->holding && stream->call) {
            stream->holding = false;
            slu_init_call_read(stream->call, true);
        }
    }
    return (ssize_t) size;
}

static void
free_stream(void *cls)
{
    struct slu_host_stream *stream = cls;
    if (stream->call)
        slu_init_call_close(stream->call);
    if (stream->next)
        stream->next->previous = stream->previous;
    if (stream->previous)
        stream->previous->next = stream->next;
    else
        stream->host->streams = stream->next;
    slu_buffer_done(&stream->out);
    slu_free_ptr(&stream);
}

static struct slu_host_stream *
new_stream(struct slu_host_request *request)
{
    const char *interval = slu_host_request_header(request, "Keepalive-Ping-Interval");
    const long asked = interval ? strtol(interval, NULL, 10) : 0;
    struct slu_host_stream *stream = slu_alloc(sizeof(*stream));
    stream->host = request->host;
    stream->connection = request->connection;
    stream->keepalive_ms = (asked >= 1 && asked <= 3600 ? asked : KEEPALIVE_S) * 1000;
    stream->spoke_at_ms = monotonic_ms();
    stream->next = request->host->streams;
    if (stream->next)
        stream->next->previous = stream;
    request->host->streams = stream;
    return stream;
}

static void
answer(struct slu_host_request *request, struct slu_host_stream *stream)
{
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK_SIZE, read_stream, stream, free_stream);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/connect+json");
    slu_host_respond(request, 200, response);
}

void
slu_host_stream_open(struct slu_host_request *request,
                     struct slu_host_sandbox *sandbox,
                     const struct slu_buffer *to_init)
{
    static const struct slu_init_call_events events = {.message = on_message, .closed = on_closed};
    struct slu_host *host = request->host;
    struct slu_host_stream *stream = new_stream(request);
    struct slu_error error;
    char folder[1200];

    memcpy(stream->id, sandbox->id, sizeof(stream->id));
    slu_host_sandbox_folder(&host->sandboxes, sandbox->id, folder);
    stream->call = slu_init_call_open(&host->loop, folder, to_init, -1, &events, stream, &error);
    if (!stream->call)
        finish(stream, "unavailable", error.message);
    answer(request, stream);
}

void
slu_host_stream_refuse(struct slu_host_request *request, const char *code, const char *message)
{
    struct slu_host_stream *stream = new_stream(request);
    finish(stream, code, message);
    answer(request, stream);
}

void
slu_host_streams_interrupt(struct slu_host *host, const char *id)
{
    for (struct slu_host_stream *stream = host->streams; stream; stream = stream->next) {
        if (strcmp(stream->id, id) == 0) {
            finish(stream, "unavailable",
                   "the sandbox was paused; the process lives on: connect to it by its pid once "
                   "the sandbox runs again");
        }
    }
}

void
slu_host_streams_stop(struct slu_host *host)
{
    for (struct slu_host_stream *stream = host->streams; stream; stream = stream->next)
        finish(stream, "unavailable",
               "the host is stopping; the process lives on: connect to it by its pid");
}

void
slu_host_streams_tick(struct slu_host *host)
{
    const int64_t now_ms = monotonic_ms();
    for (struct slu_host_stream *stream = host->streams; stream; stream = stream->next) {
        if (!stream->asleep)
            continue;
        if (slu_host_server_is_gone(stream->connection)) {
            stream->gone = true;
            wake(stream);
        } else if (now_ms - stream->spoke_at_ms >= stream->keepalive_ms) {
            say(stream, json_pack("{s:{}}", "keepalive"));
        }
    }
}
