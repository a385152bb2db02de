/* SPDX-License-Identifier: Apache-2.0 */
/* On any bytes the slices stay inside them; on JSON they say what a real parser says. */
#include "slu/model/json_slice.h"

#include "fuzz.h"
#include "slu/base/buffer.h"
#include "slu/base/memory.h"

#include <jansson.h>

#include <stdlib.h>
#include <string.h>

/* As deep as the parser allows. NOLINTBEGIN(misc-no-recursion) */
static void compare(struct slu_slice slice, const json_t *value);

static void
compare_text(struct slu_slice slice, const json_t *value)
{
    SLU_AUTO_BUFFER struct slu_buffer text = {0};
    const bool good = slu_slice_text(slice, &text);
    assert(good && text.size == json_string_length(value));
    assert(text.size == 0 || memcmp(text.data, json_string_value(value), text.size) == 0);
    SLU_AUTO_FREE char *copy = slu_alloc(text.size + 1);
    assert(slu_slice_copy(slice, copy, text.size + 1));
    assert(!slu_slice_copy(slice, copy, text.size));
}

static void
compare_container(struct slu_slice slice, const json_t *value)
{
    struct slu_slices slices = slu_slices_of(slice);
    struct slu_slice name;
    struct slu_slice member;
    size_t count = 0;
    while (slu_slices_next(&slices, &name, &member)) {
        if (json_is_array(value)) {
            compare(member, json_array_get(value, count++));
            continue;
        }
        SLU_AUTO_BUFFER struct slu_buffer text = {0};
        const struct slu_slice quoted = {name.text - 1, name.size + 2};
        const bool good = slu_slice_text(quoted, &text);
        assert(good);
        slu_buffer_putc(&text, '\0');
        compare(member, json_object_get(value, text.data));
        count++;
    }
    assert(!slices.broken);
    assert(count == (json_is_array(value) ? json_array_size(value) : json_object_size(value)));
}

static void
compare(struct slu_slice slice, const json_t *value)
{
    assert(value);
    if (json_is_object(value) || json_is_array(value)) {
        compare_container(slice, value);
    } else if (json_is_string(value)) {
        compare_text(slice, value);
    } else if (json_is_integer(value) && slice.size <= 18) {
        assert(slu_slice_int(slice, 7) == json_integer_value(value));
    } else if (json_is_boolean(value)) {
        assert(slu_slice_bool(slice, !json_is_true(value)) == json_is_true(value));
    }
}

/* Everything that takes a slice, for whatever bytes. */
static void
walk(struct slu_slice slice, int depth)
{
    SLU_AUTO_BUFFER struct slu_buffer text = {0};
    (void) slu_slice_text(slice, &text);
    (void) slu_slice_int(slice, 0);
    (void) slu_slice_member(slice, "spec");
    struct slu_slices slices = slu_slices_of(slice);
    struct slu_slice name;
    struct slu_slice value;
    const char *before = slice.text;
    while (slu_slices_next(&slices, &name, &value)) {
        assert(value.text >= before && value.text + value.size <= slice.text + slice.size);
        before = value.text + value.size;
        if (depth < 64)
            walk(value, depth + 1);
    }
}

/* NOLINTEND(misc-no-recursion) */

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SLU_AUTO_FREE char *copy = slu_alloc(size + 1); /* Never NULL, also when there is nothing. */
    memcpy(copy, data ? (const void *) data : "", size);
    const struct slu_slice slice = {copy, size};
    walk(slice, 0);
    /* The parser passes over a NUL behind a number; slices take it for a part of it. */
    const bool comparable = !memchr(copy, '\0', size);
    json_t *value = comparable ? json_loadb(copy, size, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (value)
        compare(slice, value);
    json_decref(value);
    return 0;
}
