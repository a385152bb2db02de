/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of the shards port, run on the fake and on a real broker. A replica is one opened
 * port; all of them are ticked while a test waits, as their loops would. */
#include "replica.h"
#include "slu/base/memory.h"
#include "slu/base/random.h"
#include "slu/port/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- claim ----------------------------------------------------------------------------------- */

static void
test_a_lone_replica_becomes_candidate_for_every_shard(void **state)
{
    struct subject *log = *state = subject_new(3, 3);
    struct replica *one = replica_open(log, "one");
    assert_int_equal(slu_shards_count(one->shards), 3);
    assert_int_equal(slu_shards_inputs(one->shards), 3);
    for (int i = 0; i < 3; i++)
        replica_await(one, SLU_SHARD_CANDIDATE, i);
}

static void
test_a_claim_on_empty_topics_reads_the_first_record(void **state)
{
    struct subject *log = *state = subject_new(2, 2);
    struct replica *one = replica_open(log, "one");
    replica_await(one, SLU_SHARD_CANDIDATE, 1);
    replica_claim(one, 1);
    const struct lead *lead = &one->leads[1];
    assert_int_equal(lead->newest.epoch, 0);
    assert_int_equal(lead->newest.seq, 0);
    assert_int_equal(lead->newest.shard_count, 2);
    assert_int_equal(lead->newest.admitted_count, 0);
    assert_true(strlen(lead->newest.cluster) >= 16);
    assert_int_equal(lead->restored_count, 0);
}

static void
test_a_commit_without_a_claim_is_lost(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    struct replica *one = replica_open(log, "one");
    replica_await(one, SLU_SHARD_CANDIDATE, 0);
    slu_shards_commit(one->shards, 0, replica_batch(one, 0));
    replica_await(one, SLU_SHARD_LOST, 0);
}

static void
test_a_claim_restores_status_in_order_with_tombstones(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    struct replica *one = replica_open(log, "one");
    replica_lead(one, 0);
    struct slu_batch *batch = replica_batch(one, 0);
    batch_status(batch, 0, "sandbox/a", "{\"a\":1}");
    batch_status(batch, 0, "sandbox/b", "{\"b\":1}");
    replica_commit(one, 0, batch);
    batch = replica_batch(one, 0);
    batch_status(batch, 0, "sandbox/a", NULL);
    batch_status(batch, 0, "sandbox/c", "{\"c\":1}");
    replica_commit(one, 0, batch);
    replica_close(one);

    struct replica *two = replica_open(log, "two");
    replica_await(two, SLU_SHARD_CANDIDATE, 0);
    replica_claim(two, 0);
    const char *expected[][2] = {{"sandbox/a", "{\"a\":1}"},
                                 {"sandbox/b", "{\"b\":1}"},
                                 {"sandbox/a", NULL},
                                 {"sandbox/c", "{\"c\":1}"}};
    assert_int_equal(two->leads[0].restored_count, SLU_COUNT(expected));
    for (size_t i = 0; i < SLU_COUNT(expected); i++) {
        assert_string_equal(two->leads[0].restored[i].key, expected[i][0]);
        if (expected[i][1])
            assert_string_equal(two->leads[0].restored[i].value, expected[i][1]);
        else
            assert_null(two->leads[0].restored[i].value);
    }
    assert_int_equal(two->leads[0].newest.epoch, 1);
    assert_int_equal(two->leads[0].newest.seq, 3);
}

static void
test_a_sink_that_refuses_fails_the_claim(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    struct replica *one = replica_open(log, "one");
    subject_put(log, SLU_TOPIC_STATUS, 0, "k", "v", 1);
    replica_await(one, SLU_SHARD_CANDIDATE, 0);
    one->refuse_status = true;
    replica_ask_claim(one, 0);
    const struct slu_shard_event failed = replica_await(one, SLU_SHARD_CLAIM_FAILED, 0);
    assert_non_null(strstr(failed.error.message, "refused by the test"));
    one->refuse_status = false;
    replica_claim(one, 0); /* Still candidate: asked again, it works. */
    replica_commit_claim(one, 0);
}

/* --- commit ---------------------------------------------------------------------------------- */

static void
test_a_commit_writes_all_outputs_with_headers(void **state)
{
    struct subject *log = *state = subject_new(2, 2);
    struct replica *one = replica_open(log, "one");
    replica_lead(one, 1);
    struct slu_batch *batch = replica_batch(one, 1);
    struct slu_output *output = batch_status(batch, 1, "sandbox/a", "{}");
    slu_output_header(output, "slu-generation", "%d", 4);
    slu_output_header(output, "slu-phase", "%s", "running");
    batch_output(batch, SLU_TOPIC_EVENTS, 1, "sandbox/a", "created");
    batch_output(batch, SLU_TOPIC_DESIRED, 0, "sandbox/z", "forwarded");
    batch_output(batch, SLU_TOPIC_SECRETS, 1, "sandbox/a:t", "sealed");
    batch_output(batch, SLU_TOPIC_DEADLETTER, 1, "k", "no document");
    const int64_t before_ms = slu_clock_boottime_ms();
    const struct slu_shard_event done = replica_commit(one, 1, batch);

    assert_int_equal(done.seq, one->leads[1].seq);
    assert_in_range(done.append_ms, slu_clock_wall_ms() - 60000, slu_clock_wall_ms() + 60000);
    assert_in_range(done.began_boottime_ms, before_ms, done.done_boottime_ms);
    assert_in_range(done.done_boottime_ms, before_ms, slu_clock_boottime_ms());

    struct seen seen;
    see(log, SLU_TOPIC_STATUS, 1, &seen);
    assert_string_equal(seen.last.value, "{}");
    assert_string_equal(seen.last.headers, "slu-generation=4;slu-phase=running;");
    see(log, SLU_TOPIC_EVENTS, 1, &seen);
    assert_string_equal(seen.last.value, "created");
    see(log, SLU_TOPIC_DESIRED, 0, &seen);
    assert_string_equal(seen.last.value, "forwarded");
    see(log, SLU_TOPIC_SECRETS, 1, &seen);
    assert_string_equal(seen.last.value, "sealed");
    see(log, SLU_TOPIC_DEADLETTER, 0, &seen); /* One partition for all shards. */
    assert_string_equal(seen.last.value, "no document");
    see(log, SLU_TOPIC_SHARDS, 1, &seen);
    assert_string_equal(seen.last.key, "1");
}

static void
test_commits_one_after_the_other_keep_their_order(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    struct replica *one = replica_open(log, "one");
    replica_lead(one, 0);
    int64_t append_ms = 0;
    for (int i = 0; i < 20; i++) {
        struct slu_batch *batch = replica_batch(one, 0);
        batch_status(batch, 0, "sandbox/a", "{}");
        const struct slu_shard_event done = replica_commit(one, 0, batch);
        assert_int_equal(done.seq, i + 2);
        assert_true(done.append_ms >= append_ms);
        append_ms = done.append_ms;
    }
    struct seen seen;
    see(log, SLU_TOPIC_STATUS, 0, &seen);
    assert_int_equal(seen.count, 20);
}

static void
test_a_value_of_one_mebibyte_and_the_largest_output_commit(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    struct replica *one = replica_open(log, "one");
    replica_lead(one, 0);
    const size_t sizes[] = {1048576, SLU_OUTPUT_SIZE_MAX - 512};
    for (size_t i = 0; i < SLU_COUNT(sizes); i++) {
        struct slu_batch *batch = replica_batch(one, 0);
        struct slu_output *output = batch_status(batch, 0, "sandbox/large", "");
        free(output->value);
        output->value = slu_alloc(sizes[i]);
        memset(output->value, 'x', sizes[i]);
        output->value_size = sizes[i];
        replica_commit(one, 0, batch);
        struct seen seen;
        see(log, SLU_TOPIC_STATUS, 0, &seen);
        assert_int_equal(seen.last.value_size, sizes[i]);
    }
}

static void
test_forwarded_documents_that_fit_alone_fit_together(void **state)
{
    struct subject *log = *state = subject_new(2, 2);
    struct replica *one = replica_open(log, "one");
    replica_lead(one, 0);
    struct slu_batch *batch = replica_batch(one, 0);
    const size_t size = 524288;
    struct slu_random random = {0};
    for (int i = 0; i < 4; i++) { /* Together twice what the topic takes in one piece. */
        struct slu_output *output = batch_output(batch, SLU_TOPIC_DESIRED, 1, "sandbox/f", "");
        free(output->value);
        output->value = slu_alloc(size);
        for (size_t j = 0; j < size; j++) /* Does not compress to nothing. */
            output->value[j] = (char) (' ' + slu_random_below(&random, 90));
        output->value_size = size;
    }
    replica_commit(one, 0, batch);
    struct seen seen;
    see(log, SLU_TOPIC_DESIRED, 1, &seen);
    assert_int_equal(seen.count, 4);
}

static void
test_a_batch_that_can_never_be_written_is_lost(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    struct replica *one = replica_open(log, "one");
    replica_lead(one, 0);
    struct slu_batch *batch = replica_batch(one, 0);
    batch_output(batch, SLU_TOPIC_EVENTS, 7, "k", "no such partition");
    replica_seal(one, 0, batch);
    slu_shards_commit(one->shards, 0, batch);
    const struct slu_shard_event lost = replica_await(one, SLU_SHARD_LOST, 0);
    assert_non_null(strstr(lost.error.message, "events"));
    replica_claim(one, 0);
    replica_commit_claim(one, 0);
}

/* --- roll forward ---------------------------------------------------------------------------- */

/* One more commit after the fault; then the log must hold everything once, in order. */
static void
check_rolled_forward(struct subject *log, enum subject_fault fault, bool claim)
{
    struct replica *one = replica_open(log, "one");
    replica_await(one, SLU_SHARD_CANDIDATE, 0);
    replica_claim(one, 0);
    if (!claim)
        replica_commit_claim(one, 0);
    subject_fault(log, 0, fault);
    if (claim)
        replica_commit_claim(one, 0);
    struct slu_batch *batch = replica_batch(one, 0);
    batch_status(batch, 0, "sandbox/a", "first");
    const struct slu_shard_event done = replica_commit(one, 0, batch);
    assert_in_range(done.append_ms, slu_clock_wall_ms() - 60000, slu_clock_wall_ms() + 60000);
    assert_true(done.began_boottime_ms <= done.done_boottime_ms);
    batch = replica_batch(one, 0);
    batch_status(batch, 0, "sandbox/a", "second");
    replica_commit(one, 0, batch);

    struct seen seen;
    see(log, SLU_TOPIC_STATUS, 0, &seen);
    assert_int_equal(seen.count, 2);
    assert_string_equal(seen.last.value, "second");
    see(log, SLU_TOPIC_SHARDS, 0, &seen);
    assert_int_equal(seen.count, 1 + 1 + 2); /* First, claim, two commits: nothing twice. */
}

static void
test_an_aborted_commit_is_sent_again(void **state)
{
    check_rolled_forward(*state = subject_new(1, 1), SUBJECT_ABORTED, false);
}

static void
test_an_unclear_commit_that_committed_is_found(void **state)
{
    check_rolled_forward(*state = subject_new(1, 1), SUBJECT_UNCLEAR_COMMITTED, false);
}

static void
test_an_unclear_commit_that_was_lost_is_sent_again(void **state)
{
    check_rolled_forward(*state = subject_new(1, 1), SUBJECT_UNCLEAR_LOST, false);
}

static void
test_a_fenced_commit_goes_on_when_nobody_led(void **state)
{
    check_rolled_forward(*state = subject_new(1, 1), SUBJECT_FENCED_IDLE, false);
}

static void
test_a_claim_that_is_fenced_before_its_first_commit_goes_on(void **state)
{
    check_rolled_forward(*state = subject_new(1, 1), SUBJECT_FENCED_IDLE, true);
}

static void
test_a_claim_that_is_unclear_is_found(void **state)
{
    check_rolled_forward(*state = subject_new(1, 1), SUBJECT_UNCLEAR_COMMITTED, true);
}

static void
test_a_commit_after_somebody_led_is_lost(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    struct replica *one = replica_open(log, "one");
    replica_lead(one, 0);
    subject_fault(log, 0, SUBJECT_FENCED_LED);
    struct slu_batch *batch = replica_batch(one, 0);
    batch_status(batch, 0, "sandbox/a", "never");
    replica_seal(one, 0, batch);
    slu_shards_commit(one->shards, 0, batch);
    replica_await(one, SLU_SHARD_LOST, 0);

    struct seen seen;
    see(log, SLU_TOPIC_STATUS, 0, &seen);
    assert_int_equal(seen.count, 0);
    replica_claim(one, 0); /* Still candidate: it may lead again, after what the other wrote. */
    assert_int_equal(one->leads[0].newest.epoch, 2);
    replica_commit_claim(one, 0);
}

static void
test_a_claim_after_somebody_claimed_with_the_same_epoch_is_lost(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    struct replica *one = replica_open(log, "one");
    replica_await(one, SLU_SHARD_CANDIDATE, 0);
    replica_claim(one, 0);
    subject_fault(log, 0, SUBJECT_FENCED_LED); /* Epoch 1, seq 1, as ours would be. */
    slu_shards_commit(one->shards, 0, replica_claim_batch(one, 0));
    replica_await(one, SLU_SHARD_LOST, 0);
}

/* --- several replicas ------------------------------------------------------------------------ */

static void
test_a_second_claimer_fences_the_first(void **state)
{
    struct subject *log = *state = subject_new(2, 2);
    struct replica *one = replica_open(log, "one");
    replica_lead(one, 0);
    replica_lead(one, 1);
    struct replica *two = replica_open(log, "two");
    const int moved = replica_await(two, SLU_SHARD_CANDIDATE, -1).shard;
    replica_claim(two, moved);
    replica_commit_claim(two, moved);
    assert_int_equal(two->leads[moved].newest.epoch, 1);

    slu_shards_commit(one->shards, moved, replica_batch_sealed(one, moved));
    replica_await(one, SLU_SHARD_LOST, moved);
    replica_await(one, SLU_SHARD_NOT_CANDIDATE, moved);
    replica_commit(one, 1 - moved, replica_batch(one, 1 - moved)); /* The other one stays. */
}

static void
count_candidacies(struct replica *const *replicas, int count, int shard_count)
{
    for (int shard = 0; shard < shard_count; shard++) {
        int candidates = 0;
        for (int i = 0; i < count; i++)
            candidates += replicas[i]->candidate[shard];
        assert_int_equal(candidates, 1);
    }
}

static void
test_shards_spread_over_two_and_three_and_come_back(void **state)
{
    struct subject *log = *state = subject_new(6, 6);
    struct replica *replicas[3];
    replicas[0] = replica_open(log, "one");
    replica_await_candidacies(replicas, 1, (int[]){6});
    count_candidacies(replicas, 1, 6);
    replicas[1] = replica_open(log, "two");
    replica_await_candidacies(replicas, 2, (int[]){3, 3});
    count_candidacies(replicas, 2, 6);
    replicas[2] = replica_open(log, "three");
    replica_await_candidacies(replicas, 3, (int[]){2, 2, 2});
    count_candidacies(replicas, 3, 6);
    replica_close(replicas[0]);
    replica_await_candidacies(replicas + 1, 2, (int[]){3, 3});
    count_candidacies(replicas + 1, 2, 6);
    replica_close(replicas[1]);
    replica_await_candidacies(replicas + 2, 1, (int[]){6});
}

static void
test_a_rebalance_leaves_the_input_of_shards_that_stay_alone(void **state)
{
    struct subject *log = *state = subject_new(2, 2);
    struct replica *one = replica_open(log, "one");
    replica_lead(one, 0);
    replica_lead(one, 1);
    for (int shard = 0; shard < 2; shard++)
        slu_shards_read(one->shards, shard, shard, 0);
    for (int i = 0; i < 50; i++)
        subject_put(log, SLU_TOPIC_DESIRED, i % 2, "sandbox/a", "{}", 2);
    struct replica *two = replica_open(log, "two");
    const int moved = replica_await(two, SLU_SHARD_CANDIDATE, -1).shard;
    replica_await(one, SLU_SHARD_NOT_CANDIDATE, moved);
    slu_shards_release(one->shards, moved);
    for (int i = 0; i < 50; i++)
        subject_put(log, SLU_TOPIC_DESIRED, i % 2, "sandbox/b", "{}", 2);
    replica_read_through(one, 1 - moved);
    assert_int_equal(one->leads[1 - moved].input_count, 50);
    assert_true(one->leads[1 - moved].input_in_order); /* Neither holes nor repeats. */
    const size_t before = one->leads[moved].input_count;
    replica_commit(one, 1 - moved, replica_batch(one, 1 - moved));
    assert_int_equal(one->leads[moved].input_count, before);
}

static void
test_a_loop_that_does_not_tick_loses_its_candidacy(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    struct replica *one = replica_open(log, "one");
    replica_lead(one, 0);
    replica_hang(one, true);
    struct replica *two = replica_open(log, "two");
    replica_await(two, SLU_SHARD_CANDIDATE, 0);
    replica_claim(two, 0);
    replica_commit_claim(two, 0);
    replica_hang(one, false);
    slu_shards_commit(one->shards, 0, replica_batch_sealed(one, 0));
    replica_await(one, SLU_SHARD_LOST, 0);
}

/* --- input ----------------------------------------------------------------------------------- */

static void
test_input_starts_at_the_offset_and_ends_with_a_tombstone(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    int64_t from = 0;
    for (int i = 0; i < 10; i++) {
        char value[16];
        const int size = snprintf(value, sizeof(value), "{\"n\":%d}", i);
        const int64_t offset =
            subject_put(log, SLU_TOPIC_DESIRED, 0, "sandbox/a", value, (size_t) size);
        from = i == 4 ? offset : from;
    }
    subject_put(log, SLU_TOPIC_DESIRED, 0, "sandbox/gone", NULL, 0);
    struct replica *one = replica_open(log, "one");
    replica_lead(one, 0);
    slu_shards_read(one->shards, 0, 0, from);
    replica_read_through(one, 0);
    const struct lead *lead = &one->leads[0];
    assert_int_equal(lead->input_count, 7);
    assert_int_equal(lead->first_offset, from);
    assert_string_equal(lead->first_value, "{\"n\":4}");
    assert_string_equal(lead->last_key, "sandbox/gone");
    assert_true(lead->last_is_tombstone);
    assert_in_range(lead->last_timestamp_ms, slu_clock_wall_ms() - 60000,
                    slu_clock_wall_ms() + 60000);
}

static void
test_input_sees_no_aborted_records_and_passes_control_records(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    subject_put(log, SLU_TOPIC_DESIRED, 0, "sandbox/a", "1", 1);
    subject_put_aborted(log, SLU_TOPIC_DESIRED, 0);
    subject_put_committed(log, SLU_TOPIC_DESIRED, 0, "sandbox/a", "2");
    subject_put_aborted(log, SLU_TOPIC_DESIRED, 0);
    struct replica *one = replica_open(log, "one");
    replica_lead(one, 0);
    slu_shards_read(one->shards, 0, 0, 0);
    replica_read_through(one, 0); /* The end lies behind control records. */
    assert_int_equal(one->leads[0].input_count, 2);
    subject_put_aborted(log, SLU_TOPIC_DESIRED,
                        0); /* At the end already: it moves, nothing comes. */
    replica_read_through(one, 0);
    assert_int_equal(one->leads[0].input_count, 2);
}

static void
test_ask_end_answers_after_everything_before_it(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    struct replica *one = replica_open(log, "one");
    replica_lead(one, 0);
    slu_shards_read(one->shards, 0, 0, 0);
    replica_read_through(one, 0);
    for (int round = 1; round <= 20; round++) {
        for (int i = 0; i < 5; i++)
            subject_put(log, SLU_TOPIC_DESIRED, 0, "sandbox/a", "{}", 2);
        replica_read_through(one, 0);
        assert_int_equal(one->leads[0].input_count, round * 5);
    }
}

static void
test_ask_end_of_a_shard_that_reads_nothing_is_answered(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    struct replica *one = replica_open(log, "one");
    replica_read_through(one, 0);
    assert_int_equal(one->leads[0].input_count, 0);
}

static void
test_a_position_outside_the_log_is_told(void **state)
{
    struct subject *log = *state = subject_new(2, 2);
    for (int i = 0; i < 10; i++)
        subject_put(log, SLU_TOPIC_DESIRED, 0, "sandbox/a", "{}", 2);
    subject_delete_before(log, 0, 6);
    struct replica *one = replica_open(log, "one");
    slu_shards_read(one->shards, 0, 0, 3);
    struct slu_shard_event told = replica_await(one, SLU_SHARD_OUT_OF_RANGE, 0);
    assert_non_null(strstr(told.error.message, "3"));
    assert_non_null(strstr(told.error.message, "sluice shards reset 0"));
    slu_shards_read(one->shards, 1, 1, 1000); /* Behind the end. */
    told = replica_await(one, SLU_SHARD_OUT_OF_RANGE, 1);
    assert_non_null(strstr(told.error.message, "1000"));
    slu_shards_read(one->shards, 0, 0, 6); /* Set right, it goes on. */
    replica_read_through(one, 0);
    assert_int_equal(one->leads[0].input_count, 4);
}

static void
test_partitions_beyond_the_shards_are_read_beside(void **state)
{
    struct subject *log = *state = subject_new(2, 5);
    struct replica *one = replica_open(log, "one");
    assert_int_equal(slu_shards_count(one->shards), 2);
    assert_int_equal(slu_shards_inputs(one->shards), 5);
    for (int partition = 0; partition < 5; partition += 2) {
        subject_put(log, SLU_TOPIC_DESIRED, partition, "sandbox/a", "{}", 2);
        slu_shards_read(one->shards, 0, partition, 0);
    }
    replica_read_through(one, 0);
    assert_int_equal(one->leads[0].input_count, 3);
    subject_put(log, SLU_TOPIC_DESIRED, 4, "sandbox/b", "{}", 2);
    replica_read_through(one, 0);
    assert_int_equal(one->leads[0].input_count, 4);
}

static void
test_a_read_anew_drops_what_the_earlier_one_had_queued(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    for (int i = 0; i < 100; i++)
        subject_put(log, SLU_TOPIC_DESIRED, 0, "sandbox/a", "{}", 2);
    struct replica *one = replica_open(log, "one");
    slu_shards_read(one->shards, 0, 0, 0);
    replica_let_events_queue(one);
    slu_shards_read(one->shards, 0, 0, 90);
    replica_read_through(one, 0);
    assert_int_equal(one->leads[0].first_offset, 90);
    assert_int_equal(one->leads[0].input_count, 10);

    slu_shards_read(one->shards, 0, 0, 50);
    replica_let_events_queue(one);
    slu_shards_release(one->shards, 0);
    replica_read_through(one, 0);
    assert_int_equal(one->leads[0].input_count, 10);
}

static void
test_a_question_outlives_a_read_anew(void **state)
{
    struct subject *log = *state = subject_new(1, 1);
    for (int i = 0; i < 10; i++)
        subject_put(log, SLU_TOPIC_DESIRED, 0, "sandbox/a", "{}", 2);
    struct replica *one = replica_open(log, "one");
    slu_shards_read(one->shards, 0, 0, 5);
    slu_shards_ask_end(one->shards, 0, 77);
    replica_let_events_queue(one);
    slu_shards_read(one->shards, 0, 0, 0);
    const struct slu_shard_event through = replica_await(one, SLU_SHARD_READ_THROUGH, 0);
    assert_int_equal(through.token, 77);
    assert_int_equal(one->leads[0].input_count, 10);
}

static void
test_a_paused_shard_is_silent_and_others_are_not(void **state)
{
    struct subject *log = *state = subject_new(2, 2);
    struct replica *one = replica_open(log, "one");
    slu_shards_pause(one->shards, 0, true);
    for (int shard = 0; shard < 2; shard++)
        slu_shards_read(one->shards, shard, shard, 0);
    for (int i = 0; i < 10; i++)
        subject_put(log, SLU_TOPIC_DESIRED, i % 2, "sandbox/a", "{}", 2);
    replica_read_through(one, 1);
    assert_int_equal(one->leads[1].input_count, 5);
    assert_int_equal(one->leads[0].input_count, 0);
    slu_shards_pause(one->shards, 0, false);
    replica_read_through(one, 0);
    assert_int_equal(one->leads[0].input_count, 5);
}

static void
test_what_nobody_takes_is_bounded_and_then_all_comes(void **state)
{
    struct subject *log = *state = subject_new(1, 1);

    enum {
        RECORDS = 40,
        SIZE = 512 * 1024
    };

    char *value = slu_alloc(SIZE);
    memset(value, 'v', SIZE);
    for (int i = 0; i < RECORDS; i++)
        subject_put(log, SLU_TOPIC_DESIRED, 0, "sandbox/a", value, SIZE);
    free(value);
    struct replica *one = replica_open(log, "one");
    slu_shards_read(one->shards, 0, 0, 0);
    replica_let_events_queue(one);
    const size_t held = replica_hold_queued(one); /* Taken, not ended. */
    assert_in_range(held, 1, 12L * 1024 * 1024);
    replica_end_held(one);
    replica_read_through(one, 0);
    assert_int_equal(one->leads[0].input_count, RECORDS);
    assert_true(one->leads[0].input_in_order);
}

static void
test_wake_comes_only_when_the_queue_was_empty(void **state)
{
    struct subject *log = *state = subject_new(4, 4);
    struct replica *one = replica_open_idle(log, "one");
    assert_int_equal(replica_wakes(one), 0);
    slu_shards_elect(one->shards);
    replica_let_events_queue(one); /* Four candidacies, nobody takes them. */
    assert_int_equal(replica_wakes(one), 1);
    for (int i = 0; i < 4; i++)
        replica_await(one, SLU_SHARD_CANDIDATE, i);
}

static int
free_log(void **state)
{
    replica_close_all();
    subject_free(*state);
    *state = NULL;
    return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, free_log)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_a_lone_replica_becomes_candidate_for_every_shard),
        TEST(test_a_claim_on_empty_topics_reads_the_first_record),
        TEST(test_a_commit_without_a_claim_is_lost),
        TEST(test_a_claim_restores_status_in_order_with_tombstones),
        TEST(test_a_sink_that_refuses_fails_the_claim),
        TEST(test_a_commit_writes_all_outputs_with_headers),
        TEST(test_commits_one_after_the_other_keep_their_order),
        TEST(test_a_value_of_one_mebibyte_and_the_largest_output_commit),
        TEST(test_forwarded_documents_that_fit_alone_fit_together),
        TEST(test_a_batch_that_can_never_be_written_is_lost),
        TEST(test_an_aborted_commit_is_sent_again),
        TEST(test_an_unclear_commit_that_committed_is_found),
        TEST(test_an_unclear_commit_that_was_lost_is_sent_again),
        TEST(test_a_fenced_commit_goes_on_when_nobody_led),
        TEST(test_a_claim_that_is_fenced_before_its_first_commit_goes_on),
        TEST(test_a_claim_that_is_unclear_is_found),
        TEST(test_a_commit_after_somebody_led_is_lost),
        TEST(test_a_claim_after_somebody_claimed_with_the_same_epoch_is_lost),
        TEST(test_a_second_claimer_fences_the_first),
        TEST(test_shards_spread_over_two_and_three_and_come_back),
        TEST(test_a_rebalance_leaves_the_input_of_shards_that_stay_alone),
        TEST(test_a_loop_that_does_not_tick_loses_its_candidacy),
        TEST(test_input_starts_at_the_offset_and_ends_with_a_tombstone),
        TEST(test_input_sees_no_aborted_records_and_passes_control_records),
        TEST(test_ask_end_answers_after_everything_before_it),
        TEST(test_ask_end_of_a_shard_that_reads_nothing_is_answered),
        TEST(test_a_position_outside_the_log_is_told),
        TEST(test_partitions_beyond_the_shards_are_read_beside),
        TEST(test_a_read_anew_drops_what_the_earlier_one_had_queued),
        TEST(test_a_question_outlives_a_read_anew),
        TEST(test_a_paused_shard_is_silent_and_others_are_not),
        TEST(test_what_nobody_takes_is_bounded_and_then_all_comes),
        TEST(test_wake_comes_only_when_the_queue_was_empty),
    };
    cmocka_set_test_filter(getenv("SLUICE_TEST")); /* NOLINT(concurrency-mt-unsafe): alone. */
    subject_start();
    const int failed = cmocka_run_group_tests_name("shards", tests, NULL, NULL);
    subject_stop();
    return failed;
}
