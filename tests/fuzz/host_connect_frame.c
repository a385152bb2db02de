/* SPDX-License-Identifier: Apache-2.0 */
/* The host's reading of the one message of a stream, against its own writing of envelopes. */
#include "../../host/connect_frame.h"
#include "fuzz.h"

#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *message;
    json_t *again;
    struct slu_error error;
    if (slu_connect_read_one((const char *) data, size, &message, &error)) {
        assert(error.message[0]);
        return 0;
    }
    SLU_AUTO_BUFFER struct slu_buffer frame = {0};
    slu_connect_frame_json(&frame, message);
    const enum slu_status status = slu_connect_read_one(frame.data, frame.size, &again, &error);
    if (status) /* Escapes may carry it over the limit. */
        assert(frame.size > SLU_CONNECT_MESSAGE_MAX);
    else
        assert(json_equal(message, again));
    json_decref(message);
    if (!status)
        json_decref(again);
    return 0;
}
