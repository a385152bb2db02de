/* SPDX-License-Identifier: Apache-2.0 */
/* A list of what is refused, not of what is allowed: sandboxes run any program people have. Refused
 * are calls that reach the kernel's less trodden paths and that nothing in a container needs. */
#include "seccomp_filter.h"

#include <seccomp.h>

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const refused[] = {
    "acct",
    "add_key",
    "bpf",
    "clock_adjtime",
    "clock_settime",
    "create_module",
    "delete_module",
    "fanotify_init",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "get_kernel_syms",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "ioperm",
    "iopl",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "mbind",
    "migrate_pages",
    "mount",
    "mount_setattr",
    "move_mount",
    "move_pages",
    "name_to_handle_at",
    "nfsservctl",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "pivot_root",
    "query_module",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "request_key",
    "set_mempolicy",
    "setdomainname",
    "sethostname",
    "setns",
    "settimeofday",
    "swapoff",
    "swapon",
    "syslog",
    "umount",
    "umount2",
    "unshare",
    "userfaultfd",
    "vhangup",
    "vmsplice",
};

static const int families[] = {AF_UNIX, AF_INET, AF_INET6};

/* Namespaces by clone; clone3 hides its flags in memory, so it does not exist (libc falls back). */
static int
refuse_namespaces(scmp_filter_ctx filter)
{
    static const unsigned long flags[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWNET,
                                          CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};
    int failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    for (size_t i = 0; i < SLU_COUNT(flags) && !failed; i++)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
    return failed;
}

/* Typing into the terminal of whoever started us, and odd socket families. */
static int
refuse_arguments(scmp_filter_ctx filter)
{
    int failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                                  SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffU, TIOCSTI));
    if (!failed)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                                  SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffU, TIOCLINUX));

    /* Between two allowed families, and above the last. */
    int next = 0;
    for (size_t i = 0; i < SLU_COUNT(families) && !failed; i++) {
        for (; next < families[i] && !failed; next++)
            failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                                      SCMP_A0(SCMP_CMP_EQ, (unsigned) next, 0));
        next = families[i] + 1;
    }
    if (!failed)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                                  SCMP_A0(SCMP_CMP_GE, (unsigned) next, 0));
    return failed;
}

static int
fill(scmp_filter_ctx filter)
{
    int failed = 0;
    for (size_t i = 0; i < SLU_COUNT(refused) && !failed; i++) {
        const int number = seccomp_syscall_resolve_name(refused[i]);
        if (number != __NR_SCMP_ERROR)
            failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
    }
    if (!failed)
        failed = refuse_namespaces(filter);
    return failed ? failed : refuse_arguments(filter);
}

enum slu_status
slu_host_seccomp_build(int *ret_fd, struct slu_error *reterr)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return slu_fail(reterr, SLU_FATAL, "no seccomp filter");

    int failed = fill(filter);
    const int fd = memfd_create("seccomp", MFD_CLOEXEC);
    if (!failed && fd >= 0)
        failed = seccomp_export_bpf(filter, fd);
    seccomp_release(filter);
    if (failed || fd < 0) {
        if (fd >= 0)
            close(fd);
        return slu_fail(reterr, SLU_FATAL, "building the seccomp filter: %s", strerror(-failed));
    }
    *ret_fd = fd;
    return SLU_OK;
}
