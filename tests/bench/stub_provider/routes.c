/* SPDX-License-Identifier: Apache-2.0 */
#include "routes.h"

#include "slu/base/hash.h"
#include "slu/base/macros.h"
#include "slu/model/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_ITEMS = 100,
    INIT_EXIT_SIZE = 24
};

static const struct {
    const char *name;
    size_t offset;
    const char *help;
} switch_rows[] = {
    /* clang-format off */
    {"latency-ms", offsetof(struct stub_switches, latency_ms), "answer after this long"},
    {"jitter-ms", offsetof(struct stub_switches, jitter_ms), "and up to this much longer"},
    {"list-lag-ms", offsetof(struct stub_switches, list_lag_ms), "lists show a sandbox only so long after it was made"},
    {"lose", offsetof(struct stub_switches, lose), "of 1,000 calls, done but the connection dropped"},
    {"refuse", offsetof(struct stub_switches, refuse), "of 1,000 calls, answered 429"},
    {"fail", offsetof(struct stub_switches, fail), "of 1,000 calls, answered 500, every second one after doing it"},
    {"hang", offsetof(struct stub_switches, hang), "of 1,000 calls, done but never answered"},
    {"repeat-pages", offsetof(struct stub_switches, repeat_pages), "1: each page leads to itself"},
    {"ignore-filters", offsetof(struct stub_switches, ignore_filters), "1: lists show everything"},
    {"limit", offsetof(struct stub_switches, limit), "sandboxes at once, 429 above; 0: no limit"},
    /* clang-format on */
};

bool
stub_switch_set(struct stub_switches *switches, const char *name, const char *value)
{
    for (size_t i = 0; i < SLU_COUNT(switch_rows); i++) {
        if (strcmp(switch_rows[i].name, name) == 0) {
            const int64_t number = strtoll(value, NULL, 10);
            memcpy((char *) switches + switch_rows[i].offset, &number, sizeof(number));
            return true;
        }
    }
    return false;
}

void
stub_switches_help(void)
{
    for (size_t i = 0; i < SLU_COUNT(switch_rows); i++)
        printf("  --%-16s N  %s\n", switch_rows[i].name, switch_rows[i].help);
}

static void
refuse(struct stub_answer *answer, int status, const char *error_code, const char *message)
{
    answer->status = status;
    slu_buffer_reset(&answer->body);
    slu_buffer_printf(&answer->body, "{\"code\":%d,", status);
    if (error_code)
        slu_buffer_printf(&answer->body, "\"error_code\":\"%s\",", error_code);
    slu_buffer_printf(&answer->body, "\"message\":\"%s\"}", message);
}

static int
append(const char *bytes, size_t size, void *buffer)
{
    slu_buffer_append(buffer, bytes, size);
    return 0;
}

static void
write_sandbox(const struct stub_sandbox *sandbox, struct slu_buffer *out)
{
    char made[SLU_TIME_TEXT_SIZE], end[SLU_TIME_TEXT_SIZE];
    slu_time_write(sandbox->made_at_ms, made);
    slu_time_write(sandbox->lease_end_ms, end);
    slu_buffer_printf(out,
                      "{\"templateID\":\"base\",\"sandboxID\":\"%s\",\"clientID\":\"stub\","
                      "\"envdVersion\":\"0.5.7\",\"envdAccessToken\":\"tok_%s\",\"domain\":null,"
                      "\"startedAt\":\"%s\",\"endAt\":\"%s\",\"cpuCount\":1,\"memoryMB\":128,"
                      "\"diskSizeMB\":512,\"state\":\"%s\",\"metadata\":",
                      sandbox->id, sandbox->id, made, end, sandbox->paused ? "paused" : "running");
    if (sandbox->metadata)
        json_dump_callback(sandbox->metadata, append, out, JSON_COMPACT);
    else
        slu_buffer_puts(out, "{}");
    slu_buffer_putc(out, '}');
}

static void
answer_sandbox(struct stub_answer *answer, int status, const struct stub_sandbox *sandbox)
{
    answer->status = status;
    write_sandbox(sandbox, &answer->body);
}

static void
make(struct stub *stub,
     const struct stub_request *request,
     json_t *body,
     int64_t now_ms,
     struct stub_answer *answer)
{
    struct stub_counters *counters = stub_world_counters(stub->world);
    const json_t *timeout = json_object_get(body, "timeout");
    if (stub->switches.limit > 0 && counters->alive >= stub->switches.limit) {
        refuse(answer, 429, NULL, "you have reached the maximum number of concurrent sandboxes");
        return;
    }
    struct stub_sandbox *sandbox =
        stub_world_add(stub->world, json_object_get(body, "metadata"),
                       1000 * (json_is_integer(timeout) ? json_integer_value(timeout) : 300),
                       json_is_true(json_object_get(body, "autoPause")), now_ms);
    sandbox->listed_at_ms = now_ms + stub->switches.list_lag_ms;
    counters->creates++;
    if (request->idempotency_key)
        stub_world_key_set(stub->world, request->idempotency_key,
                           slu_hash64(request->body, request->body_size), sandbox->id);
    answer_sandbox(answer, 201, sandbox);
}

static void
create(struct stub *stub,
       const struct stub_request *request,
       int64_t now_ms,
       struct stub_answer *answer)
{
    uint64_t hash = 0;
    char id[24];
    if (request->idempotency_key &&
        stub_world_key_find(stub->world, request->idempotency_key, &hash, id)) {
        const struct stub_sandbox *sandbox = stub_world_find(stub->world, id, now_ms);
        stub_world_counters(stub->world)->repeated_creates++;
        if (hash != slu_hash64(request->body, request->body_size)) {
            refuse(answer, 422, "idempotency_request_mismatch",
                   "the key was used for another body");
        } else if (sandbox) {
            answer_sandbox(answer, 201, sandbox);
        } else {
            refuse(answer, 409, "idempotency_outcome_unknown", "what the key made is gone");
        }
        return;
    }
    json_t *body = json_loadb(request->body, request->body_size, 0, NULL);
    if (json_is_string(json_object_get(body, "templateID")))
        make(stub, request, body, now_ms, answer);
    else
        refuse(answer, 400, NULL, "templateID is missing");
    json_decref(body);
}

/* "a=b&c=d" with escaped values → "<cluster> <key>", the only filter the stub knows. */
static void
owner_of_filter(const char *filter, char *ret_owner, size_t size)
{
    char cluster[STUB_TEXT_MAX] = "", key[STUB_TEXT_MAX] = "", plain[2 * STUB_TEXT_MAX];
    size_t used = 0;
    for (const char *at = filter; *at && used + 1 < sizeof(plain); at++) {
        unsigned code = 0;
        /* Twice escaped still: %252F. Both levels end in the same byte. */
        if (strncmp(at, "%25", 3) == 0 && sscanf(at + 3, "%2x", &code) == 1)
            at += 4;
        else if (*at == '%' && sscanf(at + 1, "%2x", &code) == 1)
            at += 2;
        plain[used++] = code ? (char) code : *at;
    }
    plain[used] = '\0';
    const char *cluster_at = strstr(plain, "sluice.cluster=");
    const char *key_at = strstr(plain, "sluice.key=");
    if (cluster_at)
        sscanf(cluster_at, "sluice.cluster=%255[^&]", cluster);
    if (key_at)
        sscanf(key_at, "sluice.key=%255[^&]", key);
    snprintf(ret_owner, size, "%s %s", cluster, key);
}

static void
list(struct stub *stub,
     const struct stub_request *request,
     int64_t now_ms,
     struct stub_answer *answer)
{
    char owner[2 * STUB_TEXT_MAX + 2];
    const bool filtered = request->metadata_filter && !stub->switches.ignore_filters;
    int64_t after =
        request->cursor && !stub->switches.repeat_pages ? strtoll(request->cursor, NULL, 10) : 0;
    int count = 0;
    if (filtered)
        owner_of_filter(request->metadata_filter, owner, sizeof(owner));

    answer->status = 200;
    slu_buffer_putc(&answer->body, '[');
    struct stub_sandbox *sandbox;
    while (count < PAGE_ITEMS &&
           (sandbox = stub_world_next(stub->world, filtered ? owner : NULL, after))) {
        after = sandbox->number;
        if (sandbox->listed_at_ms > now_ms)
            continue;
        if (count++ > 0)
            slu_buffer_putc(&answer->body, ',');
        write_sandbox(sandbox, &answer->body);
    }
    slu_buffer_putc(&answer->body, ']');
    if (count == PAGE_ITEMS || stub->switches.repeat_pages)
        snprintf(answer->cursor, sizeof(answer->cursor), "%" PRId64, after);
}

static int64_t
timeout_of(const struct stub_request *request)
{
    json_t *body = json_loadb(request->body, request->body_size, 0, NULL);
    const json_t *timeout = json_object_get(body, "timeout");
    const int64_t seconds = json_is_integer(timeout) ? json_integer_value(timeout) : 300;
    json_decref(body);
    return 1000 * seconds;
}

static void
act(struct stub *stub,
    const struct stub_request *request,
    struct stub_sandbox *sandbox,
    const char *verb,
    int64_t now_ms,
    struct stub_answer *answer)
{
    struct stub_counters *counters = stub_world_counters(stub->world);
    answer->status = 204;
    if (strcmp(verb, "/pause") == 0) {
        counters->pauses++;
        if (sandbox->paused)
            refuse(answer, 409, NULL, "sandbox is already paused");
        sandbox->paused = true;
    } else if (strcmp(verb, "/connect") == 0) {
        const bool was_paused = sandbox->paused;
        const int64_t end_ms = now_ms + timeout_of(request);
        counters->resumes++;
        sandbox->paused = false;
        if (was_paused || end_ms > sandbox->lease_end_ms)
            sandbox->lease_end_ms = end_ms;
        answer_sandbox(answer, was_paused ? 201 : 200, sandbox);
    } else if (strcmp(verb, "/timeout") == 0) {
        counters->extends++;
        if (sandbox->paused)
            refuse(answer, 404, NULL, "sandbox is not running");
        else
            sandbox->lease_end_ms = now_ms + timeout_of(request);
    } else {
        refuse(answer, 404, NULL, "no matching operation was found");
    }
}

/* /sandboxes/<id>[/<verb>] */
static void
on_sandbox(struct stub *stub,
           const struct stub_request *request,
           const char *rest,
           int64_t now_ms,
           struct stub_answer *answer)
{
    char id[64] = "";
    const size_t length = strcspn(rest, "/");
    if (length < sizeof(id))
        memcpy(id, rest, length);
    struct stub_counters *counters = stub_world_counters(stub->world);
    struct stub_sandbox *sandbox = stub_world_find(stub->world, id, now_ms);
    if (!sandbox) {
        refuse(answer, 404, NULL, "sandbox was not found");
        return;
    }
    if (rest[length] == '/') {
        act(stub, request, sandbox, rest + length, now_ms, answer);
    } else if (strcmp(request->method, "GET") == 0) {
        counters->looks++;
        answer_sandbox(answer, 200, sandbox);
    } else if (strcmp(request->method, "DELETE") == 0) {
        counters->deletes++;
        stub_world_remove(stub->world, sandbox);
        answer->status = 204;
    } else {
        refuse(answer, 404, NULL, "no matching operation was found");
    }
}

static void
frame(struct slu_buffer *out, char flag, const char *text)
{
    const size_t size = strlen(text);
    const char header[5] = {flag, 0, 0, (char) (size >> 8), (char) size};
    slu_buffer_append(out, header, sizeof(header));
    slu_buffer_puts(out, text);
}

/* No process runs here: every init command has exited well ("slu-init exit 0", in base64). */
static void
start_process(struct stub *stub, struct stub_answer *answer)
{
    stub_world_counters(stub->world)->inits++;
    answer->status = 200;
    answer->content_type = "application/connect+json";
    frame(&answer->body, 0, "{\"event\":{\"start\":{\"pid\":42}}}");
    frame(&answer->body, 0, "{\"event\":{\"data\":{\"stdout\":\"c2x1LWluaXQgZXhpdCAwCg==\"}}}");
    frame(&answer->body, 0, "{\"event\":{\"end\":{\"exited\":true,\"status\":\"exit status 0\"}}}");
    frame(&answer->body, 2, "{}");
}

static void
write_counters(struct stub *stub, struct stub_answer *answer)
{
    const struct stub_counters *c = stub_world_counters(stub->world);
    json_t *root =
        json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}",
                  "requests", c->requests, "creates", c->creates, "repeatedCreates",
                  c->repeated_creates, "resumes", c->resumes, "pauses", c->pauses, "deletes",
                  c->deletes, "extends", c->extends, "looks", c->looks, "lists", c->lists, "inits",
                  c->inits, "alive", c->alive, "doubles", c->doubles, "lost", c->lost, "refused",
                  c->refused, "failed", c->failed, "hung", c->hung, "fenced", c->fenced);
    json_dump_callback(root, append, &answer->body, JSON_COMPACT);
    json_decref(root);
    answer->status = 200;
}

static const char *
after_prefix(const char *text, const char *prefix)
{
    const size_t size = strlen(prefix);
    return strncmp(text, prefix, size) == 0 ? text + size : NULL;
}

static void
route(struct stub *stub,
      const struct stub_request *request,
      int64_t now_ms,
      struct stub_answer *answer)
{
    const char *path = request->path;
    const char *rest = after_prefix(path, "/v2");
    const char *sandboxes = rest ? rest : path;
    const bool post = strcmp(request->method, "POST") == 0;

    if (strcmp(path, "/process.Process/Start") == 0 && post) {
        start_process(stub, answer);
    } else if (strcmp(sandboxes, "/sandboxes") == 0 && post) {
        create(stub, request, now_ms, answer);
    } else if (strcmp(path, "/v2/sandboxes") == 0) {
        stub_world_counters(stub->world)->lists++;
        list(stub, request, now_ms, answer);
    } else if ((rest = after_prefix(sandboxes, "/sandboxes/"))) {
        on_sandbox(stub, request, rest, now_ms, answer);
    } else {
        refuse(answer, 404, NULL, "no matching operation was found");
    }
}

static bool
strikes(struct stub *stub, int64_t chance, int64_t *counter)
{
    if (chance <= 0 || (int64_t) slu_random_below(&stub->random, 1000) >= chance)
        return false;
    (*counter)++;
    return true;
}

static void
answer_or_misbehave(struct stub *stub,
                    const struct stub_request *request,
                    int64_t now_ms,
                    struct stub_answer *answer)
{
    struct stub_counters *counters = stub_world_counters(stub->world);
    if (strikes(stub, stub->switches.refuse, &counters->refused)) {
        refuse(answer, 429, NULL, "Rate limit exceeded");
        answer->retry_after_s = 1;
        return;
    }
    const bool fails = strikes(stub, stub->switches.fail, &counters->failed);
    if (!fails || counters->failed % 2 == 0)
        route(stub, request, now_ms, answer);
    if (fails)
        refuse(answer, 500, "internal_server_error", "the stub was told to fail");
    if (strikes(stub, stub->switches.lose, &counters->lost))
        answer->end = STUB_DROP;
    else if (strikes(stub, stub->switches.hang, &counters->hung))
        answer->end = STUB_HANG;
}

void
stub_answer(struct stub *stub,
            const struct stub_request *request,
            int64_t now_ms,
            struct stub_answer *ret_answer)
{
    struct stub_counters *counters = stub_world_counters(stub->world);
    *ret_answer = (struct stub_answer){.content_type = "application/json"};
    if (strcmp(request->path, "/stub/counters") == 0) {
        write_counters(stub, ret_answer);
        return;
    }
    counters->requests++;
    if (stub->switches.latency_ms || stub->switches.jitter_ms) {
        ret_answer->delay_ms =
            stub->switches.latency_ms +
            (int64_t) slu_random_below(&stub->random, (uint64_t) stub->switches.jitter_ms + 1);
    }

    if (request->cluster && request->shard && request->epoch &&
        !stub_world_fence(stub->world, request->cluster, request->shard,
                          strtoll(request->epoch, NULL, 10))) {
        counters->fenced++;
        refuse(ret_answer, 409, "stale_epoch", "a newer leader was here");
        return;
    }
    answer_or_misbehave(stub, request, now_ms, ret_answer);
}
