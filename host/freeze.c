/* SPDX-License-Identifier: Apache-2.0 */
/* The two freezers behind one call. */
#include "freeze.h"

#include "init_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ANSWER_MS_MAX = 10000
};

/* One request and its short answer, waiting. */
static enum slu_status
ask(const char *folder, enum slu_init_message what, struct slu_error *reterr)
{
    SLU_AUTO_BUFFER struct slu_buffer message = {0};
    char answer[64];
    slu_init_end(&message, slu_init_begin(&message, what));

    const int fd = slu_spawn_connect(folder);
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    if (fd < 0)
        return slu_fail(reterr, SLU_RETRY, "the sandbox's init: %s", strerror(errno));
    const bool sent = send(fd, message.data, message.size, MSG_NOSIGNAL) == (ssize_t) message.size;
    const bool answered = sent && poll(&readable, 1, ANSWER_MS_MAX) == 1 &&
                          recv(fd, answer, sizeof(answer), 0) >= SLU_INIT_HEADER_SIZE &&
                          answer[SLU_INIT_HEADER_SIZE - 1] == SLU_INIT_DONE;
    close(fd);
    return answered ? SLU_OK : slu_fail(reterr, SLU_RETRY, "the sandbox's init does not answer");
}

enum slu_status
slu_host_freeze(const struct slu_spawner *spawner,
                const char *id,
                const char *folder,
                bool frozen,
                struct slu_error *reterr)
{
    if (spawner->cgroups.version[SLU_CGROUP_FREEZER])
        return slu_cgroup_freeze(&spawner->cgroups, id, frozen, reterr);
    return ask(folder, frozen ? SLU_INIT_STOP_ALL : SLU_INIT_CONTINUE_ALL, reterr);
}
