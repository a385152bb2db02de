/* SPDX-License-Identifier: Apache-2.0 */
/* The property of every codec target: whatever decodes must encode to something that decodes to the
 * same. */
#ifndef SLU_TESTS_FUZZ_CODEC_H
#define SLU_TESTS_FUZZ_CODEC_H

#include "fuzz.h"
#include "slu/model/document.h"
#include "slu/model/fields.h"

#include <stdlib.h>
#include <string.h>

/* A refusal says why, in texts that end and are valid UTF-8 (jansson takes no other). */
[[maybe_unused]] static void
check_refusal(const struct slu_refusal *refusal)
{
    assert(refusal->code > SLU_CODE_NONE && refusal->code < SLU_CODE_COUNT);
    assert(memchr(refusal->path, '\0', sizeof(refusal->path)));
    assert(memchr(refusal->message, '\0', sizeof(refusal->message)));
    assert(refusal->message[0]);

    json_t *path = json_string(refusal->path);
    json_t *message = json_string(refusal->message);
    assert(path && message);
    json_decref(path);
    json_decref(message);
}

/* Decodes any JSON as a spec of this kind. */
[[maybe_unused]] static void
check_spec(enum slu_kind kind, const uint8_t *data, size_t size)
{
    json_t *value = json_loadb((const char *) data, size, JSON_REJECT_DUPLICATES, NULL);
    if (!value)
        return;

    const struct slu_field *fields = slu_spec_fields(kind);
    struct slu_refusal refusal;
    json_t *first = slu_fields_decode(fields, value, "spec", &refusal);
    json_decref(value);
    if (!first) {
        check_refusal(&refusal);
        return;
    }

    size_t text_size;
    size_t again_size;
    char *text = slu_spec_text(first, &text_size);
    json_t *tree = slu_spec_tree(text, text_size);
    json_t *second = slu_fields_decode(fields, tree, "spec", &refusal);
    assert(second);
    char *again = slu_spec_text(second, &again_size);
    assert(text_size == again_size && memcmp(text, again, text_size) == 0);
    assert(slu_fields_may_follow(fields, first, second, "spec", NULL, NULL, &refusal));

    free(text);
    free(again);
    json_decref(first);
    json_decref(tree);
    json_decref(second);
}

#endif
