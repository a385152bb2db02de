/* SPDX-License-Identifier: Apache-2.0 */
/* bubblewrap's command line and what surrounds it. As root each sandbox runs as a user id that
 * nothing else has: bubblewrap is started as that user, so the user namespace maps it to `user` and
 * an escape finds itself without rights. That user cannot walk to the state folder, so what it
 * needs is first mounted where it can: on /tmp, in a mount namespace of the launch alone. */
#include "spawn.h"

#include "atomic_file.h"
#include "init_wire.h"
#include "slu/base/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    READY_MS_MAX = 20000,
    GONE_MS_MAX = 20000,
    OPEN_FILES_MAX = 65536,
    SECCOMP_FD = 5,
    ARGUMENTS_MAX = 160,
};

static const char staging[] = "/tmp";

/* Of the machine's /etc: what programs need in order to start and to trust certificates. */
static const char *const shared_etc[] = {
    "alternatives", "ca-certificates", "ca-certificates.conf",
    "fonts",        "java-17-openjdk", "ld.so.cache",
    "ld.so.conf",   "ld.so.conf.d",    "localtime",
    "mime.types",   "protocols",       "services",
    "ssl",          "terminfo",        "timezone",
};

static const char *const own_etc[] = {"passwd", "group", "hosts", "nsswitch.conf", "resolv.conf"};

struct arguments {
    char *list[ARGUMENTS_MAX];
    size_t count;
};

static void
add(struct arguments *arguments, const char *text)
{
    if (arguments->count + 1 >= ARGUMENTS_MAX)
        abort();
    arguments->list[arguments->count++] = slu_strdup(text);
}

static void
add_all(struct arguments *arguments, const char *const *texts)
{
    for (; *texts; texts++)
        add(arguments, *texts);
}

static void
add_mount(struct arguments *arguments, const char *how, const char *source, const char *target)
{
    add(arguments, how);
    add(arguments, source);
    add(arguments, target);
}

static void
arguments_done(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        slu_free_ptr(&arguments->list[i]);
}

static void
add_etc(struct arguments *arguments, const char *system)
{
    char source[PATH_MAX], target[PATH_MAX];
    for (size_t i = 0; i < SLU_COUNT(shared_etc); i++) {
        snprintf(target, sizeof(target), "/etc/%s", shared_etc[i]);
        add_mount(arguments, "--ro-bind-try", target, target);
    }
    for (size_t i = 0; i < SLU_COUNT(own_etc); i++) {
        snprintf(source, sizeof(source), "%s/%s", system, own_etc[i]);
        snprintf(target, sizeof(target), "/etc/%s", own_etc[i]);
        add_mount(arguments, "--ro-bind", source, target);
    }
}

static void
build_arguments(struct arguments *arguments,
                const struct slu_spawner *spawner,
                const struct slu_spawn *spawn)
{
    static const char *const isolation[] = {
        "--unshare-user", "--unshare-pid", "--unshare-ipc",
        "--unshare-uts",  "--unshare-net", "--unshare-cgroup-try",
        "--uid",          "1000",          "--gid",
        "1000",           "--hostname",    "sandbox",
        "--clearenv",     "--cap-drop",    "ALL",
        "--as-pid-1",     "--new-session", NULL};
    static const char *const system[] = {
        "--ro-bind", "/usr",      "/usr",         "--symlink", "usr/bin",   "/bin",
        "--symlink", "usr/sbin",  "/sbin",        "--symlink", "usr/lib",   "/lib",
        "--symlink", "usr/lib64", "/lib64",       "--symlink", "usr/lib32", "/lib32",
        "--proc",    "/proc",     "--dev",        "/dev",      "--size",    "67108864",
        "--tmpfs",   "/dev/shm",  "--remount-ro", "/dev",      "--dir",     "/run",
        "--dir",     "/var",      "--symlink",    "/tmp",      "/var/tmp",  NULL};
    char source[PATH_MAX];
    const char *from = spawner->root ? staging : spawn->folder;

    add(arguments, spawner->bubblewrap);
    add_all(arguments, isolation);
    add_all(arguments, system);
    if (spawner->root)
        snprintf(source, sizeof(source), "%s/system", staging);
    else
        snprintf(source, sizeof(source), "%s", spawner->system);
    add_etc(arguments, source);

    snprintf(source, sizeof(source), "%s/home", from);
    add_mount(arguments, "--bind", source, "/home/user");
    snprintf(source, sizeof(source), "%s/tmp", from);
    add_mount(arguments, "--bind", source, "/tmp");
    if (spawner->root)
        snprintf(source, sizeof(source), "%s/init", staging);
    else
        snprintf(source, sizeof(source), "%s", spawner->init);
    add_mount(arguments, "--ro-bind", source, "/run/sandbox-init");

    static const char *const rest[] = {
        "--remount-ro",      "/", "--chdir", "/home/user", "--seccomp", "5", "--",
        "/run/sandbox-init", NULL};
    static_assert(SECCOMP_FD == 5, "the number in `rest`");
    add_all(arguments, rest);
}

/* Everything the child needs, opened by the parent: after fork it only makes system calls. */
struct launch {
    const struct slu_spawner *spawner;
    const struct slu_spawn *spawn;
    struct arguments arguments;
    int entries[SLU_CGROUP_COUNT];
    char home[1300];
    char tmp[1300];
    int boot[2]; /* Ours, the init's. */
    int control;
    int seccomp;
    int log;
};

static void
close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void
launch_done(struct launch *launch)
{
    for (int i = 0; i < SLU_CGROUP_COUNT; i++)
        close_fd(&launch->entries[i]);
    close_fd(&launch->boot[0]);
    close_fd(&launch->boot[1]);
    close_fd(&launch->control);
    close_fd(&launch->seccomp);
    close_fd(&launch->log);
    arguments_done(&launch->arguments);
}

static void
limit(int resource, rlim_t value)
{
    const struct rlimit both = {.rlim_cur = value, .rlim_max = value};
    setrlimit(resource, &both);
}

static void
set_limits(const struct launch *launch)
{
    const struct slu_cgroups *cgroups = &launch->spawner->cgroups;
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, OPEN_FILES_MAX);
    limit(RLIMIT_FSIZE, (rlim_t) launch->spawn->disk_mb << 20);
    limit(RLIMIT_MEMLOCK, 8 << 20);
    /* Weaker than groups, better than nothing: per process, and per user id. */
    if (!cgroups->version[SLU_CGROUP_MEMORY])
        limit(RLIMIT_AS, (rlim_t) launch->spawn->memory_mb << 20);
    if (!cgroups->version[SLU_CGROUP_PIDS] && launch->spawner->root)
        limit(RLIMIT_NPROC, (rlim_t) launch->spawn->processes);
}

static bool
bind_fd(int fd, const char *target)
{
    char source[64];
    snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
    return fd >= 0 && mount(source, target, NULL, MS_BIND, NULL) == 0;
}

/* The sources are opened in the new namespace (a mount of another cannot be bound) and before
 * /tmp is covered (they may be below it). */
static bool
stage(const struct launch *launch)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return false;
    const int home = open(launch->home, O_PATH);
    const int tmp = open(launch->tmp, O_PATH);
    const int system = open(launch->spawner->system, O_PATH);
    const int init = open(launch->spawner->init, O_PATH);

    if (mount("tmpfs", staging, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711,size=64k") != 0 ||
        mkdir("/tmp/home", 0755) != 0 || mkdir("/tmp/tmp", 0755) != 0 ||
        mkdir("/tmp/system", 0755) != 0)
        return false;
    const int file = open("/tmp/init", O_WRONLY | O_CREAT, 0755);
    return file >= 0 && bind_fd(home, "/tmp/home") && bind_fd(tmp, "/tmp/tmp") &&
           bind_fd(system, "/tmp/system") && bind_fd(init, "/tmp/init");
}

/* The raw calls: libc's would signal the host's threads, which a forked child does not have. */
static bool
become_user(int64_t uid)
{
    return syscall(SYS_setgroups, 0, NULL) == 0 && syscall(SYS_setresgid, uid, uid, uid) == 0 &&
           syscall(SYS_setresuid, uid, uid, uid) == 0;
}

static void
place_fd(int from, int to)
{
    if (dup2(from, to) < 0)
        _exit(126);
}

_Noreturn static void
run_child(const struct launch *launch)
{
    static char *no_environment[] = {NULL};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);

    umask(S_IWGRP | S_IWOTH); /* The host's own is stricter. */
    place_fd(launch->log, 2);
    setsid();
    for (int i = 0; i < SLU_CGROUP_COUNT; i++) {
        if (launch->entries[i] >= 0 && write(launch->entries[i], "0", 1) != 1) {
            dprintf(2, "joining control group %s: %s\n", slu_cgroup_names[i], strerror(errno));
            _exit(126);
        }
    }
    set_limits(launch);
    if (launch->spawner->root &&
        (!stage(launch) || !become_user(launch->spawner->uid_base + launch->spawn->slot))) {
        dprintf(2, "preparing the launch: %s\n", strerror(errno));
        _exit(126);
    }
    if (chdir("/") != 0)
        _exit(126);

    /* First out of the way, then to their numbers: the sources may hold the targets. */
    const int boot = fcntl(launch->boot[1], F_DUPFD, 20);
    const int control = fcntl(launch->control, F_DUPFD, 20);
    const int seccomp = fcntl(launch->seccomp, F_DUPFD, 20);
    const int null = open("/dev/null", O_RDWR);
    place_fd(null, 0);
    place_fd(null, 1);
    place_fd(boot, SLU_INIT_BOOT_FD);
    place_fd(control, SLU_INIT_CONTROL_FD);
    place_fd(seccomp, SECCOMP_FD);
    close_range(SECCOMP_FD + 1, ~0U, 0);
    execve(launch->arguments.list[0], launch->arguments.list, no_environment);
    dprintf(2, "%s: %s\n", launch->arguments.list[0], strerror(errno));
    _exit(127);
}

/* Unix socket addresses are short and state folders long, so names go through a descriptor. */
static bool
control_address(const char *folder, int *ret_folder_fd, struct sockaddr_un *ret_address)
{
    *ret_folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(ret_address->sun_path, sizeof(ret_address->sun_path), "/proc/self/fd/%d/control.sock",
             *ret_folder_fd);
    return *ret_folder_fd >= 0;
}

static int
bind_control(const char *folder)
{
    int folder_fd;
    struct sockaddr_un address;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool bound = control_address(folder, &folder_fd, &address) && fd >= 0 &&
                       bind(fd, (struct sockaddr *) &address, sizeof(address)) == 0;
    const int error = errno;
    close_fd(&folder_fd);
    if (bound)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

int
slu_spawn_connect(const char *folder)
{
    int folder_fd;
    struct sockaddr_un address;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool connected = control_address(folder, &folder_fd, &address) && fd >= 0 &&
                           connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0;
    const int error = errno;
    close_fd(&folder_fd);
    if (connected)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

static enum slu_status
make_folders(const struct slu_spawner *spawner,
             const struct slu_spawn *spawn,
             struct slu_error *reterr)
{
    static const char *const names[] = {"home", "tmp"};
    for (size_t i = 0; i < SLU_COUNT(names); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", spawn->folder, names[i]);
        const enum slu_status status = slu_host_folder_make(path, 0755, reterr);
        if (status)
            return status;
        const unsigned uid = (unsigned) (spawner->uid_base + spawn->slot);
        if (spawner->root && chown(path, uid, uid) != 0)
            return slu_fail(reterr, SLU_RETRY, "giving '%s' to user %u: %s", path, uid,
                            strerror(errno));
    }
    return SLU_OK;
}

static enum slu_status
open_launch(struct launch *launch,
            const struct slu_spawner *spawner,
            const struct slu_spawn *spawn,
            struct slu_error *reterr)
{
    char path[PATH_MAX];
    *launch = (struct launch){.spawner = spawner, .spawn = spawn, .boot = {-1, -1}};
    build_arguments(&launch->arguments, spawner, spawn);
    slu_cgroup_open_entries(&spawner->cgroups, spawn->id, launch->entries);
    snprintf(launch->home, sizeof(launch->home), "%s/home", spawn->folder);
    snprintf(launch->tmp, sizeof(launch->tmp), "%s/tmp", spawn->folder);
    launch->control = bind_control(spawn->folder);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", spawner->seccomp_fd);
    launch->seccomp = open(path, O_RDONLY | O_CLOEXEC); /* A position of its own. */
    snprintf(path, sizeof(path), "%s/boot.log", spawn->folder);
    launch->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    const int on = 1;
    const bool paired = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, launch->boot) == 0 &&
                        setsockopt(launch->boot[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0;
    if (paired && launch->control >= 0 && launch->seccomp >= 0 && launch->log >= 0)
        return SLU_OK;
    return slu_fail(reterr, SLU_RETRY, "preparing the start of %s: %s", spawn->id, strerror(errno));
}

/* The init's first byte, with its process id as our namespace knows it. */
static pid_t
await_ready(int boot)
{
    char byte;
    char control[CMSG_SPACE(sizeof(struct ucred))];
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    struct pollfd readable = {.fd = boot, .events = POLLIN};
    if (poll(&readable, 1, READY_MS_MAX) != 1 || recvmsg(boot, &message, MSG_CMSG_CLOEXEC) != 1)
        return -1;

    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_type != SCM_CREDENTIALS)
        return -1;
    struct ucred sender;
    memcpy(&sender, CMSG_DATA(header), sizeof(sender));
    return sender.pid;
}

static enum slu_status
fail_with_log(const struct slu_spawn *spawn, struct slu_error *reterr)
{
    char path[PATH_MAX];
    SLU_AUTO_FREE char *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "%s/boot.log", spawn->folder);
    const enum slu_status read = slu_host_file_read(path, 65536, &text, &size, NULL);
    if (read || size == 0)
        return slu_fail(reterr, SLU_RETRY, "the sandbox did not start within %d s",
                        READY_MS_MAX / 1000);
    text[strcspn(text, "\n")] = '\0';
    return slu_fail(reterr, SLU_RETRY, "the sandbox did not start: %s", text);
}

enum slu_status
slu_spawn_start(const struct slu_spawner *spawner,
                const struct slu_spawn *spawn,
                struct slu_spawned *ret_spawned,
                struct slu_error *reterr)
{
    const struct slu_cgroup_limits limits = {
        .memory_bytes = spawn->memory_mb << 20,
        .cpu_percent = spawn->cpu_percent,
        .processes = spawn->processes,
    };
    struct launch launch = {0};
    struct slu_spawned spawned = {.pidfd = -1, .boot = -1};
    *ret_spawned = spawned;

    enum slu_status status = make_folders(spawner, spawn, reterr);
    if (!status)
        status = slu_cgroup_make(&spawner->cgroups, spawn->id, &limits, reterr);
    if (status)
        return status;
    status = open_launch(&launch, spawner, spawn, reterr);
    if (status) {
        launch_done(&launch);
        return status;
    }

    spawned.monitor = fork();
    if (spawned.monitor == 0)
        run_child(&launch);
    spawned.boot = launch.boot[0];
    launch.boot[0] = -1;
    launch_done(&launch); /* Also our copy of the init's end, so that its death is seen. */

    spawned.init = spawned.monitor > 0 ? await_ready(spawned.boot) : -1;
    spawned.pidfd = spawned.init > 0 ? pidfd_open(spawned.init, 0) : -1;
    if (spawned.pidfd >= 0) {
        *ret_spawned = spawned;
        return SLU_OK;
    }

    status = fail_with_log(spawn, reterr);
    if (spawned.monitor > 0)
        kill(spawned.monitor, SIGKILL);
    close_fd(&spawned.boot); /* An init that is late after all ends by this. */
    const enum slu_status ended = slu_spawn_end(spawner, spawn->id, &spawned, NULL);
    (void) ended; /* What could not be removed is found by the next start. */
    return status;
}

enum slu_status
slu_spawn_go(struct slu_spawned *spawned, const struct slu_buffer *go, struct slu_error *reterr)
{
    size_t sent = 0;
    while (sent < go->size) {
        const ssize_t got = send(spawned->boot, go->data + sent, go->size - sent, MSG_NOSIGNAL);
        if (got < 0 && errno != EINTR)
            return slu_fail(reterr, SLU_RETRY, "telling the sandbox to go: %s", strerror(errno));
        sent += got > 0 ? (size_t) got : 0;
    }
    close_fd(&spawned->boot);
    return SLU_OK;
}

enum slu_status
slu_spawn_find(const char *folder, struct slu_spawned *ret_spawned, struct slu_error *reterr)
{
    *ret_spawned = (struct slu_spawned){.pidfd = -1, .boot = -1};
    struct ucred listener = {0};
    socklen_t size = sizeof(listener);
    const int fd = slu_spawn_connect(folder);
    if (fd < 0 && errno != ECONNREFUSED && errno != ENOENT)
        return slu_fail(reterr, SLU_RETRY, "control socket in '%s': %s", folder, strerror(errno));
    if (fd < 0)
        return slu_fail(reterr, SLU_NOT_FOUND, "no init listens in '%s'", folder);

    /* Who called listen(): a socket cannot lie about that, a stored pid could be someone else's. */
    const int failed = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &listener, &size);
    close(fd);
    ret_spawned->pidfd = failed || listener.pid <= 0 ? -1 : pidfd_open(listener.pid, 0);
    if (ret_spawned->pidfd < 0)
        return slu_fail(reterr, SLU_NOT_FOUND, "the init in '%s' has just gone", folder);
    ret_spawned->init = listener.pid;
    return SLU_OK;
}

enum slu_status
slu_spawn_end(const struct slu_spawner *spawner,
              const char *id,
              struct slu_spawned *spawned,
              struct slu_error *reterr)
{
    enum slu_status status = SLU_OK;
    if (spawned->pidfd >= 0) {
        pidfd_send_signal(spawned->pidfd, SIGKILL, NULL, 0);
        const enum slu_status thawed =
            slu_cgroup_freeze(&spawner->cgroups, id, false, NULL); /* The kill arrives after it. */
        (void) thawed;
        struct pollfd gone = {.fd = spawned->pidfd, .events = POLLIN};
        if (poll(&gone, 1, GONE_MS_MAX) != 1)
            status = slu_fail(reterr, SLU_RETRY, "sandbox %s is still dying", id);
        close_fd(&spawned->pidfd);
    }
    if (spawned->monitor > 0 && !status)
        waitpid(spawned->monitor, NULL, 0);
    spawned->monitor = 0;

    const enum slu_status removed =
        slu_cgroup_remove(&spawner->cgroups, id, status ? NULL : reterr);
    return status ? status : removed;
}
