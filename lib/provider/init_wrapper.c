/* SPDX-License-Identifier: Apache-2.0 */
#include "init_wrapper.h"

/* Starts the inner script in a session of its own, so that the end of this exchange (a time-out
 * kills the process that was started) does not end the command, and waits for it. */
const char slu_init_outer[] =
    "own=; command -v setsid >/dev/null 2>&1 && own=setsid\n"
    "$own /bin/sh -c \"$1\" sluice-init \"$2\" \"$3\" \"$4\" \"$5\" </dev/null >/dev/null 2>&1 &\n"
    "wait $! || exit 75\n"
    "{ read -r word code rest <\".sluice/init/$2/$3\"; } 2>/dev/null || exit 75\n"
    "[ \"$word\" = exit ] || exit 75\n"
    "echo \"" SLU_INIT_EXIT_LINE "$code\"\n";

/* Runs the command unless its exit is there or another process runs it. The claims form a chain:
 * claim k+1 can be made (by ln, which succeeds for exactly one) only by who saw the owner of claim
 * k dead and its exit missing. So two that find the same dead owner never both run, and no lock can
 * be left behind. A process is known by pid, start time and boot: a pid alone is used again. */
const char slu_init_inner[] =
    "hash=$1 number=$2 call=$3 command=$4\n"
    "dir=.sluice/init/$hash; mark=$dir/$number; new=$mark.new.$$\n"
    "mkdir -p \"$dir\" || exit 75\n"
    "{ read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null || boot=-\n"
    /* Start time of process $1; fails when it is not there, or only its corpse. */
    "born() {\n"
    "    if [ ! -e /proc/self/stat ]; then kill -0 \"$1\" 2>/dev/null && echo 0; return; fi\n"
    "    { read -r line <\"/proc/$1/stat\"; } 2>/dev/null || return 1\n"
    "    set -- ${line##*) }\n"
    "    case $1 in Z|X|x) return 1;; esac\n"
    "    echo \"${20}\"\n"
    "}\n"
    /* Whether an exit is there that counts for this call. */
    "ended() {\n"
    "    { read -r word code at <\"$mark\"; } 2>/dev/null || return 1\n"
    "    [ \"$word\" = exit ] || return 1\n"
    "    { read -r failed <\"$dir/failed\"; } 2>/dev/null || return 0\n"
    "    [ \"$at\" -gt \"$failed\" ] || [ \"$failed\" -ge \"$call\" ]\n"
    "}\n"
    "put() { echo \"$1\" >\"$new\" && mv -f \"$new\" \"$2\" || exit 75; }\n"
    "mine=$(born $$) || exit 75\n"
    "k=0\n"
    "while :; do\n"
    "    ended && exit 0\n"
    "    while [ -e \"$mark.claim.$((k + 1))\" ]; do k=$((k + 1)); done\n"
    "    if [ $k -gt 0 ]; then\n"
    "        read -r pid start its_boot <\"$mark.claim.$k\" || exit 75\n"
    "        if [ \"$its_boot\" = \"$boot\" ] && [ \"$(born \"$pid\")\" = \"$start\" ]; then\n"
    "            sleep 0.1; continue\n"
    "        fi\n"
    "        ended && exit 0\n" /* It may have ended well between the two looks. */
    "    fi\n"
    "    echo \"$$ $mine $boot\" >\"$new\" || exit 75\n"
    "    ln \"$new\" \"$mark.claim.$((k + 1))\" 2>/dev/null && break\n"
    "    [ -e \"$mark.claim.$((k + 1))\" ] || exit 75\n"
    "done\n"
    "rm -f \"$new\"\n" /* The claim is this very file: it must not be written again. */
    "put \"started $$\" \"$mark\"\n"
    "if command -v bash >/dev/null 2>&1; then shell='bash -l'; else shell=sh; fi\n"
    "$shell -c \"$command\" </dev/null >\"$mark.log\" 2>&1\n"
    "code=$?\n"
    "[ $code -eq 0 ] || put \"$call\" \"$dir/failed\"\n"
    "put \"exit $code $call\" \"$mark\"\n";
