/* SPDX-License-Identifier: Apache-2.0 */
/* The shell scripts that run one init command inside a sandbox (behaviour.md rule 9): at least
 * once, exactly once when nothing fails, whoever asks, however often, even two at once.
 *
 *     /bin/sh -c <outer> sluice-init <inner> <hash> <number> <call> <command>
 *
 * runs in the workspace and prints one line, `slu-init exit <code>`, when the command's exit is
 * known. Anything else means: not known, ask again. In `.sluice/init/<hash>/` stand
 *     <number>            `started <pid>`, then `exit <code> <call>`, each put there by rename
 *     <number>.claim.<k>  who ran it the k-th time: pid, start time, boot
 *     <number>.log        what the command printed
 *     failed              the call whose command failed last
 * A retry after a failure has a higher call number, and begins anew from the first command: exits
 * from before that failure no longer count. */
#ifndef SLU_LIB_PROVIDER_INIT_WRAPPER_H
#define SLU_LIB_PROVIDER_INIT_WRAPPER_H

extern const char slu_init_outer[];
extern const char slu_init_inner[];

#define SLU_INIT_EXIT_LINE "slu-init exit "

#endif
