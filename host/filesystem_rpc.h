/* SPDX-License-Identifier: Apache-2.0 */
/* The service filesystem.Filesystem of the data plane, its unary methods. */
#ifndef SLU_HOST_FILESYSTEM_RPC_H
#define SLU_HOST_FILESYSTEM_RPC_H

#include "server.h"

void slu_host_filesystem_stat(struct slu_host_request *request);
void slu_host_filesystem_list(struct slu_host_request *request);
void slu_host_filesystem_make(struct slu_host_request *request);
void slu_host_filesystem_move(struct slu_host_request *request);
void slu_host_filesystem_remove(struct slu_host_request *request);

#endif
