/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-encoding for URLs (RFC 3986): everything but the unreserved characters. */
#ifndef SLU_LIB_PROVIDER_URL_H
#define SLU_LIB_PROVIDER_URL_H

#include "slu/base/buffer.h"

/* Appends `text`, escaped as one path segment or query value. */
void slu_url_escape(struct slu_buffer *out, const char *text);

#endif
