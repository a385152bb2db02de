/* SPDX-License-Identifier: Apache-2.0 */
/* The service process.Process of the data plane. */
#ifndef SLU_HOST_PROCESS_RPC_H
#define SLU_HOST_PROCESS_RPC_H

#include "server.h"

void slu_host_process_start(struct slu_host_request *request);
void slu_host_process_connect(struct slu_host_request *request);
void slu_host_process_list(struct slu_host_request *request);
void slu_host_process_send_signal(struct slu_host_request *request);
void slu_host_process_send_input(struct slu_host_request *request);
void slu_host_process_close_stdin(struct slu_host_request *request);
void slu_host_process_update(struct slu_host_request *request);

#endif
