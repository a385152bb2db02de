/* SPDX-License-Identifier: Apache-2.0 */
/* The shard record (design.md §3): read, kept whole, written back. */
#include "slu/model/shard_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char first[] = "{\"cluster\":\"c-1\",\"n\":4,\"epoch\":0,\"seq\":0,\"owner\":\"\","
                            "\"admitted\":{},\"claims\":0}";

static struct slu_shard_record
read_record(const char *text)
{
    struct slu_shard_record record;
    struct slu_error error;
    if (slu_shard_record_read(text, strlen(text), &record, &error))
        fail_msg("%s: %s", text, error.message);
    return record;
}

static void
expect_round_trip(const char *text)
{
    struct slu_shard_record record = read_record(text);
    SLU_AUTO_BUFFER struct slu_buffer out = {0};
    slu_shard_record_write(&record, &out);
    assert_string_equal(out.data, text);
    slu_shard_record_done(&record);
}

static void
test_the_first_record_is_read_and_written_back(void **state)
{
    (void) state;
    struct slu_shard_record record = read_record(first);
    assert_string_equal(record.cluster, "c-1");
    assert_int_equal(record.shard_count, 4);
    assert_int_equal(record.admitted_count, 0);
    assert_null(record.unknown);
    slu_shard_record_done(&record);
    expect_round_trip(first);
}

static void
test_every_member_survives(void **state)
{
    (void) state;
    expect_round_trip(
        "{\"cluster\":\"c-1\",\"n\":4,\"epoch\":12,\"seq\":345,\"owner\":\"http://10.0.0.1:8080\","
        "\"admitted\":{\"3\":8842,\"7\":0},\"claims\":3,\"trying\":\"3/8842\",\"tries\":2}");
}

static void
test_unknown_members_are_kept_and_written_back(void **state)
{
    (void) state;
    expect_round_trip("{\"cluster\":\"c-1\",\"n\":4,\"epoch\":0,\"seq\":0,\"owner\":\"\","
                      "\"admitted\":{},\"claims\":0,"
                      "\"later\":{\"a\":[1,null]},\"text\":\"é\"}");
}

static void
test_positions_advance_by_partition(void **state)
{
    (void) state;
    struct slu_shard_record record = read_record(first);
    assert_int_equal(slu_shard_record_admitted(&record, 3), 0);
    slu_shard_record_advance(&record, 3, 10);
    slu_shard_record_advance(&record, 7, 5);
    slu_shard_record_advance(&record, 3, 11);
    assert_int_equal(record.admitted_count, 2);
    assert_int_equal(slu_shard_record_admitted(&record, 3), 11);
    assert_int_equal(slu_shard_record_admitted(&record, 7), 5);
    assert_int_equal(slu_shard_record_admitted(&record, 1), 0);
    slu_shard_record_done(&record);
}

static void
test_what_is_no_shard_record_is_refused(void **state)
{
    (void) state;
    static const char *const cases[] = {
        "",
        "[]",
        "{}",
        "{\"cluster\":\"\",\"n\":4,\"epoch\":0,\"seq\":0,\"owner\":\"\",\"admitted\":{},\"claims\":"
        "0}",
        "{\"cluster\":\"c\",\"n\":0,\"epoch\":0,\"seq\":0,\"owner\":\"\",\"admitted\":{},"
        "\"claims\":0}",
        "{\"cluster\":\"c\",\"n\":4.0,\"epoch\":0,\"seq\":0,\"owner\":\"\",\"admitted\":{},"
        "\"claims\":0}",
        "{\"cluster\":\"c\",\"n\":4,\"epoch\":-1,\"seq\":0,\"owner\":\"\",\"admitted\":{},"
        "\"claims\":0}",
        "{\"cluster\":\"c\",\"n\":4,\"epoch\":0,\"owner\":\"\",\"admitted\":{},\"claims\":0}",
        "{\"cluster\":\"c\",\"n\":4,\"epoch\":0,\"seq\":0,\"owner\":1,\"admitted\":{},\"claims\":"
        "0}",
        "{\"cluster\":\"c\",\"n\":4,\"epoch\":0,\"seq\":0,\"owner\":\"\",\"admitted\":[],"
        "\"claims\":0}",
        "{\"cluster\":\"c\",\"n\":4,\"epoch\":0,\"seq\":0,\"owner\":\"\",\"admitted\":{\"x\":1},"
        "\"claims\":0}",
        "{\"cluster\":\"c\",\"n\":4,\"epoch\":0,\"seq\":0,\"owner\":\"\",\"admitted\":{\"01\":1},"
        "\"claims\":0}",
        "{\"cluster\":\"c\",\"n\":4,\"epoch\":0,\"seq\":0,\"owner\":\"\",\"admitted\":{\"-1\":1},"
        "\"claims\":0}",
        "{\"cluster\":\"c\",\"n\":4,\"epoch\":0,\"seq\":0,\"owner\":\"\",\"admitted\":{\"1\":-1},"
        "\"claims\":0}",
        "{\"cluster\":\"c\",\"n\":4,\"epoch\":0,\"seq\":0,\"owner\":\"\",\"admitted\":{\"1\":1,"
        "\"2\":1,\"3\":1,"
        "\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1},\"claims\":0}",
        "{\"cluster\":\"c\",\"n\":4,\"epoch\":0,\"seq\":0,\"owner\":\"\",\"admitted\":{},"
        "\"claims\":0,\"trying\":7}",
    };
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct slu_shard_record record;
        struct slu_error error = {0};
        if (slu_shard_record_read(cases[i], strlen(cases[i]), &record, &error) != SLU_INVALID)
            fail_msg("%s is read", cases[i]);
        assert_int_equal(strncmp(error.message, "shard record: ", 14), 0);
    }
    struct slu_shard_record record;
    assert_int_equal(slu_shard_record_read(NULL, 0, &record, NULL), SLU_INVALID);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_record_is_read_and_written_back),
        cmocka_unit_test(test_every_member_survives),
        cmocka_unit_test(test_unknown_members_are_kept_and_written_back),
        cmocka_unit_test(test_positions_advance_by_partition),
        cmocka_unit_test(test_what_is_no_shard_record_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
