/* SPDX-License-Identifier: Apache-2.0 */
#include "../../../lib/provider/connect_frames.h"
#include "exchange.h"

#define BYTES(text) text, sizeof(text) - 1

static const struct {
    const char *name;
    const char *bytes;
    size_t size;
    enum slu_connect_kind kinds[4];
    size_t count;
} cases[] = {
    /* clang-format off */
    {"message, then end", BYTES("\0\0\0\0\2{}\2\0\0\0\2{}"), {SLU_CONNECT_MESSAGE, SLU_CONNECT_END}, 2},
    {"empty message", BYTES("\0\0\0\0\0\2\0\0\0\0"), {SLU_CONNECT_MESSAGE, SLU_CONNECT_END}, 2},
    {"nothing at all", BYTES(""), {SLU_CONNECT_TRUNCATED}, 1},
    {"half a header", BYTES("\0\0\0"), {SLU_CONNECT_TRUNCATED}, 1},
    {"half a payload", BYTES("\0\0\0\0\5{}"), {SLU_CONNECT_TRUNCATED}, 1},
    {"a length beyond all bytes", BYTES("\0\377\377\377\377{}"), {SLU_CONNECT_TRUNCATED}, 1},
    {"no end frame", BYTES("\0\0\0\0\2{}"), {SLU_CONNECT_MESSAGE, SLU_CONNECT_TRUNCATED}, 2},
    {"compressed", BYTES("\1\0\0\0\2{}"), {SLU_CONNECT_BAD}, 1},
    {"unknown flag", BYTES("\4\0\0\0\2{}"), {SLU_CONNECT_BAD}, 1},
    /* clang-format on */
};

static void
test_frames_are_told_apart(void **state)
{
    (void) state;
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        size_t offset = 0;
        for (size_t k = 0; k < cases[i].count; k++) {
            const struct slu_connect_frame frame =
                slu_connect_next(cases[i].bytes, cases[i].size, &offset);
            if (frame.kind != cases[i].kinds[k])
                fail_msg("%s: frame %zu is %d", cases[i].name, k, (int) frame.kind);
        }
    }
}

static void
test_written_frame_reads_back(void **state)
{
    (void) state;
    SLU_AUTO_BUFFER struct slu_buffer out = {0};
    slu_connect_write(&out, "{\"a\":1}", 7);
    assert_memory_equal(out.data, "\0\0\0\0\7{\"a\":1}", 12);
    size_t offset = 0;
    const struct slu_connect_frame frame = slu_connect_next(out.data, out.size, &offset);
    assert_int_equal(frame.kind, SLU_CONNECT_MESSAGE);
    assert_int_equal(frame.size, 7);
    assert_int_equal(offset, out.size);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_are_told_apart),
        cmocka_unit_test(test_written_frame_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
