/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON as the spec of a activity. */
#include "codec.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_spec(SLU_KIND_ACTIVITY, data, size);
    return 0;
}
