/* SPDX-License-Identifier: Apache-2.0 */
#include "../../../lib/adapter/store_redis_records.h"
#include "slu/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
expect_argument(const struct slu_redis_portion *portion, int index, const char *expected)
{
    const size_t start = index ? portion->ends[index - 1] : 0;
    const size_t size = portion->ends[index] - start;
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(portion->bytes.data + start, expected, size);
}

static void
add(struct slu_redis_records *records, const char *key, const char *status)
{
    slu_redis_records_add(records, key, strlen(key), status, status ? strlen(status) : 0);
}

static void
test_a_record_is_key_id_index_and_status(void **state)
{
    (void) state;
    static const char status[] = "{\"kind\":\"Checkpoint\",\"id\":\"cp-1\",\"scope\":{\"tenantId\":"
                                 "\"acme\",\"projectId\":\"p1\"},\"spec\":{\"scope\":{}}}";
    struct slu_redis_records records;
    slu_redis_records_init(&records);
    add(&records, "checkpoint/sbx-1/cp-1", status);
    add(&records, "sandbox/gone", NULL);
    struct slu_redis_portion *portion = slu_redis_records_take(&records);
    assert_int_equal(portion->count, 2);
    expect_argument(portion, 0, "checkpoint/sbx-1/cp-1");
    expect_argument(portion, 1, "checkpoint:cp-1");
    expect_argument(portion, 2, "acme/p1/checkpoint");
    expect_argument(portion, 3, status);
    expect_argument(portion, 4, "sandbox/gone");
    expect_argument(portion, 5, "sandbox:gone");
    expect_argument(portion, 6, "");
    expect_argument(portion, 7, "");
    slu_redis_portion_free(portion);
    assert_null(slu_redis_records_take(&records));
}

static void
test_a_scope_inside_other_members_is_not_taken_for_the_documents(void **state)
{
    (void) state;
    struct slu_redis_records records;
    slu_redis_records_init(&records);
    add(&records, "sandbox/a",
        "{\"spec\":{\"scope\":{\"tenantId\":\"evil\",\"projectId\":\"x\"}},"
        "\"note\":\"\\\"scope\\\":{\\\"tenantId\\\":\\\"evil\\\"}\","
        "\"scope\":{\"projectId\":\"p1\",\"tenantId\":\"acme\"}}");
    struct slu_redis_portion *portion = slu_redis_records_take(&records);
    expect_argument(portion, 2, "acme/p1/sandbox");
    slu_redis_portion_free(portion);
}

static void
test_a_document_without_scope_is_listed_where_no_scope_can_be(void **state)
{
    (void) state;
    static const char *const documents[] = {"{}", "[]", "not json", "{\"scope\":7}",
                                            "{\"scope\":{\"tenantId\":1}}"};
    for (size_t i = 0; i < SLU_COUNT(documents); i++) {
        struct slu_redis_records records;
        slu_redis_records_init(&records);
        add(&records, "sandbox/a", documents[i]);
        struct slu_redis_portion *portion = slu_redis_records_take(&records);
        expect_argument(portion, 2, "//sandbox");
        slu_redis_portion_free(portion);
    }
}

static void
test_portions_are_bounded_in_records_and_bytes(void **state)
{
    (void) state;
    struct slu_redis_records records;
    slu_redis_records_init(&records);
    for (int i = 0; i < SLU_REDIS_PORTION_RECORDS + 1; i++)
        add(&records, "sandbox/a", "{}");
    assert_int_equal(records.portion_count, 2);

    char *large = slu_alloc(SLU_REDIS_PORTION_BYTES + 1);
    memset(large, 'x', SLU_REDIS_PORTION_BYTES);
    add(&records, "sandbox/large", large); /* Alone, but taken. */
    add(&records, "sandbox/b", "{}");
    assert_int_equal(records.portion_count, 4);
    free(large);
    slu_redis_records_done(&records);
    assert_int_equal(records.portion_count, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_record_is_key_id_index_and_status),
        cmocka_unit_test(test_a_scope_inside_other_members_is_not_taken_for_the_documents),
        cmocka_unit_test(test_a_document_without_scope_is_listed_where_no_scope_can_be),
        cmocka_unit_test(test_portions_are_bounded_in_records_and_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
