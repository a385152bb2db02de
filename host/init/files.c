/* SPDX-License-Identifier: Apache-2.0 */
/* File operations, done by a forked child of the init with the rights, mounts and links of the
 * sandbox: a link that points at the host's /etc finds the sandbox's own. Paths come absolute.
 * Opening answers with a descriptor, so that bytes flow between the host and the file directly. */
#include "init.h"
#include "slu/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WORK_SECONDS_MAX = 300,
    DIRECTORY_MODE = 0755,
    FILE_MODE = 0644,
    USER_NUMBER = 1000,
};

struct work {
    int socket;
    int descriptor;
    int entries;
};

/* Writes a whole message, waiting for the host; with `descriptor` ≥ 0 that goes along. */
static void
answer(struct work *work, const struct slu_buffer *message, int descriptor)
{
    size_t sent = 0;
    while (sent < message->size) {
        char control[CMSG_SPACE(sizeof(int))] = {0};
        struct iovec part = {.iov_base = message->data + sent, .iov_len = message->size - sent};
        struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
        if (descriptor >= 0 && sent == 0) {
            header.msg_control = control;
            header.msg_controllen = sizeof(control);
            struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
            rights->cmsg_level = SOL_SOCKET;
            rights->cmsg_type = SCM_RIGHTS;
            rights->cmsg_len = CMSG_LEN(sizeof(int));
            memcpy(CMSG_DATA(rights), &descriptor, sizeof(descriptor));
        }
        const ssize_t got = sendmsg(work->socket, &header, MSG_NOSIGNAL);
        if (got < 0 && errno == EAGAIN) {
            struct pollfd writable = {.fd = work->socket, .events = POLLOUT};
            poll(&writable, 1, -1);
        } else if (got < 0) {
            _exit(1);
        } else {
            sent += (size_t) got;
        }
    }
}

_Noreturn static void
succeed(struct work *work)
{
    struct slu_buffer message = {0};
    slu_init_end(&message, slu_init_begin(&message, SLU_INIT_DONE));
    answer(work, &message, -1);
    _exit(0);
}

_Noreturn SLU_PRINTF(3, 4) static void fail(struct work *work,
                                            const char *code,
                                            const char *format,
                                            ...)
{
    char text[PATH_MAX + 256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);

    struct slu_buffer message = {0};
    const size_t at = slu_init_begin(&message, SLU_INIT_FAILED);
    slu_init_put_text(&message, SLU_INIT_F_CODE, code);
    slu_init_put_text(&message, SLU_INIT_F_TEXT, text);
    slu_init_end(&message, at);
    answer(work, &message, -1);
    _exit(0);
}

static const struct {
    int error;
    const char *code;
} codes[] = {
    {ENOENT, "not_found"},          {ENOTDIR, "not_found"},
    {EACCES, "permission_denied"},  {EPERM, "permission_denied"},
    {EROFS, "permission_denied"},   {ENOSPC, "resource_exhausted"},
    {EDQUOT, "resource_exhausted"}, {EFBIG, "resource_exhausted"},
    {EISDIR, "invalid_argument"},   {ENAMETOOLONG, "invalid_argument"},
    {ELOOP, "invalid_argument"},    {EINVAL, "invalid_argument"},
    {EEXIST, "already_exists"},
};

_Noreturn static void
fail_errno(struct work *work, const char *path)
{
    const int error = errno;
    for (size_t i = 0; i < SLU_COUNT(codes); i++) {
        if (codes[i].error == error)
            fail(work, codes[i].code, "path '%s': %s", path, strerror(error));
    }
    fail(work, "internal", "path '%s': %s", path, strerror(error));
}

/* Runs a tool of the sandbox that knows trees better than we do. */
static void
run_tool(struct work *work, const char *path, char *const arguments[])
{
    const pid_t pid = fork();
    int wait_status = 0;
    if (pid == 0) {
        execv(arguments[0], arguments);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &wait_status, 0) != pid)
        fail_errno(work, path);
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0)
        fail(work, "internal", "path '%s': %s failed", path, arguments[0]);
}

static void
make_parents(struct work *work, const char *path)
{
    SLU_AUTO_FREE char *copy = slu_strdup(path);
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, DIRECTORY_MODE) != 0 && errno != EEXIST && errno != EROFS)
            fail_errno(work, copy);
        *slash = '/';
    }
}

/* Two accounts exist in a sandbox (its /etc/passwd is ours); all else is the host's. */
static const char *
owner_name(unsigned number, const char *other)
{
    if (number == USER_NUMBER)
        return "user";
    return number == 0 ? "root" : other;
}

static void
put_entry(struct slu_buffer *out, const char *path, const struct stat *info, const char *target)
{
    SLU_AUTO_FREE char *copy = slu_strdup(path);

    slu_init_put_text(out, SLU_INIT_F_PATH, path);
    slu_init_put_text(out, SLU_INIT_F_NAME, basename(copy));
    slu_init_put_number(out, SLU_INIT_F_SIZE, info->st_size);
    slu_init_put_number(out, SLU_INIT_F_MODE, info->st_mode);
    slu_init_put_text(out, SLU_INIT_F_OWNER, owner_name(info->st_uid, "nobody"));
    slu_init_put_text(out, SLU_INIT_F_GROUP, owner_name(info->st_gid, "nogroup"));
    slu_init_put_number(out, SLU_INIT_F_MODIFIED_NS,
                        (int64_t) info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec);
    if (target)
        slu_init_put_text(out, SLU_INIT_F_TARGET, target);
}

/* A link is shown as what it leads to, with its target told; a broken one as a link. */
static bool
answer_entry(struct work *work, const char *path)
{
    struct stat info;
    struct stat through;
    char target[PATH_MAX] = "";
    if (lstat(path, &info) != 0)
        return false;
    const bool is_link = S_ISLNK(info.st_mode);
    if (is_link && !realpath(path, target)) {
        const ssize_t size = readlink(path, target, sizeof(target) - 1);
        target[size > 0 ? size : 0] = '\0';
    }
    if (is_link && stat(path, &through) == 0)
        info = through;

    SLU_AUTO_BUFFER struct slu_buffer message = {0};
    const size_t at = slu_init_begin(&message, SLU_INIT_ENTRY);
    put_entry(&message, path, &info, is_link ? target : NULL);
    slu_init_end(&message, at);
    answer(work, &message, -1);
    return true;
}

_Noreturn static void
open_file(struct work *work, const char *path)
{
    struct stat info;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0)
        fail_errno(work, path);
    if (S_ISDIR(info.st_mode))
        fail(work, "invalid_argument", "path '%s' is a directory", path);
    if (!S_ISREG(info.st_mode))
        fail(work, "invalid_argument", "path '%s' is not a regular file", path);

    struct slu_buffer message = {0};
    const size_t at = slu_init_begin(&message, SLU_INIT_FILE);
    put_entry(&message, path, &info, NULL);
    slu_init_end(&message, at);
    answer(work, &message, fd);
    _exit(0);
}

static void
copy_into(struct work *work, int fd, const char *path, const char *temporary)
{
    struct stat info;
    off_t offset = 0;
    if (fstat(work->descriptor, &info) != 0)
        fail_errno(work, path);
    while (offset < info.st_size) {
        const size_t left = (size_t) (info.st_size - offset);
        ssize_t copied = copy_file_range(work->descriptor, &offset, fd, NULL, left, 0);
        if (copied < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS))
            copied = sendfile(fd, work->descriptor, &offset, left);
        if (copied <= 0) {
            const int error = copied == 0 ? EIO : errno;
            if (temporary)
                unlink(temporary);
            errno = error;
            fail_errno(work, path);
        }
    }
}

/* A folder that refuses new names may still hold a file that takes new bytes. */
static void
overwrite_in_place(struct work *work, const char *path)
{
    const int fd = open(path, O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        fail_errno(work, path);
    copy_into(work, fd, path, NULL);
    close(fd);
}

/* Beside the target, then over it: readers see the old file or the new one, never a part. */
static void
replace(struct work *work, const char *path, mode_t mode, bool exists)
{
    char temporary[PATH_MAX];
    SLU_AUTO_FREE char *copy = slu_strdup(path);
    const int size = snprintf(temporary, sizeof(temporary), "%s/.slu-put-%d-%lld", dirname(copy),
                              (int) getpid(), (long long) slu_init_now_ms());
    if (size >= (int) sizeof(temporary)) {
        errno = ENAMETOOLONG;
        fail_errno(work, path);
    }

    const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0 && exists && (errno == EACCES || errno == EROFS || errno == EPERM)) {
        overwrite_in_place(work, path);
        return;
    }
    if (fd < 0)
        fail_errno(work, path);
    fchmod(fd, mode);
    copy_into(work, fd, path, temporary);
    if (close(fd) != 0 || rename(temporary, path) != 0) {
        const int error = errno;
        unlink(temporary);
        errno = error;
        fail_errno(work, path);
    }
}

_Noreturn static void
put_file(struct work *work, const char *path)
{
    struct stat info;
    char resolved[PATH_MAX];
    if (work->descriptor < 0)
        fail(work, "internal", "no bytes came with the file '%s'", path);

    make_parents(work, path);
    const bool exists = realpath(path, resolved) && stat(resolved, &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        fail(work, "invalid_argument", "path '%s' is a directory", path);
    if (exists && !S_ISREG(info.st_mode))
        fail(work, "invalid_argument", "path '%s' is not a regular file", path);

    replace(work, exists ? resolved : path, exists ? info.st_mode & 07777 : FILE_MODE, exists);
    if (!answer_entry(work, path))
        fail_errno(work, path);
    succeed(work);
}

_Noreturn static void
stat_file(struct work *work, const char *path)
{
    if (!answer_entry(work, path))
        fail_errno(work, path);
    succeed(work);
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool
is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool
can_be_listed(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && access(path, R_OK | X_OK) == 0;
}

static void // NOLINTNEXTLINE(misc-no-recursion): `depth` says how deep.
list_tree(struct work *work, const char *path, int64_t depth)
{
    struct dirent **names;
    const int count = scandir(path, &names, NULL, by_name);
    if (count < 0)
        fail_errno(work, path);

    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        char child[PATH_MAX];
        if (is_dots(name))
            continue;
        if (++work->entries > SLU_INIT_ENTRIES_MAX)
            fail(work, "resource_exhausted", "more than %d entries under '%s'",
                 SLU_INIT_ENTRIES_MAX, path);
        const int size =
            snprintf(child, sizeof(child), "%s/%s", strcmp(path, "/") ? path : "", name);
        if (size >= (int) sizeof(child) || !answer_entry(work, child))
            continue; /* Gone since, or deeper than a path can say. */
        if (depth > 1 && can_be_listed(child))
            list_tree(work, child, depth - 1);
    }
    for (int i = 0; i < count; i++)
        slu_free_ptr(&names[i]);
    slu_free_ptr(&names);
}

_Noreturn static void
list_dir(struct work *work, const char *path, int64_t depth)
{
    struct stat info;
    if (stat(path, &info) != 0)
        fail_errno(work, path);
    if (!S_ISDIR(info.st_mode))
        fail(work, "invalid_argument", "path '%s' is not a directory", path);
    list_tree(work, path, depth < 1 ? 1 : depth);
    succeed(work);
}

_Noreturn static void
make_dir(struct work *work, const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        fail(work, "already_exists", "directory '%s' already exists", path);
    if (stat(path, &info) == 0)
        fail(work, "invalid_argument", "path '%s' exists and is not a directory", path);
    make_parents(work, path);
    if (mkdir(path, DIRECTORY_MODE) != 0)
        fail_errno(work, path);
    stat_file(work, path);
}

_Noreturn static void
move(struct work *work, const char *path, char *destination)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        fail_errno(work, path);
    make_parents(work, destination);
    if (rename(path, destination) != 0) {
        if (errno != EXDEV)
            fail_errno(work, destination);
        SLU_AUTO_FREE char *source = slu_strdup(path);
        char *const arguments[] = {
            (char[]){"/bin/mv"}, (char[]){"-fT"}, (char[]){"--"}, source, destination, NULL};
        run_tool(work, path, arguments);
    }
    stat_file(work, destination);
}

_Noreturn static void
remove_tree(struct work *work, char *path)
{
    char *const arguments[] = {(char[]){"/bin/rm"}, (char[]){"-rf"}, (char[]){"--"}, path, NULL};
    if (unlink(path) != 0 && errno != ENOENT)
        run_tool(work, path, arguments);
    succeed(work);
}

_Noreturn void
slu_files_work(int socket, int descriptor, struct slu_init_reader request)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(WORK_SECONDS_MAX);

    struct work work = {.socket = socket, .descriptor = descriptor};
    char *path = slu_init_text(request, SLU_INIT_F_PATH);
    char *destination = slu_init_text(request, SLU_INIT_F_DESTINATION);
    if (!path || path[0] != '/' || (destination && destination[0] != '/'))
        fail(&work, "invalid_argument", "path '%s' is not absolute", path ? path : "");

    if (request.type == SLU_INIT_OPEN_FILE)
        open_file(&work, path);
    if (request.type == SLU_INIT_PUT_FILE)
        put_file(&work, path);
    if (request.type == SLU_INIT_STAT)
        stat_file(&work, path);
    if (request.type == SLU_INIT_LIST_DIR)
        list_dir(&work, path, slu_init_number(request, SLU_INIT_F_DEPTH, 1));
    if (request.type == SLU_INIT_MAKE_DIR)
        make_dir(&work, path);
    if (request.type == SLU_INIT_MOVE && destination)
        move(&work, path, destination);
    if (request.type == SLU_INIT_REMOVE)
        remove_tree(&work, path);
    fail(&work, "invalid_argument", "the request lacks a field");
}
