/* SPDX-License-Identifier: Apache-2.0 */
#include "../../../host/fence.h"
#include "slu/base/macros.h"
#include "slu/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static enum slu_host_fence_verdict
judge(struct slu_host_fences *fences, const char *cluster, const char *shard, const char *epoch)
{
    struct slu_host_fence fence;
    struct slu_error error;
    int64_t highest;
    assert_int_equal(slu_host_fence_parse(cluster, shard, epoch, &fence, &error), SLU_OK);
    return slu_host_fences_judge(fences, &fence, &highest);
}

static void
mark(struct slu_host_fences *fences)
{
    for (int i = 0; i < fences->count; i++)
        slu_host_fences_mark_durable(fences, &fences->list[i]);
}

static void
test_an_epoch_passes_once_it_is_on_disk_and_never_goes_back(void **state)
{
    (void) state;
    struct slu_host_fences fences = {0};
    assert_int_equal(judge(&fences, "c", "1", "5"), SLU_HOST_FENCE_RAISED);
    assert_int_equal(judge(&fences, "c", "1", "5"), SLU_HOST_FENCE_RAISED);
    mark(&fences);
    assert_int_equal(judge(&fences, "c", "1", "5"), SLU_HOST_FENCE_PASS);
    assert_int_equal(judge(&fences, "c", "1", "4"), SLU_HOST_FENCE_STALE);
    assert_int_equal(judge(&fences, "c", "1", "7"), SLU_HOST_FENCE_RAISED);
    assert_int_equal(judge(&fences, "c", "1", "5"), SLU_HOST_FENCE_STALE);
    assert_int_equal(judge(&fences, "c", "2", "1"), SLU_HOST_FENCE_RAISED);
    assert_int_equal(judge(&fences, "d", "1", "1"), SLU_HOST_FENCE_RAISED);
    assert_int_equal(fences.count, 3);
    slu_free_ptr(&fences.list);
}

static void
test_a_write_that_was_overtaken_makes_nothing_durable(void **state)
{
    (void) state;
    struct slu_host_fences fences = {0};
    judge(&fences, "c", "1", "5");
    const struct slu_host_fence written = fences.list[0];
    judge(&fences, "c", "1", "6");
    slu_host_fences_mark_durable(&fences, &written);
    assert_int_equal(judge(&fences, "c", "1", "6"), SLU_HOST_FENCE_RAISED);
    assert_true(slu_host_fences_is_stale(&fences, &written));
    slu_free_ptr(&fences.list);
}

static void
test_headers_that_are_wrong_are_named(void **state)
{
    (void) state;

    static const struct {
        const char *cluster, *shard, *epoch, *named;
    } cases[] = {
        {NULL, "1", "1", "together"},  {"c", NULL, "1", "together"},
        {"c", "1", NULL, "together"},  {"", "1", "1", "slu-cluster"},
        {"c", "-1", "1", "slu-shard"}, {"c", "x", "1", "slu-shard"},
        {"c", "1", "1x", "slu-epoch"}, {"c", "1", "99999999999999999999", "slu-epoch"},
    };

    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        struct slu_host_fence fence;
        struct slu_error error;
        assert_int_equal(
            slu_host_fence_parse(cases[i].cluster, cases[i].shard, cases[i].epoch, &fence, &error),
            SLU_INVALID);
        assert_non_null(strstr(error.message, cases[i].named));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_epoch_passes_once_it_is_on_disk_and_never_goes_back),
        cmocka_unit_test(test_a_write_that_was_overtaken_makes_nothing_durable),
        cmocka_unit_test(test_headers_that_are_wrong_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
