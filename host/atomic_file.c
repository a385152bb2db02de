/* SPDX-License-Identifier: Apache-2.0 */
/* Durable files. Trees are removed by rm, which copes with any depth, width and name. */
#include "atomic_file.h"

#include "slu/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static enum slu_status
fail_errno(struct slu_error *reterr, const char *what, const char *path)
{
    const int error = errno;
    const enum slu_status status =
        slu_fail(reterr, SLU_RETRY, "%s '%s': %s", what, path, strerror(error));
    if (reterr)
        reterr->code = error;
    return status;
}

static int
write_all(int fd, const char *bytes, size_t size)
{
    size_t written = 0;
    while (written < size) {
        const ssize_t got = write(fd, bytes + written, size - written);
        if (got < 0 && errno != EINTR)
            return -1;
        written += got > 0 ? (size_t) got : 0;
    }
    return 0;
}

enum slu_status
slu_host_folder_sync(const char *path, struct slu_error *reterr)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(reterr, "opening", path);
    const int failed = fsync(fd);
    close(fd);
    return failed ? fail_errno(reterr, "syncing", path) : SLU_OK;
}

enum slu_status
slu_host_file_write(
    const char *folder, const char *name, const char *bytes, size_t size, struct slu_error *reterr)
{
    char path[PATH_MAX], temporary[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    snprintf(temporary, sizeof(temporary), "%s/.%s.new", folder, name);

    const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail_errno(reterr, "creating", temporary);

    const bool failed = write_all(fd, bytes, size) != 0 || fsync(fd) != 0;
    const int error = errno;
    close(fd);
    errno = error;
    if (failed || rename(temporary, path) != 0)
        return fail_errno(reterr, "writing", path);
    return slu_host_folder_sync(folder, reterr);
}

enum slu_status
slu_host_file_read(
    const char *path, size_t max, char **ret_text, size_t *ret_size, struct slu_error *reterr)
{
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return slu_fail(reterr, SLU_NOT_FOUND, "'%s' does not exist", path);
    if (fd < 0 || fstat(fd, &info) != 0) {
        if (fd >= 0)
            close(fd);
        return fail_errno(reterr, "opening", path);
    }
    if (!S_ISREG(info.st_mode) || (size_t) info.st_size > max) {
        close(fd);
        return slu_fail(reterr, SLU_INVALID, "'%s' is no file of at most %zu bytes", path, max);
    }

    char *text = slu_alloc((size_t) info.st_size + 1);
    size_t size = 0;
    ssize_t got = 0;
    while (size < (size_t) info.st_size &&
           (got = read(fd, text + size, (size_t) info.st_size - size)) > 0)
        size += (size_t) got;
    close(fd);
    if (got < 0) {
        slu_free_ptr(&text);
        return fail_errno(reterr, "reading", path);
    }
    *ret_text = text;
    *ret_size = size;
    return SLU_OK;
}

enum slu_status
slu_host_folder_make(const char *path, unsigned mode, struct slu_error *reterr)
{
    if (mkdir(path, mode) != 0 && errno != EEXIST)
        return fail_errno(reterr, "making", path);
    return SLU_OK;
}

static int
run(char *const arguments[])
{
    pid_t pid;
    int wait_status = 0;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    const int failed = posix_spawn(&pid, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return -1;
    while (waitpid(pid, &wait_status, 0) < 0) {
        if (errno != EINTR)
            return -1;
    }
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

enum slu_status
slu_host_tree_remove(const char *path, struct slu_error *reterr)
{
    SLU_AUTO_FREE char *copy = slu_strdup(path);
    char *const remove[] = {(char[]){"/bin/rm"}, (char[]){"-rf"}, (char[]){"--"}, copy, NULL};
    char *const open_up[] = {(char[]){"/bin/chmod"}, (char[]){"-R"}, (char[]){"u+rwX"},
                             (char[]){"--"},         copy,           NULL};

    if (run(remove) == 0)
        return SLU_OK;
    /* Without root's rights a folder that the sandbox closed to itself is closed to us too. */
    if (run(open_up) < 0 || run(remove) != 0)
        return slu_fail(reterr, SLU_RETRY, "removing '%s' failed", path);
    return SLU_OK;
}
