/* SPDX-License-Identifier: Apache-2.0 */
/* Rules mean the same in any order: allow beats deny, and any allow rule makes everything else
 * denied (contract-map §2.2). E2B's two lists say exactly that once "everything" stands in denyOut
 * beside the allowed ones. */
#include "e2b.h"
#include "json.h"

#include <string.h>

static const char everything[] = "0.0.0.0/0";

static bool
is_allow(const json_t *rule)
{
    const char *action = slu_json_text(rule, "action");
    return !action || strcmp(action, "allow") == 0;
}

static bool
is_deny_all(const json_t *rules)
{
    const json_t *rule = json_array_get(rules, 0);
    const char *target = slu_json_text(rule, "target");
    return json_array_size(rules) == 1 && !is_allow(rule) && target &&
           strcmp(target, everything) == 0;
}

static json_t *
lists(const json_t *rules)
{
    json_t *allow = json_array();
    json_t *deny = json_array();
    size_t i;
    json_t *rule;

    json_array_foreach(rules, i, rule)
        json_array_append(is_allow(rule) ? allow : deny, json_object_get(rule, "target"));
    if (json_array_size(allow) > 0)
        json_array_append_new(deny, json_string(everything));

    json_t *network = json_object();
    json_object_set_new(network, "allowOut", allow);
    json_object_set_new(network, "denyOut", deny);
    return network;
}

void
slu_e2b_egress_create(const json_t *rules, json_t *body)
{
    if (!rules)
        return; /* The provider's own default. */
    if (json_array_size(rules) == 0 || is_deny_all(rules)) {
        json_object_set_new(body, "allow_internet_access",
                            json_boolean(json_array_size(rules) == 0));
        return;
    }
    json_object_set_new(body, "network", lists(rules));
}

json_t *
slu_e2b_egress_update(const json_t *rules)
{
    return rules ? lists(rules) : NULL;
}
