/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON text in place: members of an object as slices, without building a tree. For text
 * that is already known to be good (our own specs and status documents), where a tree costs ten
 * times more (reliability.md §6). Safe on any bytes: broken text ends the walk with an error. */
#ifndef SLU_MODEL_JSON_SLICE_H
#define SLU_MODEL_JSON_SLICE_H

#include "slu/base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slu_slice {
    const char *text; /* NULL: absent. */
    size_t size;
};

/* Walks the members of one object, or the values of one array. Zero-cost to copy. */
struct slu_slices {
    const char *at, *end;
    char close; /* '}' or ']'; 0 once the walk is over. */
    bool broken;
};

/* `container` is the whole text of an object or an array. */
struct slu_slices slu_slices_of(struct slu_slice container);

/* The next member. `ret_name` is the text between the quotes, not unescaped (NULL in arrays). False
 * at the end, and on broken text (`broken` is set). */
bool
slu_slices_next(struct slu_slices *slices, struct slu_slice *ret_name, struct slu_slice *ret_value);

/* One member of an object by name; absent when missing or broken. */
struct slu_slice slu_slice_member(struct slu_slice object, const char *name);

/* Several members in one walk: `ret_values[i]` is that of `names[i]`, absent when missing. What is
 * asked for more than once is cheaper this way than member by member. */
void slu_slice_members(struct slu_slice object,
                       const char *const *names,
                       size_t count,
                       struct slu_slice *ret_values);

bool slu_slice_is(struct slu_slice slice, const char *bytes); /* Equal bytes. */
int64_t slu_slice_int(struct slu_slice slice, int64_t otherwise);
bool slu_slice_bool(struct slu_slice slice, bool otherwise);

/* Appends the unescaped text of a JSON string; false when it is none. */
bool slu_slice_text(struct slu_slice slice, struct slu_buffer *out);

/* The same into a bounded array; false when it is no string or does not fit. */
bool slu_slice_copy(struct slu_slice slice, char *ret_text, size_t size);

/* A new string, "" when absent. The caller frees. */
char *slu_slice_strdup(struct slu_slice slice);

#endif
