/* SPDX-License-Identifier: Apache-2.0 */
/* Records: headers by exact name, batches that own what they hold. */
#include "slu/base/memory.h"
#include "slu/model/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
test_headers_are_found_by_their_exact_name(void **state)
{
    (void) state;
    const struct slu_record record = {
        .headers = {{"ce_id", "1", 1}, {"slu-origin", "0/1/2", 5}, {"ce_id", "2", 1}},
        .header_count = 3,
    };
    assert_ptr_equal(slu_record_header(&record, "ce_id"), &record.headers[0]);
    assert_ptr_equal(slu_record_header(&record, "slu-origin"), &record.headers[1]);
    assert_null(slu_record_header(&record, "CE_ID"));
    assert_null(slu_record_header(&record, "ce_i"));
}

static void
test_topics_have_their_words(void **state)
{
    (void) state;
    assert_string_equal(slu_topic_names[SLU_TOPIC_DESIRED], "desired");
    assert_string_equal(slu_topic_names[SLU_TOPIC_STATUS], "status");
    assert_string_equal(slu_topic_names[SLU_TOPIC_EVENTS], "events");
    assert_string_equal(slu_topic_names[SLU_TOPIC_SECRETS], "secrets");
    assert_string_equal(slu_topic_names[SLU_TOPIC_SHARDS], "shards");
    assert_string_equal(slu_topic_names[SLU_TOPIC_DEADLETTER], "deadletter");
}

static void
test_a_batch_keeps_its_outputs_in_order(void **state)
{
    (void) state;
    struct slu_batch *batch = slu_batch_new(3);
    for (int i = 0; i < 100; i++) {
        struct slu_output *output = slu_batch_add(batch, SLU_TOPIC_STATUS, i);
        output->key = slu_strdup("sandbox/a");
        output->key_size = 9;
        slu_output_header(output, "slu-epoch", "%d", i);
    }
    assert_int_equal(batch->shard, 3);
    assert_int_equal(batch->count, 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(batch->outputs[i].partition, i);
        assert_null(batch->outputs[i].value);
        assert_int_equal(batch->outputs[i].header_count, 1);
    }
    assert_string_equal(batch->outputs[42].headers[0].value, "42");
    slu_batch_free(batch);
    slu_batch_free(NULL);
}

static void
test_an_outputs_size_is_key_value_and_headers(void **state)
{
    (void) state;
    struct slu_batch *batch = slu_batch_new(0);
    struct slu_output *output = slu_batch_add(batch, SLU_TOPIC_EVENTS, 0);
    output->key = slu_strdup("abc");
    output->key_size = 3;
    output->value = slu_strdup("12345");
    output->value_size = 5;
    slu_output_header(output, "ce_id", "%s", "1/2");
    assert_int_equal(slu_output_size(output), 3 + 5 + 5 + 3);
    slu_batch_free(batch);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers_are_found_by_their_exact_name),
        cmocka_unit_test(test_topics_have_their_words),
        cmocka_unit_test(test_a_batch_keeps_its_outputs_in_order),
        cmocka_unit_test(test_an_outputs_size_is_key_value_and_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
