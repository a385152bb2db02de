/* SPDX-License-Identifier: Apache-2.0 */
/* sluice-host: wiring, in order. Start: settings, the state folder and its lock, keys and fences,
 * what can be isolated and limited here, the sandboxes of the run before, and only then the door.
 * Stop: the sandboxes live on. */
#include "atomic_file.h"
#include "auth.h"
#include "cgroup_store.h"
#include "host.h"
#include "lifecycle.h"
#include "seccomp_filter.h"
#include "server.h"
#include "slu/base/hash.h"
#include "slu/base/log.h"
#include "slu/base/memory.h"
#include "stream.h"
#include "unary.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TICK_MS = 1000,
    EXPIRE_TICKS = 60,
    IDLE_CHECK_MS = 50,
    STOP_MS_MAX = 5000,
};

static const struct {
    const char *name;
    const char *text;
} system_files[] = {
    {"passwd", "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:/home/user:/bin/bash\n"
               "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n"},
    {"hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"},
    {"nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"},
    {"resolv.conf", ""},
};

static void
print_help(void)
{
    printf(
        "sluice-host: sandboxes on this machine, behind the HTTP API that the e2b SDKs speak.\n"
        "\n"
        "  sluice-host [--state-dir DIR] [--listen 127.0.0.1:4980] [SETTING…]\n"
        "\n"
        "Each sandbox is a set of namespaces made by bubblewrap, without network, with a private\n"
        "/home/user and /tmp, under limits where this machine allows them. Sandboxes outlive this\n"
        "program: a restart, even after kill -9, finds them again. As root every sandbox runs as\n"
        "a user id of its own; otherwise as yours.\n"
        "\n"
        "Try it:\n"
        "  sluice-host --state-dir /tmp/sluice-host &\n"
        "  key=$(cat /tmp/sluice-host/api-key)\n"
        "  curl -H \"X-API-Key: $key\" -d '{\"templateID\":\"base\"}' "
        "http://127.0.0.1:4980/v2/sandboxes\n"
        "or with an SDK: E2B_API_KEY=$key E2B_API_URL=http://127.0.0.1:4980 "
        "E2B_SANDBOX_URL=http://127.0.0.1:4980\n"
        "\n"
        "Settings (flag > variable > member of the --config file > default):\n");
    slu_host_config_help(stdout);
    printf("\nsluice-host(8) and host/README.md tell the rest.\n");
}

static enum slu_status
prepare_folders(struct slu_host *host, struct slu_error *reterr)
{
    char *resolved;
    struct slu_host_sandboxes *sandboxes = &host->sandboxes;
    enum slu_status status = slu_host_folder_make(host->config.state_dir, 0700, reterr);
    if (status)
        return status;
    resolved = realpath(host->config.state_dir, NULL);
    if (!resolved || strlen(resolved) > 900) {
        free(resolved);
        return slu_fail(reterr, SLU_INVALID, "--state-dir '%s': %s", host->config.state_dir,
                        resolved ? "too long" : strerror(errno));
    }
    snprintf(host->config.state_dir, sizeof(host->config.state_dir), "%s", resolved);
    free(resolved);

    snprintf(sandboxes->folder, sizeof(sandboxes->folder), "%.900s/sandboxes",
             host->config.state_dir);
    snprintf(sandboxes->trash, sizeof(sandboxes->trash), "%.900s/trash", host->config.state_dir);
    snprintf(host->spawner.system, sizeof(host->spawner.system), "%.900s/system",
             host->config.state_dir);
    status = slu_host_folder_make(sandboxes->folder, 0700, reterr);
    if (!status)
        status = slu_host_folder_make(sandboxes->trash, 0700, reterr);
    if (!status)
        status = slu_host_folder_make(host->spawner.system, 0755, reterr);
    if (!status && chmod(host->spawner.system, 0755) != 0) /* The umask is stricter. */
        status = slu_fail(reterr, SLU_FATAL, "'%s': %s", host->spawner.system, strerror(errno));
    for (size_t i = 0; i < SLU_COUNT(system_files) && !status; i++) {
        char path[PATH_MAX];
        status = slu_host_file_write(host->spawner.system, system_files[i].name,
                                     system_files[i].text, strlen(system_files[i].text), reterr);
        snprintf(path, sizeof(path), "%s/%s", host->spawner.system, system_files[i].name);
        if (!status && chmod(path, 0644) != 0)
            status = slu_fail(reterr, SLU_FATAL, "'%s': %s", path, strerror(errno));
    }
    return status;
}

/* Two hosts on one state folder would each end what the other starts. */
static enum slu_status
lock_state(const struct slu_host *host, struct slu_error *reterr)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/lock", host->config.state_dir);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return SLU_OK; /* Held open until the process ends. */
    return slu_fail(reterr, SLU_FATAL, "'%s': %s", path,
                    errno == EWOULDBLOCK ? "another sluice-host uses this state folder"
                                         : strerror(errno));
}

static enum slu_status
prepare_spawner(struct slu_host *host, struct slu_error *reterr)
{
    struct slu_spawner *spawner = &host->spawner;
    char name[32] = "sluice-";
    char hash[SLU_SHA256_HEX_SIZE];
    slu_sha256_hex(host->config.state_dir, strlen(host->config.state_dir), hash);
    memcpy(name + strlen("sluice-"), hash, 12);

    spawner->root = geteuid() == 0;
    spawner->uid_base = host->config.uid_base;
    snprintf(spawner->bubblewrap, sizeof(spawner->bubblewrap), "%s", host->config.bubblewrap);
    snprintf(spawner->init, sizeof(spawner->init), "%s", host->config.init);
    if (!spawner->init[0]) {
        char self[900] = "";
        const ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
        char *slash = size > 0 ? strrchr(self, '/') : NULL;
        if (slash)
            *slash = '\0';
        snprintf(spawner->init, sizeof(spawner->init), "%s/sluice-sandbox-init", self);
    }
    if (access(spawner->bubblewrap, X_OK) != 0) {
        return slu_fail(reterr, SLU_FATAL,
                        "--bubblewrap '%s': %s (the package is called bubblewrap)",
                        spawner->bubblewrap, strerror(errno));
    }
    if (access(spawner->init, X_OK) != 0)
        return slu_fail(reterr, SLU_FATAL, "--init '%s': %s", spawner->init, strerror(errno));
    if (!slu_cgroups_recall(host->config.state_dir, &spawner->cgroups))
        slu_cgroups_probe(&spawner->cgroups, name);
    const enum slu_status kept =
        slu_cgroups_remember(host->config.state_dir, &spawner->cgroups, reterr);
    if (kept)
        return kept;
    return slu_host_seccomp_build(&spawner->seccomp_fd, reterr);
}

static const char *
group_text(const struct slu_cgroups *cgroups, enum slu_cgroup_controller which)
{
    static const char *const words[] = {"none", "cgroup1", "cgroup2"};
    return words[cgroups->version[which]];
}

static void
say_what_holds(const struct slu_host *host)
{
    const struct slu_cgroups *cgroups = &host->spawner.cgroups;
    SLU_LOG(INFO, "isolation", SLU_TEXT("user", host->spawner.root ? "one per sandbox" : "shared"),
            SLU_TEXT("memory", group_text(cgroups, SLU_CGROUP_MEMORY)),
            SLU_TEXT("cpu", group_text(cgroups, SLU_CGROUP_CPU)),
            SLU_TEXT("processes", group_text(cgroups, SLU_CGROUP_PIDS)),
            SLU_TEXT("freezer", group_text(cgroups, SLU_CGROUP_FREEZER)),
            SLU_TEXT("disk", "per file only"));
    for (int i = 0; i < SLU_CGROUP_COUNT; i++) {
        if (!cgroups->version[i]) {
            SLU_LOG(WARN, "no_control_group", SLU_TEXT("controller", slu_cgroup_names[i]),
                    SLU_TEXT("instead", i == SLU_CGROUP_FREEZER  ? "signals"
                                        : i == SLU_CGROUP_CPU    ? "nothing"
                                        : i == SLU_CGROUP_MEMORY ? "rlimit per process"
                                                                 : "rlimit per user"));
        }
    }
}

static void
raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void
on_tick(uv_timer_t *timer)
{
    struct slu_host *host = timer->data;
    slu_host_streams_tick(host);
    slu_host_unary_tick(host);
    if (++host->ticks % EXPIRE_TICKS == 0)
        slu_host_idempotency_expire(&host->idempotency, slu_host_now_ms());
}

static void
on_stop(uv_signal_t *handle, int number)
{
    struct slu_host *host = handle->data;
    if (host->stopping) {
        uv_stop(&host->loop);
        return;
    }
    SLU_LOG(INFO, "stopping", SLU_INT("signal", number));
    host->stopping = true;
    slu_host_server_stop(host);
    slu_host_streams_stop(host);
}

/* Once stopping: ends the loop when no job and no request is left, or after a while. */
static void
on_idle_check(uv_timer_t *timer)
{
    struct slu_host *host = timer->data;
    if (!host->stopping)
        return;
    host->stopping_ms += IDLE_CHECK_MS;
    if ((host->ops_running == 0 && !host->unaries && !host->streams) ||
        host->stopping_ms >= STOP_MS_MAX)
        uv_stop(&host->loop);
}

static enum slu_status
write_address(const struct slu_host *host, struct slu_error *reterr)
{
    char text[256];
    const char *colon = strrchr(host->config.listen, ':');
    const int size =
        snprintf(text, sizeof(text), "http://%.*s:%d\n", (int) (colon - host->config.listen),
                 host->config.listen, slu_host_server_port(host));
    SLU_LOG(INFO, "listening", SLU_INT("port", slu_host_server_port(host)),
            SLU_TEXT("state_dir", host->config.state_dir));
    return slu_host_file_write(host->config.state_dir, "address", text, (size_t) size, reterr);
}

static enum slu_status
start(struct slu_host *host, struct slu_error *reterr)
{
    enum slu_status status = prepare_folders(host, reterr);
    if (!status)
        status = lock_state(host, reterr);
    if (!status)
        status = slu_host_auth_load(host, reterr);
    if (!status)
        status = slu_host_fences_load(&host->fences, host->config.state_dir, reterr);
    if (!status)
        status = slu_host_idempotency_load(&host->idempotency, host->config.state_dir, reterr);
    if (!status)
        status = prepare_spawner(host, reterr);
    if (status)
        return status;

    say_what_holds(host);
    status = slu_host_restore(host, reterr);
    if (!status)
        status = slu_host_server_start(host, reterr);
    return status ? status : write_address(host, reterr);
}

static void
run(struct slu_host *host)
{
    uv_signal_init(&host->loop, &host->interrupt);
    uv_signal_init(&host->loop, &host->terminate);
    uv_timer_init(&host->loop, &host->tick);
    uv_timer_init(&host->loop, &host->idle_check);
    host->interrupt.data = host->terminate.data = host;
    host->tick.data = host->idle_check.data = host;
    uv_signal_start(&host->interrupt, on_stop, SIGINT);
    uv_signal_start(&host->terminate, on_stop, SIGTERM);
    uv_timer_start(&host->tick, on_tick, TICK_MS, TICK_MS);
    uv_timer_start(&host->idle_check, on_idle_check, IDLE_CHECK_MS, IDLE_CHECK_MS);
    uv_run(&host->loop, UV_RUN_DEFAULT);
}

static void
stop(struct slu_host *host)
{
    /* Only empty groups go; those of sandboxes that live on keep their parents. */
    for (int i = 0; i < SLU_CGROUP_COUNT; i++)
        rmdir(host->spawner.cgroups.parent[i]);

    uv_close((uv_handle_t *) &host->interrupt, NULL);
    uv_close((uv_handle_t *) &host->terminate, NULL);
    uv_close((uv_handle_t *) &host->tick, NULL);
    uv_close((uv_handle_t *) &host->idle_check, NULL);
    slu_host_lifecycle_stop(host);
    slu_host_server_finish(host);
    while (uv_run(&host->loop, UV_RUN_NOWAIT))
        ;
}

int
main(int argc, char **argv)
{
    static struct slu_host host;
    struct slu_error error;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help();
            return 0;
        }
        if (strcmp(argv[i], "--version") == 0) {
            printf("sluice-host %s\n", SLU_VERSION);
            return 0;
        }
    }

    enum slu_log_level level = SLU_LOG_INFO;
    enum slu_status status = slu_host_config_load(&argc, argv, environ, &host.config, &error);
    if (!status && !slu_log_level_parse(host.config.log_level, &level)) {
        status =
            slu_fail(&error, SLU_INVALID, "--log-level '%s' must be debug, info, warn or error",
                     host.config.log_level);
    }
    if (!status && argc > 1)
        status = slu_fail(&error, SLU_INVALID, "'%s' is no flag; see --help", argv[1]);
    if (status || sodium_init() < 0) {
        fprintf(stderr, "sluice-host: %s\n", status ? error.message : "libsodium does not start");
        return 2;
    }

    slu_log_setup("sluice-host", level, host.config.log_json);
    signal(SIGPIPE, SIG_IGN);
    umask(S_IRWXG | S_IRWXO);
    raise_file_limit();
    setenv("UV_THREADPOOL_SIZE", "16", 0); /* Jobs wait for disks and processes, not for CPU. */
    uv_loop_init(&host.loop);
    host.loop.data = &host;
    if (start(&host, &error)) {
        SLU_LOG(ERROR, "start_failed", SLU_TEXT("error", error.message));
        return 1;
    }
    run(&host);
    stop(&host);
    SLU_LOG(INFO, "stopped", SLU_INT("sandboxes", host.sandboxes.count));
    return 0;
}
