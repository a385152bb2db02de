#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Proves that the properties can fail: each rule of the pretend world is switched off in turn, and
# within so many seeds some property must notice. Usage: broken_rules.sh <slu_sim> [seeds]
set -u
sim=$1
seeds=${2:-300}
missed=0
for rule in $("$sim" --list | sed -n '/^rules/,$ s/^  //p'); do
    if said=$("$sim" --break "$rule" --seeds "$seeds" 2>&1); then
        echo "$rule: no property noticed in $seeds seeds"
        missed=1
    else
        echo "$rule: $(echo "$said" | sed -n 's/^seed \([0-9]*\) (.*) violates \(.*\):$/noticed by \2, seed \1/p')"
    fi
done
exit $missed
