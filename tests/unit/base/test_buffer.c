/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers grow, always end with a NUL, and write JSON text that any reader takes. */
#include "slu/base/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
test_a_buffer_grows_and_ends_with_a_nul(void **state)
{
    (void) state;
    SLU_AUTO_BUFFER struct slu_buffer buffer = {0};
    for (int i = 0; i < 10000; i++) {
        slu_buffer_putc(&buffer, 'a');
        assert_int_equal(buffer.data[buffer.size], '\0');
    }
    assert_int_equal(buffer.size, 10000);
    assert_int_equal(strspn(buffer.data, "a"), 10000);
}

static void
test_texts_numbers_and_formats_follow_each_other(void **state)
{
    (void) state;
    SLU_AUTO_BUFFER struct slu_buffer buffer = {0};
    slu_buffer_puts(&buffer, "a");
    slu_buffer_append(&buffer, "bcd", 2);
    slu_buffer_append(&buffer, NULL, 0);
    slu_buffer_printf(&buffer, "-%d-%s", 7, "x");
    assert_string_equal(buffer.data, "abc-7-x");
}

static void
test_ints_are_written_to_their_ends(void **state)
{
    (void) state;
    SLU_AUTO_BUFFER struct slu_buffer buffer = {0};
    const int64_t numbers[] = {0, 7, -7, 10, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < SLU_COUNT(numbers); i++) {
        char text[SLU_INT_TEXT_SIZE];
        slu_buffer_int(&buffer, numbers[i]);
        const size_t size = slu_int_write(numbers[i], text);
        assert_int_equal(size, strlen(text));
        assert_string_equal(text, buffer.data + buffer.size - size);
        slu_buffer_putc(&buffer, ' ');
    }
    assert_string_equal(buffer.data, "0 7 -7 10 9223372036854775807 -9223372036854775808 ");
}

static void
test_reset_keeps_the_memory_and_done_gives_it_back(void **state)
{
    (void) state;
    struct slu_buffer buffer = {0};
    slu_buffer_puts(&buffer, "abc");
    const size_t capacity = buffer.capacity;

    slu_buffer_reset(&buffer);
    assert_int_equal(buffer.size, 0);
    assert_string_equal(buffer.data, "");
    assert_int_equal(buffer.capacity, capacity);

    slu_buffer_done(&buffer);
    assert_null(buffer.data);
    assert_int_equal(buffer.capacity, 0);
}

static void
test_take_hands_over_even_an_empty_text(void **state)
{
    (void) state;
    struct slu_buffer buffer = {0};
    char *text = slu_buffer_take(&buffer);
    assert_string_equal(text, "");
    assert_null(buffer.data);
    free(text);
}

static void
test_json_strings_are_quoted_and_escaped(void **state)
{
    (void) state;

    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", "\"\""},
        {"plain é ✓", "\"plain é ✓\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
        {"\x01\x1f\x7f", "\"\\u0001\\u001F\x7f\""},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        SLU_AUTO_BUFFER struct slu_buffer buffer = {0};
        slu_buffer_json_string(&buffer, cases[i].text);
        assert_string_equal(buffer.data, cases[i].json);
    }
}

static void
test_json_bytes_may_hold_a_nul(void **state)
{
    (void) state;
    SLU_AUTO_BUFFER struct slu_buffer buffer = {0};
    slu_buffer_json_bytes(&buffer, "a\0b", 3);
    assert_string_equal(buffer.data, "\"a\\u0000b\"");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_buffer_grows_and_ends_with_a_nul),
        cmocka_unit_test(test_texts_numbers_and_formats_follow_each_other),
        cmocka_unit_test(test_ints_are_written_to_their_ends),
        cmocka_unit_test(test_reset_keeps_the_memory_and_done_gives_it_back),
        cmocka_unit_test(test_take_hands_over_even_an_empty_text),
        cmocka_unit_test(test_json_strings_are_quoted_and_escaped),
        cmocka_unit_test(test_json_bytes_may_hold_a_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
