/* SPDX-License-Identifier: Apache-2.0 */
/* A Connect stream that follows a process of a sandbox. Its connection sleeps while there is
 * nothing to say; a slow client makes the process wait; a client that goes away leaves it running.
 */
#ifndef SLU_HOST_STREAM_H
#define SLU_HOST_STREAM_H

#include "init_wire.h"
#include "server.h"

/* Answers `request` with a stream that begins with this request to the init. */
void slu_host_stream_open(struct slu_host_request *request,
                          struct slu_host_sandbox *sandbox,
                          const struct slu_buffer *to_init);

/* Answers with a stream that says nothing but this error. */
void
slu_host_stream_refuse(struct slu_host_request *request, const char *code, const char *message);

/* Ends the streams of a sandbox that was paused: their processes live on. */
void slu_host_streams_interrupt(struct slu_host *host, const char *id);

/* Ends all streams, at shutdown. */
void slu_host_streams_stop(struct slu_host *host);

/* Every second: keep-alives, and clients that have gone. */
void slu_host_streams_tick(struct slu_host *host);

#endif
