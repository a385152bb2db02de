/* SPDX-License-Identifier: Apache-2.0 */
/* A document that is taken, written canonically, is taken again and means the same; one that is
 * refused says why. The first line is the record's key. */
#include "fuzz.h"
#include "slu/base/buffer.h"
#include "slu/base/memory.h"
#include "slu/model/document.h"
#include "slu/model/fields.h"

#include <stdlib.h>
#include <string.h>

static void
put_text(struct slu_buffer *out, const char *before, const char *text)
{
    slu_buffer_puts(out, before);
    slu_buffer_json_string(out, text);
}

static void
write_canonical(const struct slu_document *document, struct slu_buffer *out)
{
    put_text(out, "{\"kind\":", slu_kinds[document->key.kind].document_word);
    put_text(out, ",\"id\":", document->key.id);
    put_text(out, ",\"scope\":{\"tenantId\":", document->tenant);
    put_text(out, ",\"projectId\":", document->project);
    slu_buffer_putc(out, '}');
    if (document->generation)
        slu_buffer_printf(out, ",\"generation\":%lld", (long long) document->generation);
    if (document->if_generation >= 0)
        slu_buffer_printf(out, ",\"ifGeneration\":%lld", (long long) document->if_generation);
    if (document->actor.kind[0]) {
        put_text(out, ",\"actor\":{\"kind\":", document->actor.kind);
        put_text(out, ",\"id\":", document->actor.id);
        slu_buffer_putc(out, '}');
    }
    size_t size;
    SLU_AUTO_FREE char *spec = slu_spec_text(document->spec, &size);
    slu_buffer_puts(out, ",\"spec\":");
    slu_buffer_append(out, spec, size);
    slu_buffer_putc(out, '}');
}

static void
check_again(const struct slu_key *key, const struct slu_document *first)
{
    SLU_AUTO_BUFFER struct slu_buffer text = {0};
    SLU_AUTO_BUFFER struct slu_buffer again = {0};
    struct slu_document second;
    struct slu_refusal refusal;
    write_canonical(first, &text);
    const bool taken = slu_document_parse(key, text.data, text.size, &second, &refusal);
    if (!taken && text.size > SLU_DOCUMENT_SIZE_MAX)
        return; /* Defaults put in may carry it over the border. */
    assert(taken);
    write_canonical(&second, &again);
    assert(text.size == again.size && memcmp(text.data, again.data, text.size) == 0);
    assert(slu_fields_may_follow(slu_spec_fields(key->kind), first->spec, second.spec, "spec", NULL,
                                 NULL, &refusal));
    slu_document_done(&second);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *stop = size ? memchr(data, '\n', size) : NULL;
    struct slu_key key;
    struct slu_document document;
    struct slu_refusal refusal = {0};
    if (!stop || !slu_key_parse(data, (size_t) (stop - data), &key, &refusal))
        return 0;
    if (!slu_document_parse(&key, stop + 1, (size_t) (data + size - stop - 1), &document,
                            &refusal)) {
        assert(refusal.code != SLU_CODE_NONE && refusal.message[0]);
        return 0;
    }
    assert(document.key.kind == key.kind && strcmp(document.key.id, key.id) == 0);
    check_again(&key, &document);
    slu_document_done(&document);
    return 0;
}
