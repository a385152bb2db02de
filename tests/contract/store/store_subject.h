/* SPDX-License-Identifier: Apache-2.0 */
/* What the store suite needs of a backend beside the port itself: its accidents, and a look at what
 * it holds. subject_fake.c and subject_redis.c are the two. */
#ifndef SLU_TESTS_STORE_SUBJECT_H
#define SLU_TESTS_STORE_SUBJECT_H

#include <stdbool.h>

void subject_start(void); /* Once per program. */
void subject_stop(void);
const char *subject_url(void);
const char *subject_dead_url(void); /* Nobody listens there. */

void subject_wipe(void);      /* FLUSHALL. */
void subject_crash(void);     /* kill -9. */
void subject_revive(void);    /* Back, and empty. */
void subject_stall(void);     /* Alive, and silent for longer than a command may take. */
void subject_remember(void);  /* Keeps what there is … */
void subject_roll_back(void); /* … and comes back with that, as after a restored backup. */
void subject_damage(int shard, const char *key); /* Loses one status. */

/* The view behind the pointer. Text is the caller's to free; NULL when absent. */
char *subject_status(int shard, const char *key);
char *subject_id(int shard, const char *kind_and_id); /* Keys, parted by blanks, sorted. */
int subject_count(int shard);                         /* −1 without a pointer. */
bool subject_indexed(int shard, const char *index, const char *key);
int subject_leftovers(int shard); /* Views that no pointer names. */

#endif
