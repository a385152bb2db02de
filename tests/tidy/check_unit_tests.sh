#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each lib/<layer>/<file>.c has its tests/unit/<layer>/test_<file>.c, or a row in untested.txt that says
# which other suite proves it. A row that is not needed is a finding too.
source "$(dirname "$0")/tidy.sh"

exceptions=tests/tidy/untested.txt

is_excepted() {
    [[ -f $exceptions ]] && grep -qE "^$1[[:space:]]+[^[:space:]]" "$exceptions"
}

while IFS= read -r file; do
    layer=$(cut -d/ -f2 <<<"$file")
    test=tests/unit/$layer/test_$(basename "$file")
    if [[ ! -f $test ]] && ! is_excepted "$file"; then
        finding "$file:1: there is no $test, and $exceptions gives no reason"
    fi
    if [[ -f $test ]] && is_excepted "$file"; then
        finding "$exceptions: $file has a unit test, its row can go"
    fi
done < <(project_files -path './lib/*.c')

if [[ -f $exceptions ]]; then
    while read -r file _; do
        [[ -z $file || $file == '#'* || -f $file ]] || finding "$exceptions: there is no $file"
    done <"$exceptions"
fi
verdict
