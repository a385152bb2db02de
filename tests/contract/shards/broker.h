/* SPDX-License-Identifier: Apache-2.0 */
/* A real broker of the test's own, in a temporary folder, behind the proxy. */
#ifndef SLU_TESTS_SHARDS_BROKER_H
#define SLU_TESTS_SHARDS_BROKER_H

void broker_start(void);
void broker_start_direct(void);   /* Without the proxy, for figures. */
void broker_stop(void);           /* And removes its folder. */
void broker_kill(void);           /* SIGKILL. */
void broker_revive(void);         /* Starts it again on the same folder; returns when it answers. */
void broker_signal(int signal);   /* SIGSTOP, SIGCONT. */
const char *broker_address(void); /* Through the proxy. */

#endif
