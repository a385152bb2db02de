/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and rules that several kinds share (contract-map §2.1, §2.2, §2.5, §3.15). */
#include "fields_internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

const char *const slu_principal_kinds[] = {"user", "agent", NULL};

const struct slu_field slu_scope_fields[] = {
    {.name = "tenantId", .type = SLU_FIELD_ID, .required = true},
    {.name = "projectId", .type = SLU_FIELD_ID, .required = true},
    {0},
};

/* Principal and Owner are spelled alike, so that "is owner" is plain equality. */
const struct slu_field slu_principal_fields[] = {
    {.name = "kind", .type = SLU_FIELD_ENUM, .required = true, .names = slu_principal_kinds},
    {.name = "id",
     .type = SLU_FIELD_TEXT,
     .required = true,
     .min = 1,
     .max = 256,
     .check = slu_check_no_controls},
    {0},
};

const struct slu_field slu_owner_field = {.type = SLU_FIELD_OBJECT, .fields = slu_principal_fields};

const struct slu_field slu_resources_fields[] = {
    {.name = "cpuCount", .type = SLU_FIELD_INT, .required = true, .min = 1, .max = 64},
    {.name = "memoryMb", .type = SLU_FIELD_INT, .required = true, .min = 128, .max = 131072},
    {.name = "diskMb", .type = SLU_FIELD_INT, .required = true, .min = 512, .max = 1048576},
    {0},
};

int
slu_count_members(const json_t *object, const char *const *names)
{
    int count = 0;
    for (; *names; names++)
        count += json_object_get(object, *names) != NULL;
    return count;
}

/* C0, DEL and C1: none has a place in what people read. */
bool
slu_check_no_controls(const json_t *value, const char *path, struct slu_refusal *ret)
{
    const unsigned char *text = (const unsigned char *) json_string_value(value);
    for (size_t i = 0; i < json_string_length(value); i++) {
        const bool is_c1 = text[i] == 0xc2 && text[i + 1] >= 0x80 && text[i + 1] <= 0x9f;
        if (text[i] < 0x20 || text[i] == 0x7f || is_c1)
            return slu_refuse_value(ret, path, value, "free of control characters");
    }
    return true;
}

static bool
is_bad_component(const char *text, size_t size)
{
    return size == 0 || (size == 1 && text[0] == '.') || (size == 2 && memcmp(text, "..", 2) == 0);
}

bool
slu_check_path(const json_t *value, const char *path, struct slu_refusal *ret)
{
    const char *at = json_string_value(value);
    for (;;) {
        const size_t size = strcspn(at, "/");
        if (is_bad_component(at, size))
            return slu_refuse_value(ret, path, value,
                                    "a relative path without empty, \".\" or \"..\" components");
        if (at[size] == '\0')
            return true;
        at += size + 1;
    }
}

/* --- environment variables
 * ------------------------------------------------------------------------ */

static bool
check_env_name(const json_t *value, const char *path, struct slu_refusal *ret)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    const char *name = json_string_value(value);

    if (!strchr(first, name[0]) || name[strspn(name, rest)] != '\0') {
        return slu_refuse(ret, SLU_CODE_INVALID, path,
                          "the name is not allowed: it must be a letter or _, then letters, digits "
                          "and _");
    }
    return true;
}

const struct slu_field slu_env_name_field = {
    .type = SLU_FIELD_TEXT,
    .min = 1,
    .max = SLU_ENV_VALUE_MAX,
    .check = check_env_name,
};

const struct slu_field slu_env_value_field = {
    .type = SLU_FIELD_TEXT,
    .in_bytes = true,
    .max = SLU_ENV_VALUE_MAX,
};

/* --- egress targets
 * ------------------------------------------------------------------------------- */

/* Decimal, no sign, no leading zero; −1 when it is none or above `max`. */
static int
prefix_length(const char *text, int max)
{
    const size_t size = strlen(text);
    if (size < 1 || size > 3 || text[strspn(text, "0123456789")] || (size > 1 && text[0] == '0'))
        return -1;
    const int length = (int) strtol(text, NULL, 10);
    return length <= max ? length : -1;
}

static bool
host_bits_are_zero(const unsigned char *address, int bits, int prefix)
{
    for (int bit = prefix; bit < bits; bit++) {
        if (address[bit / 8] & (0x80 >> bit % 8))
            return false;
    }
    return true;
}

/* An address, or an address and a prefix with its host bits zero. */
static bool
is_address_or_network(const char *text)
{
    char address_text[INET6_ADDRSTRLEN];
    const size_t size = strcspn(text, "/");
    if (size >= sizeof(address_text))
        return false;
    memcpy(address_text, text, size);
    address_text[size] = '\0';

    unsigned char address[sizeof(struct in6_addr)];
    const bool is_v6 = strchr(address_text, ':');
    if (inet_pton(is_v6 ? AF_INET6 : AF_INET, address_text, address) != 1)
        return false;
    if (text[size] == '\0')
        return true;

    const int bits = is_v6 ? 128 : 32;
    const int prefix = prefix_length(text + size + 1, bits);
    return prefix >= 0 && host_bits_are_zero(address, bits, prefix);
}

static bool
is_label(const char *label, size_t size)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    return size >= 1 && size <= 63 && strspn(label, allowed) >= size && label[0] != '-' &&
           label[size - 1] != '-';
}

/* LDH labels, lower case, no trailing dot; the last label is no number, as that is an address. */
static bool
is_domain(const char *text)
{
    for (;;) {
        const size_t size = strcspn(text, ".");
        if (!is_label(text, size))
            return false;
        if (text[size] == '\0')
            return strspn(text, "0123456789") < size;
        text += size + 1;
    }
}

bool
slu_check_egress_target(const json_t *value, const char *path, struct slu_refusal *ret)
{
    const char *text = json_string_value(value);
    const char *domain = strncmp(text, "*.", 2) == 0 ? text + 2 : text;
    if (is_address_or_network(text) || is_domain(domain))
        return true;
    return slu_refuse_value(ret, path, value,
                            "an IPv4 or IPv6 address, a network with its host bits zero such as "
                            "10.0.0.0/8, or a domain in lower case such as example.org or "
                            "*.example.org");
}
