/* SPDX-License-Identifier: Apache-2.0 */
/* egressRules → E2B, row by row of contract-map §2.2. */
#include "../../../lib/provider/e2b.h"
#include "exchange.h"

static const struct {
    const char *rules; /* NULL: absent. */
    const char *create;
    const char *update; /* NULL: nothing is sent. */
} cases[] = {
    /* clang-format off */
    {NULL, "{}", NULL},
    {"[]", "{\"allow_internet_access\":true}", "{\"allowOut\":[],\"denyOut\":[]}"},
    {"[{\"action\":\"deny\",\"target\":\"0.0.0.0/0\"}]", "{\"allow_internet_access\":false}", "{\"allowOut\":[],\"denyOut\":[\"0.0.0.0/0\"]}"},
    {"[{\"action\":\"allow\",\"target\":\"a.example\"}]", "{\"network\":{\"allowOut\":[\"a.example\"],\"denyOut\":[\"0.0.0.0/0\"]}}", "{\"allowOut\":[\"a.example\"],\"denyOut\":[\"0.0.0.0/0\"]}"},
    {"[{\"target\":\"*.b.example\"},{\"action\":\"deny\",\"target\":\"10.0.0.0/8\"}]", "{\"network\":{\"allowOut\":[\"*.b.example\"],\"denyOut\":[\"10.0.0.0/8\",\"0.0.0.0/0\"]}}", "{\"allowOut\":[\"*.b.example\"],\"denyOut\":[\"10.0.0.0/8\",\"0.0.0.0/0\"]}"},
    {"[{\"action\":\"deny\",\"target\":\"10.0.0.0/8\"}]", "{\"network\":{\"allowOut\":[],\"denyOut\":[\"10.0.0.0/8\"]}}", "{\"allowOut\":[],\"denyOut\":[\"10.0.0.0/8\"]}"},
    {"[{\"action\":\"deny\",\"target\":\"0.0.0.0/0\"},{\"action\":\"deny\",\"target\":\"::/0\"}]", "{\"network\":{\"allowOut\":[],\"denyOut\":[\"0.0.0.0/0\",\"::/0\"]}}", "{\"allowOut\":[],\"denyOut\":[\"0.0.0.0/0\",\"::/0\"]}"},
    /* clang-format on */
};

static void
test_egress_rules_map_to_two_lists(void **state)
{
    (void) state;
    for (size_t i = 0; i < SLU_COUNT(cases); i++) {
        json_t *rules = cases[i].rules ? json_loads(cases[i].rules, 0, NULL) : NULL;
        json_t *body = json_object();
        slu_e2b_egress_create(rules, body);
        json_t *update = slu_e2b_egress_update(rules);

        SLU_AUTO_FREE char *create_text = json_dumps(body, JSON_COMPACT);
        SLU_AUTO_FREE char *update_text = update ? json_dumps(update, JSON_COMPACT) : NULL;
        assert_string_equal(create_text, cases[i].create);
        if (cases[i].update)
            assert_string_equal(update_text, cases[i].update);
        else
            assert_null(update);
        json_decref(rules);
        json_decref(body);
        json_decref(update);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_egress_rules_map_to_two_lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
