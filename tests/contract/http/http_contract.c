/* SPDX-License-Identifier: Apache-2.0 */
/* What an HTTP client must do (include/slu/port/http_client.h), against tests/support's server.
 * What a request did to the far side is read from the server's log, never from the client. */
#include "slu/base/memory.h"
#include "slu/port/http_client.h"

#include <uv.h>

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    PATIENCE_MS = 120000,
    OUTCOMES_MAX = 256,
    TIMEOUT_MS = 60000,
};

struct fixture;

/* What became of one job. */
struct outcome {
    struct fixture *fixture;
    bool submitting, done;
    int place; /* Order of the ends. */
    enum slu_http_end end;
    int status;
    char *body;
    char error[160];
    char token[464], content_type[464], retry_after[464], epoch[464];
    size_t header_count;
    int asked; /* may_send was. */
    bool may_send;
};

struct fixture {
    uv_loop_t loop;
    struct slu_http_client *client;
    struct slu_http_queue *queue;
    struct outcome outcomes[OUTCOMES_MAX];
    int count, ended;
};

static int port, dead_port;
static int server_input;
static pid_t server;

/* --- the server ------------------------------------------------------------------------------ */

static int
start_server(void)
{
    int input[2], output[2];
    if (pipe(input) != 0 || pipe(output) != 0)
        return -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, input[1]);
    posix_spawn_file_actions_addclose(&actions, output[0]);
    const char *const argv[] = {"python3", SCRIPT_SERVER, NULL};
    const int failed =
        posix_spawnp(&server, "python3", &actions, NULL, (char *const *) (uintptr_t) argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    server_input = input[1];
    /* A whole line: an unbuffered Python writes the number and its end apart. */
    FILE *lines = failed ? NULL : fdopen(output[0], "r");
    char text[16] = "";
    if (lines && fgets(text, sizeof(text), lines))
        port = (int) strtol(text, NULL, 10);
    if (lines)
        fclose(lines);
    dead_port = 1; /* tcpmux: nobody listens on it, and nobody without rights can begin to. */
    return port > 0 ? 0 : -1;
}

static void
stop_server(void)
{
    close(server_input);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
}

/* --- driving the loop ------------------------------------------------------------------------ */

static void
note_timeout(uv_timer_t *timer)
{
    *(bool *) timer->data = true;
}

static void
run_until_ended(struct fixture *fixture, int count)
{
    bool late = false;
    uv_timer_t timer;
    uv_timer_init(&fixture->loop, &timer);
    timer.data = &late;
    uv_timer_start(&timer, note_timeout, PATIENCE_MS, 0);
    while (fixture->ended < count && !late)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *) &timer, NULL);
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_true(fixture->ended >= count);
}

static void
run_all(struct fixture *fixture)
{
    run_until_ended(fixture, fixture->count);
}

/* Until the job is about to leave; it must not end before. */
static void
run_until_asked(struct fixture *fixture, const struct outcome *outcome)
{
    while (outcome->asked == 0) {
        assert_false(outcome->done);
        uv_run(&fixture->loop, UV_RUN_ONCE);
    }
}

static int64_t
now_ms(void)
{
    return (int64_t) (uv_hrtime() / 1000000);
}

/* --- jobs ------------------------------------------------------------------------------------ */

static void
keep_header(const struct slu_http_response *response, const char *name, char ret_value[464])
{
    for (size_t i = 0; i < response->header_count; i++) {
        if (strcmp(response->headers[i].name, name) == 0)
            snprintf(ret_value, 464, "%s", response->headers[i].value);
    }
}

static void
note_end(void *context, const struct slu_http_response *response)
{
    struct outcome *outcome = context;
    assert_false(outcome->submitting);
    assert_false(outcome->done);
    outcome->done = true;
    outcome->place = outcome->fixture->ended++;
    outcome->end = response->end;
    outcome->status = response->status;
    outcome->body = slu_memdup(response->body.data ? response->body.data : "", response->body.size);
    outcome->header_count = response->header_count;
    snprintf(outcome->error, sizeof(outcome->error), "%s", response->error);
    keep_header(response, "x-next-token", outcome->token);
    keep_header(response, "content-type", outcome->content_type);
    keep_header(response, "retry-after", outcome->retry_after);
    keep_header(response, "slu-epoch", outcome->epoch);
}

static bool
answer_may_send(void *context)
{
    struct outcome *outcome = context;
    outcome->asked++;
    return outcome->may_send;
}

/* What differs from a plain GET by nobody in particular. */
struct wish {
    const char *method;
    const char *body;
    const char *tenant;
    bool low_lane, gated, forbidden;
    int64_t timeout_ms;
    const char *header, *header_value;
    struct slu_http_queue *queue;
};

static struct outcome *
submit_url(struct fixture *fixture, const char *url, struct wish wish)
{
    assert_true(fixture->count < OUTCOMES_MAX);
    struct outcome *outcome = &fixture->outcomes[fixture->count++];
    *outcome = (struct outcome){.fixture = fixture, .may_send = !wish.forbidden};
    struct slu_http_job *job = slu_alloc(sizeof(*job));
    job->request.method = wish.method ? wish.method : "GET";
    job->request.timeout_ms = wish.timeout_ms ? wish.timeout_ms : TIMEOUT_MS;
    slu_buffer_puts(&job->request.url, url);
    if (wish.body)
        slu_buffer_puts(&job->request.body, wish.body);
    if (wish.header)
        slu_http_header_add(&job->request, wish.header, "%s", wish.header_value);
    job->low_lane = wish.low_lane;
    job->tenant = wish.tenant;
    job->may_send = wish.gated ? answer_may_send : NULL;
    job->done = note_end;
    job->context = outcome;
    outcome->submitting = true;
    slu_http_submit(wish.queue ? wish.queue : fixture->queue, job);
    outcome->submitting = false;
    free(job);
    return outcome;
}

static struct outcome *
submit(struct fixture *fixture, const char *path, struct wish wish)
{
    char url[512];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", port, path);
    return submit_url(fixture, url, wish);
}

static const struct outcome *
exchange(struct fixture *fixture, const char *path, struct wish wish)
{
    const struct outcome *outcome = submit(fixture, path, wish);
    run_all(fixture);
    return outcome;
}

/* Lines of the server's log that contain `of`: how often something was executed. */
static int
executions(struct fixture *fixture, const char *of)
{
    char path[256];
    snprintf(path, sizeof(path), "/log?of=%s", of);
    const struct outcome *outcome = exchange(fixture, path, (struct wish){0});
    assert_int_equal(outcome->status, 200);
    int lines = outcome->body[0] != '\0';
    for (const char *c = outcome->body; *c; c++)
        lines += *c == '\n';
    return lines;
}

static void
expect_end(const struct outcome *outcome, enum slu_http_end end)
{
    if (outcome->end != end)
        fail_msg("ended as %d, not %d: status %d, '%s'", outcome->end, end, outcome->status,
                 outcome->error);
    if (end == SLU_HTTP_ANSWERED)
        return;
    assert_int_equal(outcome->status, 0);
    assert_string_not_equal(outcome->error, "");
}

static void
note_closed(void *context)
{
    struct fixture *fixture = context;
    fixture->client = NULL;
}

static void
close_client(struct fixture *fixture)
{
    slu_http_client_close(fixture->client, note_closed, fixture);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_null(fixture->client);
}

static int
start_test(void **state)
{
    struct fixture *fixture = slu_alloc(sizeof(*fixture));
    uv_loop_init(&fixture->loop);
    const struct slu_http_client_settings settings = {.user_agent = "sluice-test/1", .ca_file = ""};
    struct slu_error error;
    assert_int_equal(slu_http_client_open(&fixture->loop, &settings, &fixture->client, &error),
                     SLU_OK);
    fixture->queue = slu_http_queue_open(fixture->client, "test", 16, 0);
    *state = fixture;
    return 0;
}

static int
end_test(void **state)
{
    struct fixture *fixture = *state;
    if (fixture->client)
        close_client(fixture);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    for (int i = 0; i < fixture->count; i++)
        free(fixture->outcomes[i].body);
    free(fixture);
    return 0;
}

/* --- what a request and an answer carry ------------------------------------------------------ */

static void
test_a_request_arrives_as_it_was_written(void **state)
{
    const struct outcome *outcome = exchange(*state, "/echo?a=1",
                                             (struct wish){.method = "PATCH",
                                                           .body = "{\"x\":1}",
                                                           .header = "X-Api-Key",
                                                           .header_value = "secret"});
    expect_end(outcome, SLU_HTTP_ANSWERED);
    assert_int_equal(outcome->status, 200);
    assert_non_null(strstr(outcome->body, "\"method\": \"PATCH\""));
    assert_non_null(strstr(outcome->body, "\"target\": \"/echo?a=1\""));
    assert_non_null(strstr(outcome->body, "[\"x-api-key\", \"secret\"]"));
    assert_non_null(strstr(outcome->body, "[\"user-agent\", \"sluice-test/1\"]"));
    assert_non_null(strstr(outcome->body, "\"body\": \"{\\\"x\\\":1}\""));
    assert_null(strstr(outcome->body, "expect"));
    assert_null(strstr(outcome->body, "content-type"));
}

static void
test_each_method_has_the_body_it_should(void **state)
{
    static const struct {
        const char *method, *body, *length; /* NULL: no such header. */
    } cases[] = {
        {"GET", NULL, NULL}, {"DELETE", NULL, NULL}, {"DELETE", "why", "3"},
        {"POST", NULL, "0"}, {"POST", "hello", "5"}, {"PUT", "hello", "5"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        const struct outcome *outcome = exchange(
            *state, "/echo", (struct wish){.method = cases[i].method, .body = cases[i].body});
        char method[64], length[64];
        snprintf(method, sizeof(method), "\"method\": \"%s\"", cases[i].method);
        snprintf(length, sizeof(length), "[\"content-length\", \"%s\"]",
                 cases[i].length ? cases[i].length : "");
        assert_non_null(strstr(outcome->body, method));
        if (cases[i].length)
            assert_non_null(strstr(outcome->body, length));
        else
            assert_null(strstr(outcome->body, "content-length"));
    }
}

static void
test_only_the_headers_that_matter_come_back(void **state)
{
    const struct outcome *outcome = exchange(*state, "/echo", (struct wish){0});
    assert_string_equal(outcome->content_type, "application/json");
    assert_string_equal(outcome->token, "next");
    assert_string_equal(outcome->epoch, "7");
    assert_int_equal(outcome->header_count, 3);
}

static void
test_headers_of_an_early_answer_do_not_count(void **state)
{
    const struct outcome *outcome = exchange(*state, "/informed", (struct wish){0});
    assert_int_equal(outcome->status, 200);
    assert_string_equal(outcome->token, "late");
    assert_string_equal(outcome->body, "final");
}

static void
test_a_token_too_long_to_keep_is_no_answer(void **state)
{
    const struct outcome *fits = exchange(*state, "/long-token?bytes=463", (struct wish){0});
    expect_end(fits, SLU_HTTP_ANSWERED);
    assert_int_equal(strlen(fits->token), 463);
    expect_end(exchange(*state, "/long-token?bytes=464", (struct wish){0}), SLU_HTTP_UNKNOWN);
}

static void
test_errors_and_redirects_of_the_far_side_are_answers(void **state)
{
    struct fixture *fixture = *state;
    const struct outcome *busy = exchange(fixture, "/status?code=429&retry-after=2&body=slow",
                                          (struct wish){.method = "POST"});
    expect_end(busy, SLU_HTTP_ANSWERED);
    assert_int_equal(busy->status, 429);
    assert_string_equal(busy->retry_after, "2");
    assert_string_equal(busy->body, "slow");
    assert_int_equal(exchange(fixture, "/status?code=503", (struct wish){0})->status, 503);

    const struct outcome *moved =
        exchange(fixture, "/redirect?to=/ok?body=followed", (struct wish){0});
    assert_int_equal(moved->status, 302);
    assert_int_equal(executions(fixture, "body=followed") - executions(fixture, "redirect"), 0);
}

static void
test_a_body_up_to_the_cap_is_taken_and_one_above_is_not(void **state)
{
    struct fixture *fixture = *state;
    char path[64];
    snprintf(path, sizeof(path), "/big?bytes=%d", SLU_HTTP_BODY_MAX);
    const struct outcome *fits = exchange(fixture, path, (struct wish){.timeout_ms = 60000});
    expect_end(fits, SLU_HTTP_ANSWERED);
    assert_int_equal(strlen(fits->body), SLU_HTTP_BODY_MAX);
    snprintf(path, sizeof(path), "/big?bytes=%d", SLU_HTTP_BODY_MAX + 1);
    expect_end(exchange(fixture, path, (struct wish){0}), SLU_HTTP_UNKNOWN);
    snprintf(path, sizeof(path), "/big?chunked=1&bytes=%d", SLU_HTTP_BODY_MAX + 1);
    expect_end(exchange(fixture, path, (struct wish){.timeout_ms = 60000}), SLU_HTTP_UNKNOWN);
}

/* --- never sent, or unknown ------------------------------------------------------------------ */

static void
test_what_cannot_leave_was_never_sent(void **state)
{
    struct fixture *fixture = *state;
    char refused[64];
    snprintf(refused, sizeof(refused), "http://127.0.0.1:%d/ok", dead_port);
    const char *const urls[] = {
        refused,   "http://no-such-host.invalid/", "file:///etc/passwd", "ftp://127.0.0.1/x", "",
        "nonsense"};
    for (size_t i = 0; i < SLU_COUNT(urls); i++) {
        const struct outcome *outcome =
            submit_url(fixture, urls[i], (struct wish){.method = "POST", .body = "x"});
        run_all(fixture);
        expect_end(outcome, SLU_HTTP_NEVER_SENT);
    }
}

static void
test_a_line_break_in_a_header_is_never_sent(void **state)
{
    struct fixture *fixture = *state;
    expect_end(exchange(fixture, "/ok?body=injected",
                        (struct wish){.header = "X-A", .header_value = "a\r\nX-B: b"}),
               SLU_HTTP_NEVER_SENT);
    assert_int_equal(executions(fixture, "body=injected"), 0);
}

static void
test_a_job_that_may_not_leave_any_more_does_not(void **state)
{
    struct fixture *fixture = *state;
    const struct outcome *outcome =
        exchange(fixture, "/ok?body=stopped", (struct wish){.gated = true, .forbidden = true});
    expect_end(outcome, SLU_HTTP_NEVER_SENT);
    assert_int_equal(outcome->asked, 1);
    assert_int_equal(executions(fixture, "body=stopped"), 0);

    const struct outcome *allowed =
        exchange(fixture, "/ok?body=allowed", (struct wish){.gated = true});
    expect_end(allowed, SLU_HTTP_ANSWERED);
    assert_int_equal(allowed->asked, 1);
    assert_int_equal(executions(fixture, "body=allowed"), 1);
}

static void
test_may_send_is_asked_only_when_the_job_leaves(void **state)
{
    struct fixture *fixture = *state;
    slu_http_queue_limits(fixture->queue, 1, 0);
    const struct outcome *first = submit(fixture, "/wait?ms=200", (struct wish){.gated = true});
    struct outcome *second = submit(fixture, "/ok?body=second", (struct wish){.gated = true});
    second->may_send = false; /* Leadership goes while it waits. */
    run_until_ended(fixture, 1);
    assert_int_equal(first->asked, 1);
    run_all(fixture);
    expect_end(second, SLU_HTTP_NEVER_SENT);
}

static void
test_an_answer_that_does_not_come_whole_is_unknown(void **state)
{
    static const char *const paths[] = {"/cut-body", "/cut-chunks", "/reset-body", "/die",
                                        "/garbage"};
    for (size_t i = 0; i < SLU_COUNT(paths); i++) {
        const struct outcome *outcome =
            exchange(*state, paths[i], (struct wish){.method = "POST", .body = "x"});
        expect_end(outcome, SLU_HTTP_UNKNOWN);
        assert_string_equal(outcome->body, "");
    }
}

static void
test_an_answer_that_takes_too_long_is_unknown(void **state)
{
    struct fixture *fixture = *state;
    static const char *const paths[] = {"/wait?ms=120000", "/slow-body?bytes=1200&ms=100"};
    for (size_t i = 0; i < SLU_COUNT(paths); i++) {
        const int64_t from_ms = now_ms();
        expect_end(exchange(fixture, paths[i], (struct wish){.timeout_ms = 300}), SLU_HTTP_UNKNOWN);
        assert_true(now_ms() - from_ms >= 290);
    }
    expect_end(exchange(fixture, "/ok", (struct wish){0}), SLU_HTTP_ANSWERED);
}

/* reliability.md F8: the far side executes on a kept connection, and closes it without an answer.
 */
static void
test_what_was_executed_on_a_dying_connection_is_never_sent_again(void **state)
{
    static const struct {
        const char *method, *body;
    } cases[] = {{"POST", "a body"},
                 {"POST", NULL},
                 {"PUT", "a body"},
                 {"PATCH", "a body"},
                 {"DELETE", NULL}};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        char path[64];
        snprintf(path, sizeof(path), "/die-when-kept?case=%zu", i);
        expect_end(exchange(fixture, "/ok", (struct wish){0}), SLU_HTTP_ANSWERED); /* Keeps one. */
        const struct outcome *outcome = exchange(
            fixture, path, (struct wish){.method = cases[i].method, .body = cases[i].body});
        expect_end(outcome, SLU_HTTP_UNKNOWN);
        snprintf(path, sizeof(path), "die-when-kept%%3Fcase=%zu", i);
        assert_int_equal(executions(fixture, path), 1);
    }
}

static void
test_a_look_on_a_dying_connection_may_be_sent_again(void **state)
{
    struct fixture *fixture = *state;
    expect_end(exchange(fixture, "/ok", (struct wish){0}), SLU_HTTP_ANSWERED);
    const struct outcome *outcome =
        exchange(fixture, "/die-when-kept?case=look", (struct wish){.gated = true});
    expect_end(outcome, SLU_HTTP_ANSWERED);
    assert_string_equal(outcome->body, "first");
    assert_int_equal(outcome->asked, 2);
}

/* --- admission ------------------------------------------------------------------------------- */

static int
read_peak(struct fixture *fixture, const char *group)
{
    char path[64];
    snprintf(path, sizeof(path), "/peak?group=%s", group);
    return (int) strtol(exchange(fixture, path, (struct wish){0})->body, NULL, 10);
}

static void
test_no_more_run_at_once_than_allowed(void **state)
{
    struct fixture *fixture = *state;
    slu_http_queue_limits(fixture->queue, 3, 0);
    for (int i = 0; i < 12; i++)
        submit(fixture, "/gather?group=three&size=3", (struct wish){0});
    run_all(fixture);
    assert_int_equal(read_peak(fixture, "three"), 3);
    slu_http_queue_limits(fixture->queue, 6, 0);
    for (int i = 0; i < 12; i++)
        submit(fixture, "/gather?group=six&size=6", (struct wish){0});
    run_all(fixture);
    assert_int_equal(read_peak(fixture, "six"), 6);
}

static void
test_128_run_in_parallel(void **state)
{
    struct fixture *fixture = *state;
    slu_http_queue_limits(fixture->queue, 128, 0);
    struct outcome *first = NULL;
    for (int i = 0; i < 128; i++) {
        struct outcome *outcome = submit(fixture, "/gather?group=many&size=128",
                                         (struct wish){.method = "POST", .body = "x"});
        first = first ? first : outcome;
    }
    run_all(fixture);
    for (int i = 0; i < 128; i++)
        expect_end(&first[i], SLU_HTTP_ANSWERED);
    assert_int_equal(read_peak(fixture, "many"), 128);
}

static void
test_starts_are_spread_over_the_second(void **state)
{
    struct fixture *fixture = *state;
    slu_http_queue_limits(fixture->queue, 100, 50);
    const int64_t from_ms = now_ms();
    for (int i = 0; i < 60; i++)
        submit(fixture, "/ok", (struct wish){0});
    /* Five at once, then one each 20 ms: 55 in the first second, the 60th at 1,100 ms. */
    run_until_ended(fixture, 56);
    assert_true(now_ms() - from_ms >= 990);
    run_all(fixture);
    assert_true(now_ms() - from_ms >= 1070);
}

static void
test_time_in_the_queue_does_not_count_as_time_out(void **state)
{
    struct fixture *fixture = *state;
    slu_http_queue_limits(fixture->queue, 1, 0);
    const struct outcome *jobs[3];
    for (int i = 0; i < 3; i++)
        jobs[i] = submit(fixture, "/wait?ms=2000", (struct wish){.timeout_ms = 5500});
    run_all(fixture);
    for (int i = 0; i < 3; i++)
        expect_end(jobs[i], SLU_HTTP_ANSWERED);
}

static void
test_users_go_before_the_low_lane(void **state)
{
    struct fixture *fixture = *state;
    slu_http_queue_limits(fixture->queue, 1, 0);
    submit(fixture, "/wait?ms=50", (struct wish){0});
    const struct outcome *low[3], *user[3];
    for (int i = 0; i < 3; i++)
        low[i] = submit(fixture, "/ok", (struct wish){.low_lane = true, .tenant = "a"});
    for (int i = 0; i < 3; i++)
        user[i] = submit(fixture, "/ok", (struct wish){.tenant = "a"});
    struct slu_http_queue_counts counts;
    slu_http_queue_counts(fixture->queue, &counts);
    assert_int_equal(counts.waiting + counts.in_flight, 4);
    assert_int_equal(counts.waiting_low, 3);
    run_all(fixture);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(user[i]->place, 1 + i);
        assert_int_equal(low[i]->place, 4 + i);
    }
}

static void
test_tenants_take_turns(void **state)
{
    struct fixture *fixture = *state;
    slu_http_queue_limits(fixture->queue, 1, 0);
    submit(fixture, "/wait?ms=50", (struct wish){.tenant = "greedy"});
    for (int i = 0; i < 20; i++)
        submit(fixture, "/ok", (struct wish){.tenant = "greedy"});
    const struct outcome *modest = submit(fixture, "/ok", (struct wish){.tenant = "modest"});
    const struct outcome *again = submit(fixture, "/ok", (struct wish){.tenant = "modest"});
    run_all(fixture);
    assert_true(modest->place <= 3);
    assert_true(again->place <= 5);
}

static void
test_nothing_leaves_while_the_far_side_wants_quiet(void **state)
{
    struct fixture *fixture = *state;
    struct slu_http_queue *other = slu_http_queue_open(fixture->client, "other", 1, 0);
    const int64_t from_ms = now_ms();
    slu_http_queue_hold(fixture->queue, 2000);
    slu_http_queue_hold(fixture->queue, 10); /* A shorter one takes nothing back. */
    const struct outcome *held = submit(fixture, "/ok", (struct wish){0});
    const struct outcome *free_one = submit(fixture, "/ok", (struct wish){.queue = other});
    run_until_ended(fixture, 1);
    assert_true(free_one->done);
    assert_false(held->done);
    run_all(fixture);
    assert_true(now_ms() - from_ms >= 1990);
    expect_end(held, SLU_HTTP_ANSWERED);
}

static void
test_connections_are_kept(void **state)
{
    struct fixture *fixture = *state;
    slu_http_queue_limits(fixture->queue, 1, 0);
    for (int i = 0; i < 50; i++)
        submit(fixture, "/ok?body=kept", (struct wish){.method = "POST", .body = "x"});
    run_all(fixture);
    const struct outcome *log = exchange(fixture, "/log?of=body=kept", (struct wish){0});
    const char *line = log->body;
    const long first = strtol(strchr(line, ' '), NULL, 10);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(strtol(strchr(line, ' '), NULL, 10), first);
        line = strchr(line, '\n') ? strchr(line, '\n') + 1 : line;
    }
}

static void
test_counts_tell_what_became_of_the_jobs(void **state)
{
    struct fixture *fixture = *state;
    submit(fixture, "/ok", (struct wish){0});
    submit(fixture, "/die", (struct wish){.method = "POST"});
    submit_url(fixture, "ftp://x/", (struct wish){0});
    run_all(fixture);
    struct slu_http_queue_counts counts;
    slu_http_queue_counts(fixture->queue, &counts);
    assert_int_equal(counts.answered, 1);
    assert_int_equal(counts.unknown, 1);
    assert_int_equal(counts.never_sent, 1);
    assert_int_equal(counts.sent, 2);
    assert_int_equal(counts.in_flight + counts.waiting + counts.waiting_low, 0);
}

/* --- the end --------------------------------------------------------------------------------- */

static void
test_a_closed_queue_drops_what_waits_and_keeps_what_flies(void **state)
{
    struct fixture *fixture = *state;
    struct slu_http_queue *queue = slu_http_queue_open(fixture->client, "closing", 1, 0);
    const struct outcome *flies =
        submit(fixture, "/wait?ms=200", (struct wish){.queue = queue, .gated = true});
    run_until_asked(fixture, flies);
    const struct outcome *waits = submit(fixture, "/ok", (struct wish){.queue = queue});
    slu_http_queue_close(queue);
    assert_false(waits->done);
    run_all(fixture);
    expect_end(flies, SLU_HTTP_ANSWERED);
    expect_end(waits, SLU_HTTP_NEVER_SENT);
}

static void
test_closing_the_client_ends_every_job(void **state)
{
    struct fixture *fixture = *state;
    slu_http_queue_limits(fixture->queue, 1, 0);
    const struct outcome *flies =
        submit(fixture, "/wait?ms=2000", (struct wish){.method = "POST", .gated = true});
    run_until_asked(fixture, flies);
    const struct outcome *waits = submit(fixture, "/ok", (struct wish){0});
    const struct outcome *low = submit(fixture, "/ok", (struct wish){.low_lane = true});
    close_client(fixture);
    expect_end(flies, SLU_HTTP_UNKNOWN);
    expect_end(waits, SLU_HTTP_NEVER_SENT);
    expect_end(low, SLU_HTTP_NEVER_SENT);
}

static void
close_inside(void *context, const struct slu_http_response *response)
{
    struct outcome *outcome = context;
    struct fixture *fixture = outcome->fixture;
    note_end(context, response);
    slu_http_client_close(fixture->client, note_closed, fixture);
    /* What comes too late is refused, and still answered. */
    submit(fixture, "/ok", (struct wish){0});
}

static void
test_the_client_can_be_closed_by_an_answer(void **state)
{
    struct fixture *fixture = *state;
    struct outcome *outcome = &fixture->outcomes[fixture->count++];
    *outcome = (struct outcome){.fixture = fixture};
    struct slu_http_job *job = slu_alloc(sizeof(*job));
    job->request.method = "GET";
    job->request.timeout_ms = TIMEOUT_MS;
    slu_buffer_printf(&job->request.url, "http://127.0.0.1:%d/ok", port);
    job->done = close_inside;
    job->context = outcome;
    slu_http_submit(fixture->queue, job);
    free(job);
    const struct outcome *other = submit(fixture, "/wait?ms=2000", (struct wish){0});
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_null(fixture->client);
    assert_int_equal(fixture->ended, 3);
    expect_end(outcome, SLU_HTTP_ANSWERED);
    assert_int_not_equal(other->end, SLU_HTTP_ANSWERED);
    expect_end(&fixture->outcomes[2], SLU_HTTP_NEVER_SENT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, start_test, end_test)
        TEST(test_a_request_arrives_as_it_was_written),
        TEST(test_each_method_has_the_body_it_should),
        TEST(test_only_the_headers_that_matter_come_back),
        TEST(test_headers_of_an_early_answer_do_not_count),
        TEST(test_a_token_too_long_to_keep_is_no_answer),
        TEST(test_errors_and_redirects_of_the_far_side_are_answers),
        TEST(test_a_body_up_to_the_cap_is_taken_and_one_above_is_not),
        TEST(test_what_cannot_leave_was_never_sent),
        TEST(test_a_line_break_in_a_header_is_never_sent),
        TEST(test_a_job_that_may_not_leave_any_more_does_not),
        TEST(test_may_send_is_asked_only_when_the_job_leaves),
        TEST(test_an_answer_that_does_not_come_whole_is_unknown),
        TEST(test_an_answer_that_takes_too_long_is_unknown),
        TEST(test_what_was_executed_on_a_dying_connection_is_never_sent_again),
        TEST(test_a_look_on_a_dying_connection_may_be_sent_again),
        TEST(test_no_more_run_at_once_than_allowed),
        TEST(test_128_run_in_parallel),
        TEST(test_starts_are_spread_over_the_second),
        TEST(test_time_in_the_queue_does_not_count_as_time_out),
        TEST(test_users_go_before_the_low_lane),
        TEST(test_tenants_take_turns),
        TEST(test_nothing_leaves_while_the_far_side_wants_quiet),
        TEST(test_connections_are_kept),
        TEST(test_counts_tell_what_became_of_the_jobs),
        TEST(test_a_closed_queue_drops_what_waits_and_keeps_what_flies),
        TEST(test_closing_the_client_ends_every_job),
        TEST(test_the_client_can_be_closed_by_an_answer),
#undef TEST
    };
    signal(SIGPIPE, SIG_IGN);
    if (start_server() != 0)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stop_server();
    return failed;
}
