/* SPDX-License-Identifier: Apache-2.0 */
/* What every store must do (include/slu/port/store.h, design.md §8). Each test drives the port on a
 * loop of its own and then looks at what the backend holds. */
#include "slu/base/memory.h"
#include "slu/port/store.h"
#include "store_subject.h"

#include <uv.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    SHARD = 3,
    PATIENCE_MS = 120000,
    ANSWERS_MAX = 32,
};

/* The answer to one question. */
struct answer {
    bool given;
    bool asking; /* True while the call that asks is on the stack. */
    enum slu_view_result result;
};

struct fixture {
    uv_loop_t loop;
    struct slu_store *store;
    struct slu_store *rival; /* Another replica; NULL mostly. */
    struct answer answers[ANSWERS_MAX];
    int asked;
};

/* --- driving the loop ------------------------------------------------------------------------ */

static void
note_timeout(uv_timer_t *timer)
{
    *(bool *) timer->data = true;
}

/* Turns the loop until `flag`; fails the test after PATIENCE_MS. */
static void
run_until(struct fixture *fixture, const bool *flag)
{
    bool late = false;
    uv_timer_t timer;
    uv_timer_init(&fixture->loop, &timer);
    timer.data = &late;
    uv_timer_start(&timer, note_timeout, PATIENCE_MS, 0);
    while (!*flag && !late)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *) &timer, NULL);
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_true(*flag);
}

static void
run_until_up(struct fixture *fixture, const struct slu_store *store, bool up)
{
    bool late = false;
    uv_timer_t timer;
    uv_timer_init(&fixture->loop, &timer);
    timer.data = &late;
    uv_timer_start(&timer, note_timeout, PATIENCE_MS, 0);
    while (slu_store_up(store) != up && !late)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *) &timer, NULL);
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_int_equal(slu_store_up(store), up);
}

static struct slu_store *
open_store(struct fixture *fixture, const char *url)
{
    struct slu_store *store = NULL;
    struct slu_error error = {0};
    const struct slu_store_settings settings = {
        .url = url, .password_file = "", .key_prefix = "slu:"};
    assert_int_equal(slu_store_open(&fixture->loop, &settings, &store, &error), SLU_OK);
    return store;
}

static void
note_closed(void *context)
{
    *(bool *) context = true;
}

static void
close_store(struct fixture *fixture, struct slu_store **store)
{
    bool closed = false;
    slu_store_close(*store, note_closed, &closed);
    *store = NULL;
    run_until(fixture, &closed);
}

/* --- asking ---------------------------------------------------------------------------------- */

static void
note_result(void *context, int shard, enum slu_view_result result)
{
    struct answer *answer = context;
    assert_int_equal(shard, SHARD);
    assert_false(answer->asking);
    assert_false(answer->given);
    answer->given = true;
    answer->result = result;
}

static struct answer *
next_answer(struct fixture *fixture)
{
    assert_true(fixture->asked < ANSWERS_MAX);
    return &fixture->answers[fixture->asked++];
}

static struct slu_view_head
head_at(int64_t epoch, int64_t seq)
{
    return (struct slu_view_head){.shard = SHARD,
                                  .cluster = "cluster-a",
                                  .epoch = epoch,
                                  .seq = seq,
                                  .url = "http://127.0.0.1:7000"};
}

static void
write_status(struct slu_buffer *out, const char *tenant, const char *key, int revision, size_t pad)
{
    slu_buffer_printf(out,
                      "{\"kind\":\"Sandbox\",\"id\":\"%s\",\"scope\":{\"tenantId\":\"%s\","
                      "\"projectId\":\"p1\"},\"observedGeneration\":%d,\"pad\":\"",
                      strrchr(key, '/') + 1, tenant, revision);
    for (size_t i = 0; i < pad; i++)
        slu_buffer_putc(out, 'x');
    slu_buffer_puts(out, "\"}");
}

static char *
status_text(const char *tenant, const char *key, int revision)
{
    struct slu_buffer text = {0};
    write_status(&text, tenant, key, revision, 0);
    return slu_buffer_take(&text);
}

static void
add_status(struct slu_batch *batch, const char *key, const char *status)
{
    struct slu_output *output = slu_batch_add(batch, SLU_TOPIC_STATUS, SHARD);
    output->key = slu_strdup(key);
    output->key_size = strlen(key);
    output->value = status ? slu_strdup(status) : NULL;
    output->value_size = status ? strlen(status) : 0;
}

/* Asks; the batch's events must not come into the view, so there is one in each. */
static struct answer *
ask_apply(struct fixture *fixture,
          struct slu_store *store,
          struct slu_view_head head,
          struct slu_batch *batch)
{
    struct slu_output *event = slu_batch_add(batch, SLU_TOPIC_EVENTS, SHARD);
    event->key = slu_strdup("sandbox/an-event");
    event->key_size = strlen(event->key);
    event->value = slu_strdup("{}");
    event->value_size = 2;

    struct answer *answer = next_answer(fixture);
    answer->asking = true;
    slu_store_apply(store, &head, batch, note_result, answer);
    answer->asking = false;
    slu_batch_free(batch);
    return answer;
}

static struct answer *
ask_put(struct fixture *fixture,
        struct slu_store *store,
        struct slu_view_head head,
        const char *key,
        int revision)
{
    struct slu_batch *batch = slu_batch_new(SHARD);
    char *status = status_text("acme", key, revision);
    add_status(batch, key, status);
    free(status);
    return ask_apply(fixture, store, head, batch);
}

static enum slu_view_result
wait_for(struct fixture *fixture, struct answer *answer)
{
    run_until(fixture, &answer->given);
    return answer->result;
}

static enum slu_view_result
put(struct fixture *fixture, int64_t epoch, int64_t seq, const char *key, int revision)
{
    return wait_for(fixture, ask_put(fixture, fixture->store, head_at(epoch, seq), key, revision));
}

static struct answer *
ask_rewrite(struct fixture *fixture,
            struct slu_store *store,
            struct slu_view_head head,
            const char *const *keys,
            int count,
            int revision)
{
    slu_store_rewrite_begin(store, &head);
    for (int i = 0; i < count; i++) {
        char *status = status_text("acme", keys[i], revision);
        slu_store_rewrite_put(store, SHARD, keys[i], status, strlen(status));
        free(status);
    }
    struct answer *answer = next_answer(fixture);
    answer->asking = true;
    slu_store_rewrite_finish(store, SHARD, note_result, answer);
    answer->asking = false;
    return answer;
}

static enum slu_view_result
rewrite(struct fixture *fixture, int64_t epoch, int64_t seq, const char *const *keys, int count)
{
    return wait_for(
        fixture, ask_rewrite(fixture, fixture->store, head_at(epoch, seq), keys, count, (int) seq));
}

/* A view with one status at (epoch, seq): where most tests begin. */
static void
begin_view(struct fixture *fixture, int64_t epoch, int64_t seq)
{
    assert_int_equal(rewrite(fixture, epoch, seq, (const char *[]){"sandbox/first"}, 1),
                     SLU_VIEW_APPLIED);
}

static void
expect_status(const char *key, int revision)
{
    char *expected = revision ? status_text("acme", key, revision) : NULL;
    char *found = subject_status(SHARD, key);
    if (expected) {
        assert_non_null(found);
        assert_string_equal(found, expected);
    } else {
        assert_null(found);
    }
    free(expected);
    free(found);
}

static int
start_test(void **state)
{
    struct fixture *fixture = slu_alloc(sizeof(*fixture));
    uv_loop_init(&fixture->loop);
    subject_wipe();
    fixture->store = open_store(fixture, subject_url());
    run_until_up(fixture, fixture->store, true);
    *state = fixture;
    return 0;
}

static int
end_test(void **state)
{
    struct fixture *fixture = *state;
    if (fixture->store)
        close_store(fixture, &fixture->store);
    if (fixture->rival)
        close_store(fixture, &fixture->rival);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    free(fixture);
    return 0;
}

/* --- sequence -------------------------------------------------------------------------------- */

static void
test_the_first_write_into_an_empty_store_is_a_gap(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(put(fixture, 1, 1, "sandbox/first", 1), SLU_VIEW_GAP);
    assert_int_equal(subject_count(SHARD), -1);
}

static void
test_a_whole_view_and_the_batches_after_it_are_what_was_put(void **state)
{
    struct fixture *fixture = *state;
    const char *const keys[] = {"sandbox/a", "sandbox/b", "checkpoint/a/cp-1"};
    assert_int_equal(rewrite(fixture, 2, 10, keys, 3), SLU_VIEW_APPLIED);
    assert_int_equal(put(fixture, 2, 11, "sandbox/b", 11), SLU_VIEW_APPLIED);
    assert_int_equal(put(fixture, 2, 12, "sandbox/c", 12), SLU_VIEW_APPLIED);
    assert_int_equal(subject_count(SHARD), 4);
    expect_status("sandbox/a", 10);
    expect_status("sandbox/b", 11);
    expect_status("sandbox/c", 12);
    expect_status("checkpoint/a/cp-1", 10);
    expect_status("sandbox/an-event", 0);
    assert_true(subject_indexed(SHARD, "acme/p1/sandbox", "sandbox/c"));
    assert_true(subject_indexed(SHARD, "acme/p1/checkpoint", "checkpoint/a/cp-1"));
}

static void
test_an_empty_view_is_a_view(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(rewrite(fixture, 1, 1, NULL, 0), SLU_VIEW_APPLIED);
    assert_int_equal(subject_count(SHARD), 0);
    assert_int_equal(put(fixture, 1, 2, "sandbox/a", 2), SLU_VIEW_APPLIED);
    assert_int_equal(subject_count(SHARD), 1);
}

static void
test_a_tombstone_removes_the_key_from_status_ids_and_indexes(void **state)
{
    struct fixture *fixture = *state;
    const char *const keys[] = {"sandbox/a", "sandbox/b"};
    assert_int_equal(rewrite(fixture, 1, 1, keys, 2), SLU_VIEW_APPLIED);
    struct slu_batch *batch = slu_batch_new(SHARD);
    add_status(batch, "sandbox/a", NULL);
    add_status(batch, "sandbox/was-never-there", NULL);
    assert_int_equal(wait_for(fixture, ask_apply(fixture, fixture->store, head_at(1, 2), batch)),
                     SLU_VIEW_APPLIED);
    expect_status("sandbox/a", 0);
    assert_null(subject_id(SHARD, "sandbox:a"));
    assert_false(subject_indexed(SHARD, "acme/p1/sandbox", "sandbox/a"));
    assert_true(subject_indexed(SHARD, "acme/p1/sandbox", "sandbox/b"));
    assert_int_equal(subject_count(SHARD), 1);
}

static void
test_ids_lead_to_keys_also_where_a_childs_id_is_not_unique(void **state)
{
    struct fixture *fixture = *state;
    const char *const keys[] = {"sandbox/a", "checkpoint/a/cp-1", "checkpoint/b/cp-1"};
    assert_int_equal(rewrite(fixture, 1, 1, keys, 3), SLU_VIEW_APPLIED);
    char *sandbox = subject_id(SHARD, "sandbox:a");
    char *both = subject_id(SHARD, "checkpoint:cp-1");
    assert_string_equal(sandbox, "sandbox/a");
    assert_string_equal(both, "checkpoint/a/cp-1 checkpoint/b/cp-1");

    struct slu_batch *batch = slu_batch_new(SHARD);
    add_status(batch, "checkpoint/a/cp-1", NULL);
    assert_int_equal(wait_for(fixture, ask_apply(fixture, fixture->store, head_at(1, 2), batch)),
                     SLU_VIEW_APPLIED);
    char *other = subject_id(SHARD, "checkpoint:cp-1");
    assert_string_equal(other, "checkpoint/b/cp-1");
    free(sandbox);
    free(both);
    free(other);
}

static void
test_a_new_life_in_another_tenant_leaves_the_old_index(void **state)
{
    struct fixture *fixture = *state;
    begin_view(fixture, 1, 1);
    char *status = status_text("other", "sandbox/first", 2);
    struct slu_batch *batch = slu_batch_new(SHARD);
    add_status(batch, "sandbox/first", status);
    free(status);
    assert_int_equal(wait_for(fixture, ask_apply(fixture, fixture->store, head_at(1, 2), batch)),
                     SLU_VIEW_APPLIED);
    assert_false(subject_indexed(SHARD, "acme/p1/sandbox", "sandbox/first"));
    assert_true(subject_indexed(SHARD, "other/p1/sandbox", "sandbox/first"));
}

static void
test_an_idle_batch_moves_the_sequence_too(void **state)
{
    struct fixture *fixture = *state;
    begin_view(fixture, 1, 1);
    assert_int_equal(
        wait_for(fixture, ask_apply(fixture, fixture->store, head_at(1, 2), slu_batch_new(SHARD))),
        SLU_VIEW_APPLIED);
    assert_int_equal(put(fixture, 1, 3, "sandbox/first", 3), SLU_VIEW_APPLIED);
    expect_status("sandbox/first", 3);
}

/* One row: what is stored, what comes, what must become of it. */
static const struct {
    const char *name;
    int64_t stored_epoch, stored_seq, epoch, seq;
    bool claim;
    enum slu_view_result expect;
} follows[] = {
    /* clang-format off */
    {"the next one",                               4, 50, 4, 51, false, SLU_VIEW_APPLIED},
    {"one was lost",                               4, 50, 4, 52, false, SLU_VIEW_GAP},
    {"the same again",                             4, 50, 4, 50, false, SLU_VIEW_GAP},
    {"one before: the store is from the future",   4, 50, 4, 49, false, SLU_VIEW_GAP},
    {"a claim after the last of the old leader",   4, 50, 5, 51, true,  SLU_VIEW_APPLIED},
    {"a claim over several epochs",                4, 50, 9, 51, true,  SLU_VIEW_APPLIED},
    {"a claim after one that was lost",            4, 50, 5, 52, true,  SLU_VIEW_GAP},
    {"a new epoch without its claim",              4, 50, 5, 51, false, SLU_VIEW_GAP},
    {"an old leader's next",                       4, 50, 3, 51, false, SLU_VIEW_STALE},
    {"an old leader's claim",                      4, 50, 3, 51, true,  SLU_VIEW_STALE},
    {"an old leader, far ahead",                   4, 50, 3, 99, false, SLU_VIEW_STALE},
    /* clang-format on */
};

static void
test_only_the_exact_successor_is_applied(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < SLU_COUNT(follows); i++) {
        subject_wipe();
        begin_view(fixture, follows[i].stored_epoch, follows[i].stored_seq);
        struct slu_batch *batch = slu_batch_new(SHARD);
        batch->claim = follows[i].claim;
        char *status = status_text("acme", "sandbox/first", 777);
        add_status(batch, "sandbox/first", status);
        free(status);
        const enum slu_view_result result =
            wait_for(fixture, ask_apply(fixture, fixture->store,
                                        head_at(follows[i].epoch, follows[i].seq), batch));
        if (result != follows[i].expect)
            fail_msg("%s: result %d, expected %d", follows[i].name, result, follows[i].expect);
        expect_status("sandbox/first",
                      result == SLU_VIEW_APPLIED ? 777 : (int) follows[i].stored_seq);
        fixture->asked = 0;
        memset(fixture->answers, 0, sizeof(fixture->answers));
    }
}

static void
test_another_cluster_stores_nothing(void **state)
{
    struct fixture *fixture = *state;
    begin_view(fixture, 1, 1);
    struct slu_view_head foreign = head_at(1, 2);
    foreign.cluster = "cluster-b";
    assert_int_equal(
        wait_for(fixture, ask_put(fixture, fixture->store, foreign, "sandbox/first", 2)),
        SLU_VIEW_OTHER_CLUSTER);
    foreign.epoch = 9;
    assert_int_equal(wait_for(fixture, ask_rewrite(fixture, fixture->store, foreign,
                                                   (const char *[]){"sandbox/x"}, 1, 1)),
                     SLU_VIEW_OTHER_CLUSTER);
    expect_status("sandbox/first", 1);
    assert_int_equal(subject_count(SHARD), 1);
}

static void
test_a_thousand_records_of_2_kb_are_one_batch(void **state)
{
    struct fixture *fixture = *state;
    begin_view(fixture, 1, 1);
    struct slu_batch *batch = slu_batch_new(SHARD);
    for (int i = 0; i < 1000; i++) {
        char key[64];
        struct slu_buffer text = {0};
        snprintf(key, sizeof(key), "sandbox/many-%d", i);
        write_status(&text, "acme", key, 2, 2048);
        add_status(batch, key, text.data);
        slu_buffer_done(&text);
    }
    assert_int_equal(wait_for(fixture, ask_apply(fixture, fixture->store, head_at(1, 2), batch)),
                     SLU_VIEW_APPLIED);
    assert_int_equal(subject_count(SHARD), 1001);
    assert_true(subject_indexed(SHARD, "acme/p1/sandbox", "sandbox/many-999"));
    assert_int_equal(put(fixture, 1, 3, "sandbox/first", 3), SLU_VIEW_APPLIED);
}

/* --- accidents ------------------------------------------------------------------------------- */

static void
test_a_wipe_between_two_writes_is_a_gap_and_heals(void **state)
{
    struct fixture *fixture = *state;
    begin_view(fixture, 1, 1);
    subject_wipe();
    assert_int_equal(put(fixture, 1, 2, "sandbox/a", 2), SLU_VIEW_GAP);
    const char *const keys[] = {"sandbox/first", "sandbox/a"};
    assert_int_equal(rewrite(fixture, 1, 2, keys, 2), SLU_VIEW_APPLIED);
    assert_int_equal(put(fixture, 1, 3, "sandbox/a", 3), SLU_VIEW_APPLIED);
    assert_int_equal(subject_count(SHARD), 2);
    expect_status("sandbox/a", 3);
}

static void
test_a_status_lost_from_the_view_is_a_gap(void **state)
{
    struct fixture *fixture = *state;
    const char *const keys[] = {"sandbox/a", "sandbox/b"};
    assert_int_equal(rewrite(fixture, 1, 1, keys, 2), SLU_VIEW_APPLIED);
    subject_damage(SHARD, "sandbox/a");
    assert_int_equal(
        wait_for(fixture, ask_apply(fixture, fixture->store, head_at(1, 2), slu_batch_new(SHARD))),
        SLU_VIEW_GAP);
}

static void
test_a_store_rolled_back_is_a_gap_and_heals(void **state)
{
    struct fixture *fixture = *state;
    begin_view(fixture, 1, 5);
    assert_int_equal(put(fixture, 1, 6, "sandbox/a", 6), SLU_VIEW_APPLIED);
    subject_remember();
    assert_int_equal(put(fixture, 1, 7, "sandbox/a", 7), SLU_VIEW_APPLIED);
    assert_int_equal(put(fixture, 1, 8, "sandbox/b", 8), SLU_VIEW_APPLIED);
    subject_roll_back();
    /* Whether the connection's end is noticed before the write is a matter of luck. */
    enum slu_view_result result = put(fixture, 1, 9, "sandbox/c", 9);
    if (result == SLU_VIEW_DOWN) {
        run_until_up(fixture, fixture->store, true);
        result = put(fixture, 1, 10, "sandbox/c", 10);
    }
    assert_int_equal(result, SLU_VIEW_GAP);
    const char *const keys[] = {"sandbox/a", "sandbox/c"};
    assert_int_equal(rewrite(fixture, 1, 10, keys, 2), SLU_VIEW_APPLIED);
    expect_status("sandbox/b", 0);
    expect_status("sandbox/a", 10);
    assert_int_equal(put(fixture, 1, 11, "sandbox/a", 11), SLU_VIEW_APPLIED);
    assert_int_equal(subject_leftovers(SHARD), 0);
}

static void
test_a_zombie_never_wins_over_a_newer_epoch_in_a_wiped_store(void **state)
{
    struct fixture *fixture = *state;
    fixture->rival = open_store(fixture, subject_url());
    run_until_up(fixture, fixture->rival, true);
    const char *const keys[] = {"sandbox/first"};
    begin_view(fixture, 5, 60);
    subject_wipe();

    /* 1. The zombie (epoch 4) writes late: into nothing, so not at all. */
    assert_int_equal(
        wait_for(fixture, ask_put(fixture, fixture->rival, head_at(4, 55), "sandbox/first", 55)),
        SLU_VIEW_GAP);
    assert_int_equal(subject_count(SHARD), -1);

    /* 2. It writes its whole view first: the leader's next write notices, and replaces it. */
    assert_int_equal(
        wait_for(fixture, ask_rewrite(fixture, fixture->rival, head_at(4, 55), keys, 1, 55)),
        SLU_VIEW_APPLIED);
    assert_int_equal(put(fixture, 5, 61, "sandbox/first", 61), SLU_VIEW_GAP);
    assert_int_equal(rewrite(fixture, 5, 61, keys, 1), SLU_VIEW_APPLIED);
    expect_status("sandbox/first", 61);

    /* 3. From then on it is refused, one write or a whole view. */
    assert_int_equal(
        wait_for(fixture, ask_put(fixture, fixture->rival, head_at(4, 56), "sandbox/first", 56)),
        SLU_VIEW_STALE);
    assert_int_equal(
        wait_for(fixture, ask_rewrite(fixture, fixture->rival, head_at(4, 56), keys, 1, 56)),
        SLU_VIEW_STALE);
    expect_status("sandbox/first", 61);
    assert_int_equal(put(fixture, 5, 62, "sandbox/first", 62), SLU_VIEW_APPLIED);
}

static void
test_a_zombie_that_finishes_its_view_after_the_leader_is_stale(void **state)
{
    struct fixture *fixture = *state;
    fixture->rival = open_store(fixture, subject_url());
    run_until_up(fixture, fixture->rival, true);
    const char *const keys[] = {"sandbox/first"};

    const struct slu_view_head zombie = head_at(4, 55);
    slu_store_rewrite_begin(fixture->rival, &zombie);
    slu_store_rewrite_put(fixture->rival, SHARD, "sandbox/first", "{}", 2);
    assert_int_equal(rewrite(fixture, 5, 60, keys, 1), SLU_VIEW_APPLIED);
    struct answer *late = next_answer(fixture);
    slu_store_rewrite_finish(fixture->rival, SHARD, note_result, late);
    assert_int_equal(wait_for(fixture, late), SLU_VIEW_STALE);
    expect_status("sandbox/first", 60);
}

static void
test_a_crash_is_down_and_an_empty_restart_heals_by_itself(void **state)
{
    struct fixture *fixture = *state;
    begin_view(fixture, 1, 1);
    subject_crash();
    assert_int_equal(put(fixture, 1, 2, "sandbox/a", 2), SLU_VIEW_DOWN);
    run_until_up(fixture, fixture->store, false);
    assert_string_not_equal(slu_store_trouble(fixture->store), "");
    assert_int_equal(put(fixture, 1, 3, "sandbox/a", 3), SLU_VIEW_DOWN);
    assert_int_equal(rewrite(fixture, 1, 3, (const char *[]){"sandbox/a"}, 1), SLU_VIEW_DOWN);
    subject_revive();
    run_until_up(fixture, fixture->store, true);
    assert_string_equal(slu_store_trouble(fixture->store), "");
    assert_int_equal(put(fixture, 1, 4, "sandbox/a", 4), SLU_VIEW_GAP);
    assert_int_equal(rewrite(fixture, 1, 4, (const char *[]){"sandbox/a"}, 1), SLU_VIEW_APPLIED);
    assert_int_equal(put(fixture, 1, 5, "sandbox/a", 5), SLU_VIEW_APPLIED);
}

static void
test_silence_is_down_too(void **state)
{
    struct fixture *fixture = *state;
    begin_view(fixture, 1, 1);
    subject_stall();
    assert_int_equal(put(fixture, 1, 2, "sandbox/a", 2), SLU_VIEW_DOWN);
    subject_crash();
    subject_revive();
    run_until_up(fixture, fixture->store, true);
    assert_int_equal(put(fixture, 1, 3, "sandbox/a", 3), SLU_VIEW_GAP);
}

static void
test_a_store_that_is_away_opens_and_answers_down(void **state)
{
    struct fixture *fixture = *state;
    fixture->rival = open_store(fixture, subject_dead_url());
    assert_false(slu_store_up(fixture->rival));
    struct answer *write = ask_put(fixture, fixture->rival, head_at(1, 1), "sandbox/a", 1);
    struct answer *whole =
        ask_rewrite(fixture, fixture->rival, head_at(1, 1), (const char *[]){"sandbox/a"}, 1, 1);
    assert_int_equal(wait_for(fixture, write), SLU_VIEW_DOWN);
    assert_int_equal(wait_for(fixture, whole), SLU_VIEW_DOWN);
    subject_crash();
    subject_revive();
}

/* --- rewriting ------------------------------------------------------------------------------- */

static void
test_batches_during_a_rewrite_follow_on_it(void **state)
{
    struct fixture *fixture = *state;
    const char *const keys[] = {"sandbox/a", "sandbox/b"};
    struct answer *whole = ask_rewrite(fixture, fixture->store, head_at(1, 10), keys, 2, 10);
    struct answer *next = ask_put(fixture, fixture->store, head_at(1, 11), "sandbox/b", 11);
    struct answer *last = ask_put(fixture, fixture->store, head_at(1, 12), "sandbox/c", 12);
    assert_int_equal(wait_for(fixture, whole), SLU_VIEW_APPLIED);
    assert_int_equal(wait_for(fixture, next), SLU_VIEW_APPLIED);
    assert_int_equal(wait_for(fixture, last), SLU_VIEW_APPLIED);
    expect_status("sandbox/a", 10);
    expect_status("sandbox/b", 11);
    expect_status("sandbox/c", 12);
}

static void
test_a_later_begin_abandons_the_earlier(void **state)
{
    struct fixture *fixture = *state;
    const struct slu_view_head first = head_at(1, 10);
    slu_store_rewrite_begin(fixture->store, &first);
    slu_store_rewrite_put(fixture->store, SHARD, "sandbox/never", "{}", 2);
    const char *const keys[] = {"sandbox/a"};
    assert_int_equal(rewrite(fixture, 1, 10, keys, 1), SLU_VIEW_APPLIED);
    assert_int_equal(subject_count(SHARD), 1);
    expect_status("sandbox/never", 0);
    assert_int_equal(put(fixture, 1, 11, "sandbox/a", 11), SLU_VIEW_APPLIED);
}

static void
test_a_view_can_be_written_anew_at_the_same_place(void **state)
{
    struct fixture *fixture = *state;
    begin_view(fixture, 1, 10);
    const char *const keys[] = {"sandbox/a", "sandbox/b"};
    assert_int_equal(rewrite(fixture, 1, 10, keys, 2), SLU_VIEW_APPLIED);
    assert_int_equal(subject_count(SHARD), 2);
    expect_status("sandbox/first", 0);
}

static void
test_twenty_thousand_statuses_are_one_rewrite(void **state)
{
    struct fixture *fixture = *state;

    enum {
        COUNT = 20000
    };
    const struct slu_view_head head = head_at(1, 10);
    struct slu_buffer text = {0};
    slu_store_rewrite_begin(fixture->store, &head);
    /* The fake looks rows up one by one: fewer will do for it. */
    const int count =
        subject_leftovers(SHARD) == 0 && strncmp(subject_url(), "fake", 4) == 0 ? 500 : COUNT;
    for (int i = 0; i < count; i++) {
        char key[64];
        snprintf(key, sizeof(key), "sandbox/s-%d", i);
        slu_buffer_reset(&text);
        write_status(&text, "acme", key, 10, 400);
        slu_store_rewrite_put(fixture->store, SHARD, key, text.data, text.size);
    }
    slu_buffer_done(&text);
    struct answer *answer = next_answer(fixture);
    slu_store_rewrite_finish(fixture->store, SHARD, note_result, answer);
    assert_int_equal(wait_for(fixture, answer), SLU_VIEW_APPLIED);
    assert_int_equal(subject_count(SHARD), count);
    assert_int_equal(put(fixture, 1, 11, "sandbox/s-7", 11), SLU_VIEW_APPLIED);
    expect_status("sandbox/s-7", 11);
}

/* --- observations ---------------------------------------------------------------------------- */

struct observed {
    int count;
    bool done, complete;
    char key[64], external_id[64], life[32];
    int64_t seen_at_ms;
};

static void
note_observation(
    void *context, const char *key, const char *external_id, const char *life, int64_t seen_at_ms)
{
    struct observed *observed = context;
    observed->count++;
    snprintf(observed->key, sizeof(observed->key), "%s", key);
    snprintf(observed->external_id, sizeof(observed->external_id), "%s", external_id);
    snprintf(observed->life, sizeof(observed->life), "%s", life);
    observed->seen_at_ms = seen_at_ms;
}

static void
note_observations(void *context, bool complete)
{
    struct observed *observed = context;
    observed->done = true;
    observed->complete = complete;
}

static struct observed
read_observations(struct fixture *fixture, struct slu_store *store)
{
    struct observed observed = {0};
    slu_store_observations(store, SHARD, note_observation, note_observations, &observed);
    assert_false(observed.done);
    run_until(fixture, &observed.done);
    return observed;
}

static void
test_views_of_dead_leaders_are_cleaned_up(void **state)
{
    struct fixture *fixture = *state;
    fixture->rival = open_store(fixture, subject_url());
    run_until_up(fixture, fixture->rival, true);
    const struct slu_view_head dead = head_at(3, 40);
    slu_store_rewrite_begin(fixture->rival, &dead);
    for (int i = 0; i < 400; i++) {
        char key[64];
        snprintf(key, sizeof(key), "sandbox/half-%d", i);
        char *status = status_text("acme", key, 1);
        slu_store_rewrite_put(fixture->rival, SHARD, key, status, strlen(status));
        free(status);
    }
    /* An answer on its connection: what was sent before has arrived. */
    (void) read_observations(fixture, fixture->rival);
    begin_view(fixture, 4, 50);
    close_store(fixture, &fixture->rival);

    begin_view(fixture, 4, 51);
    assert_int_equal(put(fixture, 4, 52, "sandbox/first", 52), SLU_VIEW_APPLIED);
    assert_int_equal(put(fixture, 4, 53, "sandbox/first", 53), SLU_VIEW_APPLIED);
    assert_int_equal(subject_leftovers(SHARD), 0);
    expect_status("sandbox/first", 53);
}

static void
test_observations_come_back_as_they_were_told(void **state)
{
    struct fixture *fixture = *state;
    slu_store_observe(fixture->store, SHARD, "sandbox/a", "ext 1", "running", 1700000000123);
    slu_store_observe(fixture->store, SHARD, "sandbox/b", "", "gone", 5);
    slu_store_observe(fixture->store, SHARD, "sandbox/a", "ext 2", "paused", 1700000000456);
    slu_store_observe(fixture->store, SHARD + 1, "sandbox/z", "ext z", "paused", 1);
    slu_store_forget(fixture->store, SHARD, "sandbox/b");
    const struct observed observed = read_observations(fixture, fixture->store);
    assert_true(observed.complete);
    assert_int_equal(observed.count, 1);
    assert_string_equal(observed.key, "sandbox/a");
    assert_string_equal(observed.external_id, "ext 2");
    assert_string_equal(observed.life, "paused");
    assert_int_equal(observed.seen_at_ms, 1700000000456);
}

static void
test_all_of_many_observations_come_back(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 3000; i++) {
        char key[64];
        snprintf(key, sizeof(key), "sandbox/s-%d", i);
        slu_store_observe(fixture->store, SHARD, key, "ext", "running", i);
    }
    const struct observed observed = read_observations(fixture, fixture->store);
    assert_true(observed.complete);
    assert_true(observed.count >= 3000);
}

static void
test_observations_of_a_store_that_is_away_are_incomplete(void **state)
{
    struct fixture *fixture = *state;
    subject_crash();
    assert_int_equal(put(fixture, 1, 1, "sandbox/a", 1), SLU_VIEW_DOWN);
    slu_store_observe(fixture->store, SHARD, "sandbox/a", "ext", "running", 1);
    const struct observed observed = read_observations(fixture, fixture->store);
    assert_false(observed.complete);
    subject_revive();
}

/* --- the end --------------------------------------------------------------------------------- */

static void
test_closing_answers_what_is_still_open(void **state)
{
    struct fixture *fixture = *state;
    begin_view(fixture, 1, 1);
    const char *const keys[] = {"sandbox/a"};
    struct answer *write = ask_put(fixture, fixture->store, head_at(1, 2), "sandbox/a", 2);
    struct answer *whole = ask_rewrite(fixture, fixture->store, head_at(1, 2), keys, 1, 2);
    struct answer *behind = ask_put(fixture, fixture->store, head_at(1, 3), "sandbox/a", 3);
    struct observed observed = {0};
    slu_store_observations(fixture->store, SHARD, note_observation, note_observations, &observed);
    close_store(fixture, &fixture->store);
    assert_true(write->given && whole->given && behind->given && observed.done);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, start_test, end_test)
        TEST(test_the_first_write_into_an_empty_store_is_a_gap),
        TEST(test_a_whole_view_and_the_batches_after_it_are_what_was_put),
        TEST(test_an_empty_view_is_a_view),
        TEST(test_a_tombstone_removes_the_key_from_status_ids_and_indexes),
        TEST(test_ids_lead_to_keys_also_where_a_childs_id_is_not_unique),
        TEST(test_a_new_life_in_another_tenant_leaves_the_old_index),
        TEST(test_an_idle_batch_moves_the_sequence_too),
        TEST(test_only_the_exact_successor_is_applied),
        TEST(test_another_cluster_stores_nothing),
        TEST(test_a_thousand_records_of_2_kb_are_one_batch),
        TEST(test_a_wipe_between_two_writes_is_a_gap_and_heals),
        TEST(test_a_status_lost_from_the_view_is_a_gap),
        TEST(test_a_store_rolled_back_is_a_gap_and_heals),
        TEST(test_a_zombie_never_wins_over_a_newer_epoch_in_a_wiped_store),
        TEST(test_a_zombie_that_finishes_its_view_after_the_leader_is_stale),
        TEST(test_a_crash_is_down_and_an_empty_restart_heals_by_itself),
        TEST(test_silence_is_down_too),
        TEST(test_a_store_that_is_away_opens_and_answers_down),
        TEST(test_batches_during_a_rewrite_follow_on_it),
        TEST(test_a_later_begin_abandons_the_earlier),
        TEST(test_a_view_can_be_written_anew_at_the_same_place),
        TEST(test_twenty_thousand_statuses_are_one_rewrite),
        TEST(test_views_of_dead_leaders_are_cleaned_up),
        TEST(test_observations_come_back_as_they_were_told),
        TEST(test_all_of_many_observations_come_back),
        TEST(test_observations_of_a_store_that_is_away_are_incomplete),
        TEST(test_closing_answers_what_is_still_open),
#undef TEST
    };
    subject_start();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    subject_stop();
    return failed;
}
