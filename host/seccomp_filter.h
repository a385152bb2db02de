/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls a sandbox may not make, as a program for bubblewrap's --seccomp. */
#ifndef SLU_HOST_SECCOMP_FILTER_H
#define SLU_HOST_SECCOMP_FILTER_H

#include "slu/base/status.h"

/* A descriptor (close-on-exec) whose file holds the filter; read it again by seeking to 0. */
enum slu_status slu_host_seccomp_build(int *ret_fd, struct slu_error *reterr);

#endif
