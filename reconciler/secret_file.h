/* SPDX-License-Identifier: Apache-2.0 */
/* Files that hold secrets: readable by their owner alone, or not read at all. */
#ifndef SLU_RECONCILER_SECRET_FILE_H
#define SLU_RECONCILER_SECRET_FILE_H

#include "slu/base/status.h"

#include <stddef.h>

/* Reads the whole file, without white space at its end, as text. */
enum slu_status
slu_secret_file_read(const char *path, char *ret_text, size_t size, struct slu_error *reterr);
void slu_secret_wipe(void *bytes, size_t size);

#endif
