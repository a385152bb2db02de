# SPDX-License-Identifier: Apache-2.0
# Sourced by the checks: which files there are, and how a finding is said. A check gets the source tree
# as its first argument, prints each finding as file:line: what is wrong, and ends with 1 if there is any.
# shellcheck shell=bash
set -euo pipefail

tree=$(realpath "${1:?the source tree}")
cd "$tree"
findings=0

finding() {
    printf '%s\n' "$*"
    findings=$((findings + 1))
}

# Adds each line of standard input as a finding, with what is wrong behind it.
findings_from() {
    local line
    while IFS= read -r line; do
        [[ -z $line ]] || finding "$line: $1"
    done
}

verdict() {
    ((findings == 0)) || exit 1
}

# Files of the project that match one of the find expressions given: never what was built or fetched.
project_files() {
    find . \( -path ./build -o -path ./.git -o -path ./.cache -o -path ./.state -o -name node_modules \
        -o -name __pycache__ -o -name .hypothesis \) -prune -o -type f \( "$@" \) -print |
        sed 's|^\./||' | LC_ALL=C sort
}

c_files() {
    project_files -name '*.c' -o -name '*.h'
}
