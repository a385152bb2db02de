/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups, both versions. Parents are made below the group this program runs in, so that
 * limits set on the host as a whole hold for its sandboxes too. */
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SETTLE_MS_MAX = 10000, /* For freezing and for the last process to leave. */
    CPU_PERIOD_US = 100000,
};

const char *const slu_cgroup_names[SLU_CGROUP_COUNT] = {
    [SLU_CGROUP_MEMORY] = "memory",
    [SLU_CGROUP_CPU] = "cpu",
    [SLU_CGROUP_PIDS] = "pids",
    [SLU_CGROUP_FREEZER] = "freezer",
};

static void
nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static int
write_text(const char *folder, const char *file, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    const ssize_t written = write(fd, text, strlen(text));
    const int error = errno;
    close(fd);
    errno = error;
    return written < 0 ? -1 : 0;
}

static int
write_number(const char *folder, const char *file, int64_t number)
{
    char text[32];
    snprintf(text, sizeof(text), "%lld", (long long) number);
    return write_text(folder, file, text);
}

static bool
read_text(const char *folder, const char *file, char *ret_text, size_t size)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, ret_text, size - 1);
    if (fd >= 0)
        close(fd);
    ret_text[got > 0 ? got : 0] = '\0';
    return got >= 0;
}

static bool
has_word(const char *list, const char *word, const char *separators)
{
    const size_t size = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += size) {
        const bool starts = at == list || strchr(separators, at[-1]);
        const bool ends = at[size] == '\0' || strchr(separators, at[size]);
        if (starts && ends)
            return true;
    }
    return false;
}

/* Where `controller` (NULL: version 2) is mounted. */
static bool
find_mount(const char *controller, char ret_mount[PATH_MAX])
{
    char line[2 * PATH_MAX];
    bool found = false;
    FILE *mounts = fopen("/proc/self/mounts", "re");
    while (mounts && !found && fgets(line, sizeof(line), mounts)) {
        char point[PATH_MAX], type[64], options[1024];
        if (sscanf(line, "%*s %4095s %63s %1023s", point, type, options) != 3)
            continue;
        found = controller ? strcmp(type, "cgroup") == 0 && has_word(options, controller, ",")
                           : strcmp(type, "cgroup2") == 0;
        if (found)
            snprintf(ret_mount, PATH_MAX, "%s", point);
    }
    if (mounts)
        fclose(mounts);
    return found;
}

/* The group this process is in: "/" or "/a/b". */
static bool
find_own(const char *controller, char ret_path[PATH_MAX])
{
    char line[PATH_MAX + 256];
    bool found = false;
    FILE *groups = fopen("/proc/self/cgroup", "re");
    while (groups && !found && fgets(line, sizeof(line), groups)) {
        char *names = strchr(line, ':');
        char *path = names ? strchr(names + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        found = controller ? has_word(names + 1, controller, ",") : names[1] == '\0';
        if (found)
            snprintf(ret_path, PATH_MAX, "%s", path);
    }
    if (groups)
        fclose(groups);
    return found;
}

static bool
make_parent(const char *mount, const char *own, const char *name, char ret_parent[1024])
{
    const int size =
        snprintf(ret_parent, 1024, "%s%s/%s", mount, strcmp(own, "/") ? own : "", name);
    return size < 1024 && (mkdir(ret_parent, 0755) == 0 || errno == EEXIST) &&
           access(ret_parent, W_OK) == 0;
}

static void
probe_version_1(struct slu_cgroups *cgroups, enum slu_cgroup_controller which, const char *name)
{
    char mount[PATH_MAX], own[PATH_MAX];
    if (find_mount(slu_cgroup_names[which], mount) && find_own(slu_cgroup_names[which], own) &&
        make_parent(mount, own, name, cgroups->parent[which]))
        cgroups->version[which] = 1;
}

/* Version 2 wants no process in a group whose children have controllers, so this process moves to
 * a leaf of its own first. */
static void
probe_version_2(struct slu_cgroups *cgroups, const char *name)
{
    char mount[PATH_MAX], own[PATH_MAX], group[PATH_MAX], parent[1024], controllers[1024];
    if (!find_mount(NULL, mount) || !find_own(NULL, own))
        return;
    snprintf(group, sizeof(group), "%s%s", mount, strcmp(own, "/") ? own : "");
    if (!read_text(group, "cgroup.controllers", controllers, sizeof(controllers)) ||
        !make_parent(mount, own, name, parent))
        return;

    char leaf[PATH_MAX];
    snprintf(leaf, sizeof(leaf), "%s/%s", parent, "host");
    if (strcmp(own, "/") != 0 && mkdir(leaf, 0755) == 0)
        write_text(leaf, "cgroup.procs", "0");
    for (int i = 0; i < SLU_CGROUP_FREEZER; i++) {
        char enable[32];
        snprintf(enable, sizeof(enable), "+%s", slu_cgroup_names[i]);
        if (!has_word(controllers, slu_cgroup_names[i], " \n") ||
            write_text(group, "cgroup.subtree_control", enable) != 0 ||
            write_text(parent, "cgroup.subtree_control", enable) != 0)
            continue;
        snprintf(cgroups->parent[i], sizeof(cgroups->parent[i]), "%s", parent);
        cgroups->version[i] = 2;
    }
    char freezer[8];
    snprintf(leaf, sizeof(leaf), "%s/probe", parent);
    mkdir(leaf, 0755);
    if (read_text(leaf, "cgroup.freeze", freezer, sizeof(freezer))) {
        snprintf(cgroups->parent[SLU_CGROUP_FREEZER], 1024, "%s", parent);
        cgroups->version[SLU_CGROUP_FREEZER] = 2;
    }
    rmdir(leaf);
}

void
slu_cgroups_probe(struct slu_cgroups *ret_cgroups, const char *name)
{
    *ret_cgroups = (struct slu_cgroups){0};
    for (int i = 0; i < SLU_CGROUP_COUNT; i++)
        probe_version_1(ret_cgroups, (enum slu_cgroup_controller) i, name);
    if (!ret_cgroups->version[SLU_CGROUP_MEMORY] && !ret_cgroups->version[SLU_CGROUP_FREEZER])
        probe_version_2(ret_cgroups, name);
}

static void
group_path(const struct slu_cgroups *cgroups, int which, const char *id, char ret_path[PATH_MAX])
{
    snprintf(ret_path, PATH_MAX, "%s/%s", cgroups->parent[which], id);
}

/* True for the first controller that lives in its folder: version 2 has one folder for all. */
static bool
is_first(const struct slu_cgroups *cgroups, int which)
{
    if (!cgroups->version[which])
        return false;
    for (int i = 0; i < which; i++) {
        if (strcmp(cgroups->parent[i], cgroups->parent[which]) == 0)
            return false;
    }
    return true;
}

static int
set_limit(int version, int which, const char *group, const struct slu_cgroup_limits *limits)
{
    char text[64];
    if (which == SLU_CGROUP_MEMORY && version == 1) {
        const int failed = write_number(group, "memory.limit_in_bytes", limits->memory_bytes);
        /* Swap counts too, where the kernel counts it at all. */
        write_number(group, "memory.memsw.limit_in_bytes", limits->memory_bytes);
        return failed;
    }
    if (which == SLU_CGROUP_MEMORY) {
        write_text(group, "memory.swap.max", "0");
        return write_number(group, "memory.max", limits->memory_bytes);
    }
    if (which == SLU_CGROUP_CPU && version == 1)
        return write_number(group, "cpu.cfs_quota_us", limits->cpu_percent * CPU_PERIOD_US / 100);
    if (which == SLU_CGROUP_CPU) {
        snprintf(text, sizeof(text), "%lld %d",
                 (long long) (limits->cpu_percent * CPU_PERIOD_US / 100), CPU_PERIOD_US);
        return write_text(group, "cpu.max", text);
    }
    return which == SLU_CGROUP_PIDS ? write_number(group, "pids.max", limits->processes) : 0;
}

enum slu_status
slu_cgroup_make(const struct slu_cgroups *cgroups,
                const char *id,
                const struct slu_cgroup_limits *limits,
                struct slu_error *reterr)
{
    for (int i = 0; i < SLU_CGROUP_COUNT; i++) {
        char group[PATH_MAX];
        if (!cgroups->version[i])
            continue;
        group_path(cgroups, i, id, group);
        if ((mkdir(group, 0755) != 0 && errno != EEXIST) ||
            set_limit(cgroups->version[i], i, group, limits) != 0)
            return slu_fail(reterr, SLU_RETRY, "control group '%s': %s", group, strerror(errno));
    }
    return SLU_OK;
}

void
slu_cgroup_open_entries(const struct slu_cgroups *cgroups,
                        const char *id,
                        int ret_fds[SLU_CGROUP_COUNT])
{
    for (int i = 0; i < SLU_CGROUP_COUNT; i++) {
        char group[PATH_MAX], path[PATH_MAX];
        group_path(cgroups, i, id, group);
        snprintf(path, sizeof(path), "%s/cgroup.procs", group);
        ret_fds[i] = is_first(cgroups, i) ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    }
}

static bool
is_settled(int version, const char *group, bool frozen)
{
    char text[256];
    if (version == 1)
        return read_text(group, "freezer.state", text, sizeof(text)) &&
               strncmp(text, frozen ? "FROZEN" : "THAWED", 6) == 0;
    return read_text(group, "cgroup.events", text, sizeof(text)) &&
           strstr(text, frozen ? "frozen 1" : "frozen 0");
}

enum slu_status
slu_cgroup_freeze(const struct slu_cgroups *cgroups,
                  const char *id,
                  bool frozen,
                  struct slu_error *reterr)
{
    const int version = cgroups->version[SLU_CGROUP_FREEZER];
    char group[PATH_MAX];
    group_path(cgroups, SLU_CGROUP_FREEZER, id, group);
    if (!version)
        return slu_fail(reterr, SLU_NOT_FOUND, "no freezer");

    for (int i = 0; i < SETTLE_MS_MAX; i++) {
        /* Version 1 may stay FREEZING until it is asked again. */
        const int failed = version == 1
                               ? write_text(group, "freezer.state", frozen ? "FROZEN" : "THAWED")
                               : write_text(group, "cgroup.freeze", frozen ? "1" : "0");
        if (failed)
            return slu_fail(reterr, SLU_RETRY, "freezer '%s': %s", group, strerror(errno));
        if (is_settled(version, group, frozen))
            return SLU_OK;
        nap();
    }
    return slu_fail(reterr, SLU_RETRY, "freezer '%s' did not settle", group);
}

static void
kill_members(const char *group)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/cgroup.procs", group);
    FILE *members = fopen(path, "re");
    char line[32];
    while (members && fgets(line, sizeof(line), members)) {
        const pid_t pid = (pid_t) strtol(line, NULL, 10);
        if (pid > 1)
            kill(pid, SIGKILL);
    }
    if (members)
        fclose(members);
}

static enum slu_status
remove_group(const char *group, struct slu_error *reterr)
{
    for (int i = 0; i < SETTLE_MS_MAX; i++) {
        if (rmdir(group) == 0 || errno == ENOENT)
            return SLU_OK;
        if (errno != EBUSY)
            break;
        kill_members(group);
        nap();
    }
    return slu_fail(reterr, SLU_RETRY, "removing control group '%s': %s", group, strerror(errno));
}

enum slu_status
slu_cgroup_remove(const struct slu_cgroups *cgroups, const char *id, struct slu_error *reterr)
{
    enum slu_status status = SLU_OK;
    /* Version 1 delivers no kill to what is frozen; without a freezer nothing is. */
    const enum slu_status thawed = slu_cgroup_freeze(cgroups, id, false, NULL);
    (void) thawed;
    for (int i = 0; i < SLU_CGROUP_COUNT; i++) {
        char group[PATH_MAX];
        if (!is_first(cgroups, i))
            continue;
        group_path(cgroups, i, id, group);
        const enum slu_status removed = remove_group(group, reterr);
        status = removed ? removed : status;
    }
    return status;
}

void
slu_cgroups_each(const struct slu_cgroups *cgroups,
                 void (*visit)(void *context, const char *id),
                 void *context)
{
    for (int i = 0; i < SLU_CGROUP_COUNT; i++) {
        DIR *folder = is_first(cgroups, i) ? opendir(cgroups->parent[i]) : NULL;
        const struct dirent *entry;
        while (folder && (entry = readdir(folder))) {
            if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
                strcmp(entry->d_name, "host") != 0)
                visit(context, entry->d_name);
        }
        if (folder)
            closedir(folder);
    }
}

int64_t
slu_cgroup_oom_kills(const struct slu_cgroups *cgroups, const char *id)
{
    const int version = cgroups->version[SLU_CGROUP_MEMORY];
    char group[PATH_MAX], text[1024];
    group_path(cgroups, SLU_CGROUP_MEMORY, id, group);
    if (!version || !read_text(group, version == 1 ? "memory.oom_control" : "memory.events", text,
                               sizeof(text)))
        return 0;
    const char *at = strstr(text, "oom_kill ");
    return at ? strtoll(at + strlen("oom_kill "), NULL, 10) : 0;
}
