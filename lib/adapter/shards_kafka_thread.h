/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, waits and wake-ups of the Kafka adapter. Waits are measured on CLOCK_MONOTONIC. */
#ifndef SLU_ADAPTER_SHARDS_KAFKA_THREAD_H
#define SLU_ADAPTER_SHARDS_KAFKA_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

void slu_lock_init(pthread_mutex_t *lock, pthread_cond_t *changed);
void slu_lock_done(pthread_mutex_t *lock, pthread_cond_t *changed);

/* The moment `in_ms` from now, for pthread_cond_timedwait. */
struct timespec slu_wait_until(int64_t in_ms);

/* All signals are blocked in it. False when the system gives no more threads. */
bool slu_thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *), void *context);

/* False: it did not end in time and was left behind; what it uses must not be freed. */
bool slu_thread_join(pthread_t thread, int64_t patience_ms);

/* An eventfd that a thread sleeps on. */
int slu_bell_open(void);
void slu_bell_close(int fd);
void slu_bell_ring(int fd);
void slu_bell_sleep(int fd, int64_t at_most_ms);

#endif
