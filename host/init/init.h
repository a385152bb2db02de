/* SPDX-License-Identifier: Apache-2.0 */
/* The init of a sandbox: process 1 of its pid namespace. It starts commands when the host asks,
 * passes their output on, reaps every orphan, and lives as long as the sandbox, whether the host
 * is there or not. It does files from inside, so that paths mean what they mean to the sandbox.
 * One thread, one epoll; statically linked, because a thousand of these idle on one machine. */
#ifndef SLU_HOST_INIT_INIT_H
#define SLU_HOST_INIT_INIT_H

#include "../init_wire.h"
#include "slu/base/buffer.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct slu_init;

enum {
    SLU_INIT_PEERS_MAX = 512,
    SLU_INIT_PROCESSES_MAX = 256,      /* Started by the host and not yet over. */
    SLU_INIT_ENDED_MAX = 64,           /* Over, their end not yet fetched. */
    SLU_INIT_WORKERS_MAX = 32,         /* File operations at once. */
    SLU_INIT_PENDING_MAX = 256 * 1024, /* Waiting for one slow reader; then its process waits. */
    SLU_INIT_KEPT_MAX = 256 * 1024,    /* Output kept while nobody reads; then the oldest goes. */
    SLU_INIT_INPUT_MAX = 1024 * 1024,  /* Input that a process has not read yet. */
    SLU_INIT_RETENTION_MS = 60 * 1000, /* An end nobody fetched is forgotten then. */
    SLU_INIT_LINGER_MS = 100,          /* Quiet time after which a descendant that still holds the
                                          output no longer delays the end of its command. */
    SLU_INIT_BOOT_MS = 20 * 1000,
    SLU_INIT_ENTRIES_MAX = 10000,
};

/* Something epoll waits for. `fd` −1: dead, and freed at the end of the turn. */
struct slu_watch {
    int fd;
    uint32_t events;
    void (*ready)(struct slu_init *init, struct slu_watch *watch, uint32_t events);
};

struct slu_process;

/* A connection from the host: one request, then its answers. */
struct slu_peer {
    struct slu_watch watch;
    struct slu_buffer in;
    struct slu_buffer out;
    size_t sent;                 /* Of `out`. */
    int descriptor;              /* That came with the request; −1 without. */
    bool asked;                  /* Its request was taken. */
    bool last;                   /* Nothing follows what `out` holds. */
    struct slu_process *process; /* Whose output it follows. */
    struct slu_peer *next;
};

struct slu_stream {
    struct slu_watch watch;
    enum slu_init_field field;
    struct slu_process *process;
};

struct slu_process {
    pid_t pid;
    char *tag;                     /* Or NULL. */
    struct slu_buffer description; /* The fields it was started with. */
    struct slu_stream output[2];
    struct slu_watch input;   /* fd −1: closed. */
    struct slu_buffer unread; /* Input that waits for the process. */
    bool input_ends;          /* Close the input once `unread` is written. */
    bool terminal;
    struct slu_buffer kept; /* Output messages that no peer followed. */
    int64_t dropped;
    int64_t deadline_ms; /* 0: none. */
    bool timed_out;
    bool exited;
    bool ended;   /* Its end was told, or waits to be fetched. */
    bool fetched; /* Its end was told. */
    int wait_status;
    int64_t quiet_since_ms;
    struct slu_process *next;
};

struct slu_init {
    int epoll;
    struct slu_watch control;
    struct slu_watch signals;
    struct slu_peer *peers;
    int peer_count;
    struct slu_process *processes;
    int worker_count;
    pid_t workers[SLU_INIT_WORKERS_MAX];
    char **environment; /* Of the sandbox: defaults, then what create gave. */
};

/* loop.c */
int64_t slu_init_now_ms(void); /* CLOCK_MONOTONIC. */
bool slu_watch_add(struct slu_init *init, struct slu_watch *watch, uint32_t events);
void slu_watch_set(struct slu_init *init, struct slu_watch *watch, uint32_t events);
void slu_watch_close(struct slu_init *init, struct slu_watch *watch);
_Noreturn void slu_init_loop(struct slu_init *init);

/* peer.c */
void slu_peer_accept(struct slu_init *init, struct slu_watch *watch, uint32_t events);
void slu_peer_flush(struct slu_init *init, struct slu_peer *peer);
size_t slu_peer_pending(const struct slu_peer *peer);
void slu_peer_fail(struct slu_peer *peer, const char *code, const char *format, ...)
    SLU_PRINTF(3, 4);
void slu_peer_done(struct slu_peer *peer);
void slu_peer_sweep(struct slu_init *init);
void slu_peer_handle(struct slu_init *init, struct slu_peer *peer, struct slu_init_reader request);

/* process.c */
void
slu_process_start(struct slu_init *init, struct slu_peer *peer, struct slu_init_reader request);
void slu_process_attach(struct slu_init *init, struct slu_peer *peer, struct slu_process *process);
void slu_process_list(struct slu_init *init, struct slu_peer *peer);
void slu_process_input(struct slu_init *init,
                       struct slu_peer *peer,
                       struct slu_process *process,
                       const struct slu_init_value *bytes);
void slu_process_close_input(struct slu_init *init, struct slu_process *process);
void slu_process_exited(struct slu_init *init, pid_t pid, int wait_status);
void slu_process_unblock(struct slu_init *init, struct slu_process *process);
void slu_process_detach(struct slu_init *init, struct slu_peer *peer);
/* Kills what is overdue, ends what has gone quiet, forgets what is old; returns how many
 * milliseconds until there is something to do again, −1 for never. */
int slu_process_tick(struct slu_init *init, int64_t now_ms);
void slu_process_postpone(struct slu_init *init, int64_t by_ms);
struct slu_process *slu_process_find(struct slu_init *init, struct slu_init_reader request);

/* launch.c */
struct slu_launch {
    char **arguments;
    char **environment;
    const char *directory;
    bool with_input;
    bool terminal;
    int columns, rows;
};

/* Starts a command in a session of its own. Ends of its pipes come back, −1 where there is none;
 * with a terminal only `ret_input` and `ret_output[0]`, both the terminal. Returns its pid, or −1
 * with `code` and `message` filled in. */
pid_t slu_launch(const struct slu_launch *launch,
                 int *ret_input,
                 int ret_output[2],
                 const char **ret_code,
                 char ret_message[256]);
char **slu_environment_join(char **base, struct slu_init_reader request);
void slu_strings_free(char **strings);
int slu_terminal_resize(int terminal, int columns, int rows);

/* files.c: runs in a process of its own, answers on the peer's socket, and exits. */
_Noreturn void slu_files_work(int socket, int descriptor, struct slu_init_reader request);

#endif
