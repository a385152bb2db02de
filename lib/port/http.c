/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping requests and answers: headers in, headers found, memory given back and wiped. */
#include "slu/port/http.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

void
slu_http_request_done(struct slu_http_request *request)
{
    if (request->body.data) /* May hold a secret as well as the headers do. */
        explicit_bzero(request->body.data, request->body.capacity);
    slu_buffer_done(&request->url);
    slu_buffer_done(&request->body);
    explicit_bzero(request, sizeof(*request));
}

void
slu_http_response_done(struct slu_http_response *response)
{
    if (response->body.data)
        explicit_bzero(response->body.data, response->body.capacity);
    slu_buffer_done(&response->body);
    explicit_bzero(response, sizeof(*response));
}

void
slu_http_header_add(struct slu_http_request *request, const char *name, const char *format, ...)
{
    assert(request->header_count < SLU_HTTP_HEADERS_MAX);
    assert(strlen(name) < sizeof(request->headers[0].name));

    struct slu_http_header *header = &request->headers[request->header_count++];
    snprintf(header->name, sizeof(header->name), "%s", name);

    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(header->value, sizeof(header->value), format, arguments);
    va_end(arguments);
    assert(length >= 0 &&
           (size_t) length < sizeof(header->value)); /* A cut header says nonsense. */
}

const char *
slu_http_header_find(const struct slu_http_response *response, const char *name)
{
    for (size_t i = 0; i < response->header_count; i++) {
        if (strcasecmp(response->headers[i].name, name) == 0)
            return response->headers[i].value;
    }
    return NULL;
}
