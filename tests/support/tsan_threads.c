/* SPDX-License-Identifier: Apache-2.0 */
/* C11 threads on POSIX threads, for programs built with ThreadSanitizer: its runtime of gcc 12
 * knows only the latter, and dies in a thread that thrd_create made. librdkafka makes all of its
 * so. Linked into such test programs, these take the place of the C library's. Never part of a
 * product. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "a mutex fits where the caller keeps it");
static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "so does a condition");
static_assert(sizeof(thrd_t) == sizeof(pthread_t), "and a thread");

struct start {
    thrd_start_t run;
    void *argument;
};

static void *
run_thread(void *context)
{
    const struct start start = *(struct start *) context;
    free(context);
    return (void *) (intptr_t) start.run(start.argument);
}

static int
result_of(int failed)
{
    return failed ? (failed == ETIMEDOUT ? thrd_timedout : thrd_error) : thrd_success;
}

int
thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
    struct start *start = malloc(sizeof(*start));
    if (!start)
        return thrd_nomem;
    *start = (struct start){run, argument};
    return result_of(pthread_create(thread, NULL, run_thread, start));
}

int
thrd_join(thrd_t thread, int *ret_result)
{
    void *result;
    const int failed = pthread_join(thread, &result);
    if (ret_result)
        *ret_result = (int) (intptr_t) result;
    return result_of(failed);
}

int
mtx_init(mtx_t *mutex, int type)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (type & mtx_recursive)
        pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    const int failed = pthread_mutex_init((pthread_mutex_t *) mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return result_of(failed);
}

void
mtx_destroy(mtx_t *mutex)
{
    pthread_mutex_destroy((pthread_mutex_t *) mutex);
}

int
mtx_lock(mtx_t *mutex)
{
    return result_of(pthread_mutex_lock((pthread_mutex_t *) mutex));
}

int
mtx_unlock(mtx_t *mutex)
{
    return result_of(pthread_mutex_unlock((pthread_mutex_t *) mutex));
}

int
cnd_init(cnd_t *condition)
{
    return result_of(pthread_cond_init((pthread_cond_t *) condition, NULL));
}

void
cnd_destroy(cnd_t *condition)
{
    pthread_cond_destroy((pthread_cond_t *) condition);
}

int
cnd_signal(cnd_t *condition)
{
    return result_of(pthread_cond_signal((pthread_cond_t *) condition));
}

int
cnd_broadcast(cnd_t *condition)
{
    return result_of(pthread_cond_broadcast((pthread_cond_t *) condition));
}

int
cnd_wait(cnd_t *condition, mtx_t *mutex)
{
    return result_of(pthread_cond_wait((pthread_cond_t *) condition, (pthread_mutex_t *) mutex));
}

int
cnd_timedwait(cnd_t *restrict condition,
              mtx_t *restrict mutex,
              const struct timespec *restrict until)
{
    return result_of(
        pthread_cond_timedwait((pthread_cond_t *) condition, (pthread_mutex_t *) mutex, until));
}
