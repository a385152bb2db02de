/* SPDX-License-Identifier: Apache-2.0 */
/* The control plane's routes, both generations. */
#ifndef SLU_HOST_CONTROL_H
#define SLU_HOST_CONTROL_H

#include "server.h"

void slu_host_control_create_v2(struct slu_host_request *request);
void slu_host_control_create_v1(struct slu_host_request *request);
void slu_host_control_get(struct slu_host_request *request);
void slu_host_control_delete(struct slu_host_request *request);
void slu_host_control_pause(struct slu_host_request *request);
void slu_host_control_connect_v2(struct slu_host_request *request);
void slu_host_control_connect_v1(struct slu_host_request *request);
void slu_host_control_resume(struct slu_host_request *request);
void slu_host_control_timeout(struct slu_host_request *request);
void slu_host_control_refresh(struct slu_host_request *request);
void slu_host_control_list_v2(struct slu_host_request *request); /* list.c */
void slu_host_control_list_v1(struct slu_host_request *request); /* list.c */
void slu_host_control_health(struct slu_host_request *request);
void slu_host_control_metrics(struct slu_host_request *request);
void slu_host_control_info(struct slu_host_request *request);

#endif
