/* SPDX-License-Identifier: Apache-2.0 */
#include "secret_file.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum slu_status
check_owner(int file, const char *path, struct slu_error *reterr)
{
    struct stat info;
    if (fstat(file, &info) != 0)
        return slu_fail(reterr, SLU_INVALID, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return slu_fail(reterr, SLU_INVALID, "%s: is no regular file", path);
    if (info.st_uid != geteuid() && info.st_uid != 0)
        return slu_fail(reterr, SLU_INVALID, "%s: belongs to another user", path);
    if (info.st_mode & (S_IRWXG | S_IRWXO))
        return slu_fail(reterr, SLU_INVALID, "%s: others may read it (mode %03o); chmod 600 it",
                        path, (unsigned) info.st_mode & 0777U);
    return SLU_OK;
}

/* One byte more than fits tells a file that is too long. */
static enum slu_status
read_text(int file, const char *path, char *ret_text, size_t size, struct slu_error *reterr)
{
    size_t used = 0;
    for (ssize_t got; used < size && (got = read(file, ret_text + used, size - used)) != 0;) {
        if (got < 0)
            return slu_fail(reterr, SLU_INVALID, "%s: %s", path, strerror(errno));
        used += (size_t) got;
    }
    if (used == size)
        return slu_fail(reterr, SLU_INVALID, "%s: longer than %zu bytes", path, size - 1);
    while (used > 0 && strchr(" \t\r\n", ret_text[used - 1]))
        used--;
    ret_text[used] = '\0';
    if (used == 0 || strlen(ret_text) != used)
        return slu_fail(reterr, SLU_INVALID, "%s: is empty, or no text", path);
    return SLU_OK;
}

enum slu_status
slu_secret_file_read(const char *path, char *ret_text, size_t size, struct slu_error *reterr)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0)
        return slu_fail(reterr, SLU_INVALID, "%s: %s", path, strerror(errno));
    enum slu_status status = check_owner(file, path, reterr);
    if (!status)
        status = read_text(file, path, ret_text, size, reterr);
    if (status)
        slu_secret_wipe(ret_text, size);
    close(file);
    return status;
}

void
slu_secret_wipe(void *bytes, size_t size)
{
    sodium_memzero(bytes, size);
}
