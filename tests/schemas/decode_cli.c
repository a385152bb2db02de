/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder on a pipe, for tests in other languages: each line "<key>\t<document>" is answered by
 * a line of JSON, {"document": …} with the canonical document, or {"code", "path", "message"}. */
#include "slu/base/buffer.h"
#include "slu/model/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
put_text(struct slu_buffer *out, const char *name, const char *text)
{
    slu_buffer_printf(out, "%s\"%s\":", out->data[out->size - 1] == '{' ? "" : ",", name);
    slu_buffer_json_string(out, text);
}

static void
put_refusal(struct slu_buffer *out, const struct slu_refusal *refusal)
{
    slu_buffer_putc(out, '{');
    put_text(out, "code", slu_code_names[refusal->code]);
    put_text(out, "path", refusal->path);
    put_text(out, "message", refusal->message);
    slu_buffer_puts(out, "}\n");
}

static void
put_document(struct slu_buffer *out, const struct slu_document *document)
{
    slu_buffer_puts(out, "{\"document\":{");
    put_text(out, "kind", slu_kinds[document->key.kind].document_word);
    put_text(out, "id", document->key.id);
    slu_buffer_puts(out, ",\"scope\":{");
    put_text(out, "tenantId", document->tenant);
    put_text(out, "projectId", document->project);
    slu_buffer_putc(out, '}');
    if (document->generation > 0)
        slu_buffer_printf(out, ",\"generation\":%lld", (long long) document->generation);
    if (document->if_generation >= 0)
        slu_buffer_printf(out, ",\"ifGeneration\":%lld", (long long) document->if_generation);
    if (document->actor.kind[0]) {
        slu_buffer_puts(out, ",\"actor\":{");
        put_text(out, "kind", document->actor.kind);
        put_text(out, "id", document->actor.id);
        slu_buffer_putc(out, '}');
    }

    size_t size;
    char *spec = slu_spec_text(document->spec, &size);
    slu_buffer_puts(out, ",\"spec\":");
    slu_buffer_append(out, spec, size);
    slu_buffer_puts(out, "}}\n");
    free(spec);
}

static void
answer(const char *line, size_t size, struct slu_buffer *out)
{
    const char *tab = memchr(line, '\t', size);
    const size_t key_size = tab ? (size_t) (tab - line) : size;
    const char *bytes = line + key_size + (tab ? 1 : 0);

    struct slu_key key;
    struct slu_document document;
    struct slu_refusal refusal;
    if (!slu_key_parse(line, key_size, &key, &refusal) ||
        !slu_document_parse(&key, bytes, size - (size_t) (bytes - line), &document, &refusal)) {
        put_refusal(out, &refusal);
        return;
    }
    put_document(out, &document);
    slu_document_done(&document);
}

int
main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    while ((size = getline(&line, &capacity, stdin)) > 0) {
        if (line[size - 1] == '\n')
            size--;
        SLU_AUTO_BUFFER struct slu_buffer out = {0};
        answer(line, (size_t) size, &out);
        if (fwrite(out.data, 1, out.size, stdout) != out.size || fflush(stdout))
            return EXIT_FAILURE;
    }
    free(line);
    return EXIT_SUCCESS;
}
