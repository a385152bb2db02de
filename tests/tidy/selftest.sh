#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A check that cannot fail proves nothing. For each one: a small tree that it passes, then the same tree
# with one violation planted, which it must find at the right place.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# The tree that is right.
make_tree() {
    rm -rf "$work/tree"
    mkdir -p "$work"/tree/{include/slu/base,lib/base,lib/plan,lib/model,tests/unit/base,tests/tidy,host}
    mkdir -p "$work"/tree/{schemas,tests/unit/plan,tests/unit/model}
    cd "$work/tree"
    plant include/slu/base/hash.h '/* SPDX-License-Identifier: Apache-2.0 */' 'int slu_hash(void);'
    plant lib/base/hash.c '/* SPDX-License-Identifier: Apache-2.0 */' '#include "slu/base/hash.h"' \
        '#include <stdio.h>'
    plant tests/unit/base/test_hash.c '/* SPDX-License-Identifier: Apache-2.0 */'
    plant README.md '# Sluice'
}

# plant <file> <line …>
plant() {
    local file=$1
    shift
    mkdir -p "$(dirname "$file")"
    printf '%s\n' "$@" >"$file"
}

# expect <check> <finding that must be printed, as a grep expression> [<argument …>]
expect() {
    local check=$1 wanted=$2 output status=0
    shift 2
    output=$("$here/$check" "$work/tree" "$@" 2>&1) || status=$?
    if ((status != 1)) || ! grep -qE "$wanted" <<<"$output"; then
        printf 'FAILED: %s ended with %d and said:\n%s\nexpected: %s\n' "$check" "$status" "$output" "$wanted"
        failures=$((failures + 1))
    fi
}

# accept <check> [<argument …>]
accept() {
    local check=$1 output
    shift
    if ! output=$("$here/$check" "$work/tree" "$@" 2>&1); then
        printf 'FAILED: %s refuses what is right:\n%s\n' "$check" "$output"
        failures=$((failures + 1))
    fi
}

test_layers() {
    make_tree
    accept check_layers.sh
    plant lib/base/hash.c '/* one */' '#include "slu/base/hash.h"' '#include "slu/plan/plan.h"'
    expect check_layers.sh '^lib/base/hash.c:3: lib/base must not include <slu/plan/plan.h>'
    plant lib/plan/plan.c '#include <jansson.h>'
    expect check_layers.sh '^lib/plan/plan.c:1: lib/plan must not include <jansson.h>'
    plant host/main.c '' '# include  <librdkafka/rdkafka.h>'
    expect check_layers.sh '^host/main.c:2: host must not include <librdkafka/rdkafka.h>'
    plant include/slu/model/key.h '#include "slu/engine/engine.h"'
    expect check_layers.sh '^include/slu/model/key.h:1: lib/model must not'
    plant lib/base/hash.c '#include <stdio.h>' '#include "slu/base/hash.h"'
    expect check_layers.sh '^lib/base/hash.c:1: the first include must be "slu/base/hash.h"'
}

test_unit_tests() {
    make_tree
    accept check_unit_tests.sh
    plant tests/tidy/untested.txt 'lib/base/hash.c no reason is good enough'
    expect check_unit_tests.sh 'untested.txt: lib/base/hash.c has a unit test'
    rm tests/unit/base/test_hash.c
    accept check_unit_tests.sh
    plant tests/tidy/untested.txt 'lib/base/hash.c'
    expect check_unit_tests.sh '^lib/base/hash.c:1: there is no tests/unit/base/test_hash.c'
    plant tests/tidy/untested.txt 'lib/base/gone.c it was here'
    expect check_unit_tests.sh 'untested.txt: there is no lib/base/gone.c'
}

test_banned_calls() {
    make_tree
    plant lib/base/hash.c '/* strcpy(a, b) */' 'x->system (1); my_atoi(2); "getenv(3)"; snprintf(s, n, "");'
    accept check_banned_calls.sh
    local call
    for call in sprintf strcpy strcat atoi system popen gets strtok getenv; do
        plant lib/base/hash.c '/* two' ' lines */' "    return $call (x);"
        expect check_banned_calls.sh "^lib/base/hash.c:3: $call\\(\\) is banned"
    done
    make_tree
    plant tests/unit/base/test_hash.c 'getenv("X"); system("true");'
    accept check_banned_calls.sh
    plant tests/unit/base/test_hash.c 'strcpy(a, b);'
    expect check_banned_calls.sh '^tests/unit/base/test_hash.c:1: strcpy\(\) is banned'
}

test_switches() {
    make_tree
    plant lib/base/hash.c 'switch (character) {' "case 'a':" '    break;' 'default:' '    break;' '}' \
        'switch (life) {' 'case SLU_LIFE_GONE:' '    break;' '}'
    accept check_switches.sh
    plant lib/base/hash.c 'switch (life) {' 'case SLU_LIFE_GONE: {' '    break;' '}' 'default:' '    break;' '}'
    expect check_switches.sh '^lib/base/hash.c:5: a switch over an enum of ours'
}

test_licence() {
    make_tree
    accept check_licence.sh
    plant lib/base/more.c 'int more;'
    expect check_licence.sh '^lib/base/more.c:1: the SPDX'
    make_tree
    plant tests/soak.py '#!/usr/bin/env python3' 'import os'
    expect check_licence.sh '^tests/soak.py:1: the SPDX'
}

test_private_paths() {
    make_tree
    plant README.md 'See https://kafka.apache.org/ and /work, and /home/user/src of the sandbox.'
    accept check_private_paths.sh
    local place
    for place in /wo""rk/main /ro""ot/x /ho""me/ann/x /tmp/ba""sh_jobs.0 https://pyp""i.org/simple \
        https://repo1.mav""en.org/x; do
        plant docs/a.md '' "it is at $place/y"
        expect check_private_paths.sh '^docs/a.md:2:'
    done
}

test_todo() {
    make_tree
    plant lib/base/hash.c '/* TO''DO(#12): the rest. */'
    accept check_todo.sh
    plant lib/base/hash.c '' '/* TO''DO: the rest. */'
    expect check_todo.sh '^lib/base/hash.c:2: a mark without'
    plant lib/base/hash.c '/* FIX''ME */'
    expect check_todo.sh '^lib/base/hash.c:1: a mark without'
}

test_schemas() {
    make_tree
    # shellcheck disable=SC2016 # A name of JSON Schema.
    plant schemas/common.schema.json '{"$defs":{"scope":{}}}'
    plant schemas/desired.schema.json '{}'
    plant schemas/shard-record.schema.json '{}'
    plant schemas/computer-binding.schema.json '{}'
    plant lib/model/fields.c 'const struct slu_field slu_envelope_fields[] = {' \
        'const struct slu_field slu_computer_binding_fields[] = {' 'const struct slu_field slu_scope_fields[] = {'
    accept check_schemas.sh
    plant schemas/space.schema.json '{}'
    expect check_schemas.sh '^schemas/space.schema.json: there is no table slu_space_fields'
    rm schemas/space.schema.json schemas/computer-binding.schema.json
    expect check_schemas.sh '^lib/model: slu_computer_binding_fields has neither'
}

# shellcheck disable=SC2016 # The backquotes are Markdown.
test_settings() {
    make_tree
    plant build/sluice-host '#!/bin/sh' "cat <<'END'" 'Usage: sluice-host' \
        '  --listen TEXT        Where to listen. (default 127.0.0.1:1; SLU_LISTEN)' \
        '  --count NUMBER       How many (of what | is). (default 3; 1…9; SLU_COUNT)' \
        '  --quiet              Says nothing. (SLU_QUIET)' 'END'
    chmod +x build/sluice-host
    plant README.md '# Sluice' '<!-- settings: sluice-host -->' '| setting | default | bounds | what |' \
        '|---|---|---|---|' '| `--listen TEXT` | `127.0.0.1:1` |  | Where to listen. |' \
        '| `--count NUMBER` | `3` | 1…9 | How many (of what \| is). |' \
        '| `--quiet` |  |  | Says nothing. |' '<!-- end of settings -->' 'The end.'
    accept check_settings.sh build
    sed -i 's/1…9/1…8/' README.md
    expect check_settings.sh '^README.md: the settings of sluice-host differ' build
    accept check_settings.sh build --write
    accept check_settings.sh build
    sed -i '/--quiet/d' README.md
    expect check_settings.sh '^README.md: the settings of sluice-host differ' build
    grep -q '^The end.$' README.md || failures=$((failures + 1))
}

for check in "$here"/check_*.sh; do
    name=$(basename "$check" .sh)
    if ! declare -F "test_${name#check_}" >/dev/null; then
        printf 'FAILED: nothing is planted for %s\n' "$check"
        failures=$((failures + 1))
    fi
done
for test in $(compgen -A function test_); do
    "$test"
done
((failures == 0)) && echo 'every check finds what was planted for it'
