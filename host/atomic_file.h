/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are whole or not there: written beside, synced, renamed, and the folder synced, so
 * that a crash at any moment leaves the old content or the new. Safe from any thread. */
#ifndef SLU_HOST_ATOMIC_FILE_H
#define SLU_HOST_ATOMIC_FILE_H

#include "slu/base/status.h"

#include <stddef.h>

enum slu_status slu_host_file_write(
    const char *folder, const char *name, const char *bytes, size_t size, struct slu_error *reterr);

/* The whole file as text; SLU_NOT_FOUND when there is none, SLU_INVALID above `max`. */
enum slu_status slu_host_file_read(
    const char *path, size_t max, char **ret_text, size_t *ret_size, struct slu_error *reterr);

enum slu_status slu_host_folder_make(const char *path, unsigned mode, struct slu_error *reterr);
enum slu_status slu_host_folder_sync(const char *path, struct slu_error *reterr);

/* Removes a tree, whatever a sandbox made of it. Missing is fine. */
enum slu_status slu_host_tree_remove(const char *path, struct slu_error *reterr);

#endif
