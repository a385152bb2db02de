/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a JSON object, appended one after the other: what status documents and events are
 * written with, a record at a time on the hot path. A comma comes by itself. Private to lib/engine.
 */
#ifndef SLU_ENGINE_JSON_PUT_H
#define SLU_ENGINE_JSON_PUT_H

#include "slu/base/buffer.h"

#include <stdint.h>

/* `,"name":` or, right after an opening bracket, `"name":`. */
void slu_put_name(struct slu_buffer *out, const char *name);
void slu_put_text(struct slu_buffer *out, const char *name, const char *text);
void slu_put_int(struct slu_buffer *out, const char *name, int64_t value);

#endif
