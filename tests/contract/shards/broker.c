/* SPDX-License-Identifier: Apache-2.0 */
/* A real broker of the test's own: compose/kafka.sh, with the proxy as the address it advertises.
 */
/* NOLINTBEGIN(concurrency-mt-unsafe): before and after the threads of a test, or while they wait.
 */
#include "broker.h"

#include "proxy.h"
#include "slu/base/buffer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static char address[32];

static void
run(const char *what)
{
    struct slu_buffer command = {0};
    slu_buffer_printf(&command, "set -e; state=%s; kafka=%s/compose/kafka.sh; ", folder,
                      SLU_SOURCE_DIR);
    slu_buffer_puts(&command, what);
    const int failed = system(command.data); /* NOLINT(cert-env33-c): the test's own script. */
    if (failed) {
        fprintf(stderr, "failed: %s\n", command.data);
        exit(1);
    }
    slu_buffer_done(&command);
}

static int
read_port(void)
{
    char path[96];
    char line[64] = "";
    snprintf(path, sizeof(path), "%s/kafka.address", folder);
    FILE *file = fopen(path, "re");
    if (!file || !fgets(line, sizeof(line), file))
        exit(1);
    fclose(file);
    return (int) strtol(strchr(line, ':') + 1, NULL, 10);
}

static void
make_folder(void)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%.32s/slu-shards-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(folder))
        exit(1);
}

void
broker_start_direct(void)
{
    make_folder();
    run("$kafka start $state >$state/start.log");
    snprintf(address, sizeof(address), "127.0.0.1:%d", read_port());
}

void
broker_start(void)
{
    make_folder();
    const int proxy_port = proxy_start();
    snprintf(address, sizeof(address), "127.0.0.1:%d", proxy_port);

    /* The first start makes the files; what is advertised is changed in them. */
    run("$kafka start $state >$state/start.log; $kafka stop $state >>$state/start.log");
    proxy_connect_to(read_port());
    char edit[160];
    snprintf(edit, sizeof(edit),
             "sed -i 's|^advertised.listeners=.*|advertised.listeners=PLAINTEXT://%s|' "
             "$state/kafka.properties",
             address);
    run(edit);
    broker_revive();
}

void
broker_revive(void)
{
    run("$kafka start $state >>$state/start.log");
}

void
broker_kill(void)
{
    run("$kafka kill $state >>$state/start.log");
}

void
broker_signal(int signal)
{
    char path[96];
    int pid = 0;
    snprintf(path, sizeof(path), "%s/kafka.pid", folder);
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%d", &pid) != 1) /* NOLINT(cert-err34-c): our own script wrote it. */
        exit(1);
    fclose(file);
    kill(pid, signal);
}

void
broker_stop(void)
{
    run("$kafka kill $state >>$state/start.log; rm -rf $state");
}

const char *
broker_address(void)
{
    return address;
}

/* NOLINTEND(concurrency-mt-unsafe) */
