/* SPDX-License-Identifier: Apache-2.0 */
/* What sluice-host and the init inside a sandbox say to each other over the control socket.
 *
 * A connection carries one request. A message is `u32 size, u8 type`, then fields `u8 field,
 * u32 size, bytes`, numbers in the machine's own order: both ends run on one kernel. The two may
 * be of different versions (sandboxes outlive the host's upgrade), so numbers here are never
 * reused and unknown fields are skipped. Each side treats the other's bytes as hostile. */
#ifndef SLU_HOST_INIT_WIRE_H
#define SLU_HOST_INIT_WIRE_H

#include "slu/base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SLU_INIT_MESSAGE_MAX = 4 * 1024 * 1024, /* A listing is the largest. */
    SLU_INIT_REQUEST_MAX = 1024 * 1024,
    SLU_INIT_HEADER_SIZE = 5,
    SLU_INIT_BOOT_FD = 3,    /* A socket pair: "ready" out, SLU_INIT_GO in, then closed. */
    SLU_INIT_CONTROL_FD = 4, /* The bound control socket; listening is init's part. */
};

enum slu_init_message {
    /* Host to init. */
    SLU_INIT_GO = 1, /* ENVIRONMENT… */
    SLU_INIT_START, /* COMMAND, ARGUMENT…, ENVIRONMENT…, DIRECTORY, TAG, STDIN, TIMEOUT_MS, COLUMNS,
                       ROWS */
    SLU_INIT_ATTACH, /* PID or TAG */
    SLU_INIT_LIST,
    SLU_INIT_SIGNAL,      /* PID or TAG, SIGNAL */
    SLU_INIT_INPUT,       /* PID or TAG, BYTES */
    SLU_INIT_CLOSE_STDIN, /* PID or TAG */
    SLU_INIT_RESIZE,      /* PID or TAG, COLUMNS, ROWS */
    SLU_INIT_STOP_ALL,
    SLU_INIT_CONTINUE_ALL,
    SLU_INIT_OPEN_FILE, /* PATH; answers with a descriptor. */
    SLU_INIT_PUT_FILE,  /* PATH, and a descriptor to copy from. */
    SLU_INIT_STAT,      /* PATH */
    SLU_INIT_LIST_DIR,  /* PATH, DEPTH */
    SLU_INIT_MAKE_DIR,  /* PATH */
    SLU_INIT_MOVE,      /* PATH, DESTINATION */
    SLU_INIT_REMOVE,    /* PATH */

    /* Init to host. */
    SLU_INIT_DONE = 64,
    SLU_INIT_FAILED,  /* CODE, TEXT */
    SLU_INIT_STARTED, /* PID */
    SLU_INIT_OUTPUT,  /* STDOUT | STDERR | TERMINAL */
    SLU_INIT_ENDED,   /* EXIT_CODE or SIGNAL, TIMED_OUT, DROPPED */
    SLU_INIT_PROCESS, /* PID, TAG, COMMAND, ARGUMENT…, ENVIRONMENT…, DIRECTORY; one per process,
                         then DONE */
    SLU_INIT_FILE,    /* SIZE, KIND, MODE…: the descriptor comes along. */
    SLU_INIT_ENTRY,   /* An entry of a listing, then DONE. */
};

enum slu_init_field {
    SLU_INIT_F_COMMAND = 1,
    SLU_INIT_F_ARGUMENT,
    SLU_INIT_F_ENVIRONMENT, /* "NAME=value" */
    SLU_INIT_F_DIRECTORY,
    SLU_INIT_F_TAG,
    SLU_INIT_F_STDIN,
    SLU_INIT_F_TIMEOUT_MS,
    SLU_INIT_F_COLUMNS,
    SLU_INIT_F_ROWS,
    SLU_INIT_F_PID,
    SLU_INIT_F_SIGNAL,
    SLU_INIT_F_BYTES,
    SLU_INIT_F_PATH,
    SLU_INIT_F_DESTINATION,
    SLU_INIT_F_DEPTH,
    SLU_INIT_F_CODE, /* A Connect code: "not_found", … */
    SLU_INIT_F_TEXT,
    SLU_INIT_F_STDOUT,
    SLU_INIT_F_STDERR,
    SLU_INIT_F_TERMINAL,
    SLU_INIT_F_EXIT_CODE,
    SLU_INIT_F_TIMED_OUT,
    SLU_INIT_F_DROPPED, /* Bytes of output nobody fetched in time. */
    SLU_INIT_F_NAME,
    SLU_INIT_F_SIZE,
    SLU_INIT_F_MODE, /* st_mode, type bits included. */
    SLU_INIT_F_OWNER,
    SLU_INIT_F_GROUP,
    SLU_INIT_F_MODIFIED_NS,
    SLU_INIT_F_TARGET, /* Of a symbolic link. */
};

/* Building: begin, put…, end. `begin` gives the position that `end` needs. */
size_t slu_init_begin(struct slu_buffer *out, enum slu_init_message type);
void
slu_init_put(struct slu_buffer *out, enum slu_init_field field, const void *bytes, size_t size);
void slu_init_put_text(struct slu_buffer *out, enum slu_init_field field, const char *text);
void slu_init_put_number(struct slu_buffer *out, enum slu_init_field field, int64_t number);
void slu_init_end(struct slu_buffer *out, size_t position);

/* One whole message at the front of bytes[0…size): its size in all, 0 while it is not all there,
 * −1 when it can never be one (longer than `max`). */
int64_t slu_init_whole(const char *bytes, size_t size, size_t max);

struct slu_init_reader {
    enum slu_init_message type;
    const char *at;
    const char *end;
};

struct slu_init_value {
    enum slu_init_field field;
    const char *bytes; /* Not NUL-terminated. */
    size_t size;
};

struct slu_init_reader slu_init_read(const char *message, size_t size);
bool slu_init_next(struct slu_init_reader *reader, struct slu_init_value *ret_value);

/* The first field of that name; numbers come back as `fallback`, text as NULL, when it is missing
 * or of another shape. Text is a copy, cut at its first NUL. */
bool slu_init_find(struct slu_init_reader reader,
                   enum slu_init_field field,
                   struct slu_init_value *ret_value);
int64_t slu_init_number(struct slu_init_reader reader, enum slu_init_field field, int64_t fallback);
char *slu_init_text(struct slu_init_reader reader, enum slu_init_field field);
int64_t slu_init_value_number(const struct slu_init_value *value, int64_t fallback);

#endif
