/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes against published values: partitions must be those of every other Kafka client. */
#include "slu/base/hash.h"
#include "slu/base/macros.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The vectors of Kafka's own test of its partitioner, made positive as the partitioner does. */
static void
test_murmur2_agrees_with_kafka(void **state)
{
    (void) state;

    static const struct {
        const char *text;
        int32_t hash;
    } cases[] = {
        {"21", -973932308},
        {"foobar", -790332482},
        {"a-little-bit-long-string", -985981536},
        {"a-little-bit-longer-string", -1486304829},
        {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
        {"abc", 479470107},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        const uint32_t positive = (uint32_t) cases[i].hash & 0x7fffffff;
        assert_int_equal(slu_murmur2(cases[i].text, strlen(cases[i].text)), positive);
    }
}

static void
test_sha256_is_written_in_lower_case_hex(void **state)
{
    (void) state;
    char hex[SLU_SHA256_HEX_SIZE];
    slu_sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    slu_sha256_hex("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void
test_xxh3_has_its_published_values(void **state)
{
    (void) state;
    const struct slu_hash128 empty = slu_hash128("", 0);
    assert_true(empty.low == 0x6001c324468d497fU);
    assert_true(empty.high == 0x99aa06d3014798d8U);
    assert_true(slu_hash64("", 0) == 0x2d06800538d394c2U);
}

static void
test_hash128_tells_bytes_apart(void **state)
{
    (void) state;
    const struct slu_hash128 a = slu_hash128("{\"a\":1}", 7);
    assert_true(slu_hash128_equal(a, slu_hash128("{\"a\":1}", 7)));
    assert_false(slu_hash128_equal(a, slu_hash128("{\"a\":2}", 7)));
    assert_false(slu_hash128_equal((struct slu_hash128){1, 2}, (struct slu_hash128){1, 3}));
    assert_false(slu_hash128_equal((struct slu_hash128){1, 2}, (struct slu_hash128){3, 2}));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_murmur2_agrees_with_kafka),
        cmocka_unit_test(test_sha256_is_written_in_lower_case_hex),
        cmocka_unit_test(test_xxh3_has_its_published_values),
        cmocka_unit_test(test_hash128_tells_bytes_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
