/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a create request. Pure. */
#ifndef SLU_HOST_CREATE_BODY_H
#define SLU_HOST_CREATE_BODY_H

#include "sandbox.h"
#include "slu/base/status.h"

struct slu_create_defaults {
    int64_t timeout_s;
    int64_t timeout_max_s;
    int64_t cpu_count;
    int64_t memory_mb;
    int64_t disk_mb;
};

/* SLU_NOT_FOUND: no such template. SLU_INVALID: reterr names the member, its value and what would
 * be right. */
enum slu_status slu_create_body_read(const char *text,
                                     size_t size,
                                     const struct slu_create_defaults *defaults,
                                     struct slu_host_sandbox *sandbox,
                                     struct slu_error *reterr);

#endif
