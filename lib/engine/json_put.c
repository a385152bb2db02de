/* SPDX-License-Identifier: Apache-2.0 */
#include "json_put.h"

void
slu_put_name(struct slu_buffer *out, const char *name)
{
    const char last = out->size ? out->data[out->size - 1] : 0;
    if (last != '{' && last != '[')
        slu_buffer_putc(out, ',');
    slu_buffer_putc(out, '"');
    slu_buffer_puts(out, name);
    slu_buffer_append(out, "\":", 2);
}

void
slu_put_text(struct slu_buffer *out, const char *name, const char *text)
{
    slu_put_name(out, name);
    slu_buffer_json_string(out, text);
}

void
slu_put_int(struct slu_buffer *out, const char *name, int64_t value)
{
    slu_put_name(out, name);
    slu_buffer_int(out, value);
}
