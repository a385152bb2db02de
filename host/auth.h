/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the control plane and tokens of sandboxes, compared in constant time. */
#ifndef SLU_HOST_AUTH_H
#define SLU_HOST_AUTH_H

#include "server.h"

/* Reads the keys, or makes one in <state-dir>/api-key. Only hashes stay in memory. */
enum slu_status slu_host_auth_load(struct slu_host *host, struct slu_error *reterr);

bool slu_host_auth_key(const struct slu_host_request *request);
bool slu_host_auth_token(const char *given, const char *expected);

/* The user a data-plane request names, by Basic authorization or `username`; false when this host
 * knows no such user. */
bool slu_host_auth_user(const struct slu_host_request *request);

#endif
