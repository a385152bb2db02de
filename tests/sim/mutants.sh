#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Deletes one line of the planner, of admission or of the engine at a time, in a copy of the tree, and
# reports which test notices: first the unit tests of plan and engine, then 200 seeds of the simulator.
# Fails when a deletion is noticed by none, or when a line is not there any more.
set -euo pipefail

usage() {
    cat <<'END'
Usage: tests/sim/mutants.sh [build folder]        (default build/mutants)

Each row of the table below names a file, a text that stands on exactly one of its lines, and what
that line is for.
END
}

[[ ${1:-} != --help ]] || {
    usage
    exit 0
}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:-$root/build/mutants}
copy=$build/tree

mutants=(
    'lib/plan/plan.c|return wait_until(INT64_MAX, "held")|what is held by hand or by a reference is not made'
    'lib/plan/plan.c|return wait_until(situation->retry_at_ms, "backing off")|a failure is followed by a pause'
    'lib/plan/plan.c|return (struct slu_plan){SLU_ACTION_INSPECT, true|drift is looked for'
    'lib/plan/admit.c|verdict->ends_life = true;|a deletion ends the life'
    'lib/plan/admit.c|judge_repeat_of_creation(accepted, proposal, ret_verdict);|a repeat of the creating record is known'
    'lib/plan/admit.c|refuse_generation(accepted, asked, verdict);|a stale generation is refused'
    'lib/engine/judge.c|move_position(engine, record);|the position moves with the record'
    'lib/engine/absorb.c|mark_unanswered(engine, entity, open->action);|a call without an answer may still act'
    'lib/engine/absorb.c|motion->gone_by_id = true;|gone takes two looks'
    'lib/engine/decide.c|entity->incarnation++;|a new instance is a new incarnation'
    'lib/engine/decide.c|engine->wants_read_through = true;|a deadline waits for the log'
    'lib/engine/apply.c|entity->incarnation++;|a deletion counts the incarnation'
    'lib/engine/engine.c|engine->committed_seq = engine->shard.seq;|calls leave after their commit'
    'lib/engine/decide.c|entity->idle = true;|idleness becomes a fact'
)

prepare() {
    mkdir -p "$copy"
    tar -C "$root" --exclude=./build --exclude=./.git --exclude=./.cache --exclude=./.state -cf - . |
        tar -C "$copy" -xf -
    # A deletion may leave a function unused or a branch empty: that is for a test to notice.
    sed -i 's/ -Werror / /' "$copy/CMakeLists.txt"
    cmake -S "$copy" -B "$build/out" -G Ninja -DCMAKE_BUILD_TYPE=Debug >"$build/cmake.log" 2>&1
    mapfile -t targets < <(cd "$copy/tests/unit" && find plan engine -name 'test_*.c' |
        sed 's|/|_|; s|\.c$||' | sort)
}

# What the line does is deleted; where it is the whole of a branch, an empty statement stays.
delete_line() {
    local file=$1 text=$2 line
    line=$(grep -nF -- "$text" "$copy/$file" | head -n 1 | cut -d: -f1)
    [[ -n $line ]] || return 1
    sed -i "${line}s/.*/;/" "$copy/$file"
}

noticed_by() {
    local target
    if ! ninja -C "$build/out" slu_sim "${targets[@]}" >"$build/ninja.log" 2>&1; then
        echo 'the compiler'
        return
    fi
    for target in "${targets[@]}"; do
        if ! timeout 60 "$build/out/tests/$target" >"$build/test.log" 2>&1; then
            echo "unit $target: $(sed -n 's/^\[  FAILED  \] \(test_.*\)/\1/p' "$build/test.log" | head -n 1)"
            return
        fi
    done
    if ! timeout 300 "$build/out/tests/sim/slu_sim" --seeds 200 >"$build/sim.log" 2>&1; then
        echo "the simulator: $(sed -n 's/^seed \([0-9]*\) (.*) violates \(.*\):$/\2, seed \1/p' "$build/sim.log")"
    fi
}

prepare
missed=0
for mutant in "${mutants[@]}"; do
    IFS='|' read -r file text what <<<"$mutant"
    cp "$root/$file" "$copy/$file"
    if ! delete_line "$file" "$text"; then
        printf 'GONE    %s: %s\n' "$file" "$text"
        missed=1
        continue
    fi
    by=$(noticed_by)
    if [[ -n $by ]]; then
        printf 'caught  %s: %s\n        by %s\n' "$file" "$what" "$by"
    else
        printf 'MISSED  %s: %s\n' "$file" "$what"
        missed=1
    fi
    cp "$root/$file" "$copy/$file"
done
exit "$missed"
