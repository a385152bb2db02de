/* SPDX-License-Identifier: Apache-2.0 */
/* GET and POST /files: whole files in and out of a sandbox. */
#ifndef SLU_HOST_FILES_H
#define SLU_HOST_FILES_H

#include "server.h"

void slu_host_files_get(struct slu_host_request *request);
bool slu_host_files_prepare(struct slu_host_request *request);
void slu_host_files_post(struct slu_host_request *request);

/* A signed URL: `v1_` and the unpadded base64 of SHA-256 over path:operation:user:token[:expiry].
 */
bool slu_host_files_signature_is_good(const struct slu_host_request *request, const char *token);

#endif
