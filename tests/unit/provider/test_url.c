/* SPDX-License-Identifier: Apache-2.0 */
#include "../../../lib/provider/url.h"
#include "exchange.h"

static void
test_escape_keeps_only_unreserved_characters(void **state)
{
    (void) state;
    SLU_AUTO_BUFFER struct slu_buffer out = {0};
    slu_url_escape(&out, "Az09-._~ /:%\xc3\xa9\n");
    assert_string_equal(out.data, "Az09-._~%20%2F%3A%25%C3%A9%0A");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escape_keeps_only_unreserved_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
