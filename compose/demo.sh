#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One sandbox's life, shown live: demo.sh <fresh state folder>. Publishes examples/01…04 one after the
# other, prints each event as it is committed, waits for the phase each document asks for, and ends with
# the table of what ran. Fails when a phase does not come within its time.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source-path=SCRIPTDIR source=service.sh
source "$here/service.sh"

folder=$(realpath "${1:?a fresh state folder}")
keep=${SLUICE_DEMO_KEEP:-}
sluice=$root/build/release/sluice
key=sandbox/demo-1
limit_s=60
table=()
events_pid=

heading() {
    printf '\n\033[1m%s\033[0m\n' "$*"
}

# On a terminal headings are bold; in a file or pipe they are plain.
[[ -t 1 ]] || heading() {
    printf '\n%s\n' "$*"
}

follow_events() {
    "$sluice" events -f </dev/null 2>>"$folder/demo.log" > >(sed -u 's/^/    event  /') &
    events_pid=$!
}

stop_events() {
    [[ -n $events_pid ]] || return 0
    kill "$events_pid" 2>/dev/null || true
    wait "$events_pid" 2>/dev/null || true
    events_pid=
}

clean_up() {
    local status=$?
    stop_events
    if [[ -n $keep ]]; then
        printf '\nStill running: ./dev ps, ./dev sluice get, ./dev logs; ./dev down ends it.\n'
    else
        heading 'Stopping everything'
        "$here/stack.sh" down "$folder"
        ((status != 0)) || rm -rf "$folder"
    fi
    ((status == 0)) || say_error "the demo failed; logs and data are in $folder"
}

status_is() {
    "$sluice" get "$1" --json 2>/dev/null | jq -e "$2" >/dev/null
}

# show <file> <what it asks for> <key> <jq condition on the status>
show() {
    local file=$1 what=$2 key=$3 condition=$4 begin=${EPOCHREALTIME/[.,]/} ms
    heading "$file: $what"
    "$sluice" apply -f "$root/examples/$file" | sed 's/^/    apply  /'
    if ! wait_until "$limit_s" status_is "$key" "$condition"; then
        say_error "$key has not become $condition within $limit_s s; it is:"
        "$sluice" get "$key" --json >&2 || true
        return 1
    fi
    ms=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
    table+=("$file|$key|$what|$ms ms")
}

print_table() {
    local row file key what took
    heading 'What ran'
    printf '    %-20s %-24s %-34s %8s\n' DOCUMENT KEY PHASE TOOK
    for row in "${table[@]}"; do
        IFS='|' read -r file key what took <<<"$row"
        printf '    %-20s %-24s %-34s %8s\n' "$file" "$key" "$what" "$took"
    done
    echo
    "$sluice" get | sed 's/^/    /'
    echo
    "$here/stack.sh" ps "$folder" | sed 's/^/    /'
}

# The file as the sandbox has it, by the host's E2B API: written by the init commands, nobody else.
show_init_files() {
    heading 'What the init commands left in the sandbox (read by the E2B file API)'
    local id key token file
    id=$("$sluice" get sandbox/demo-1 --json | jq -r .session.instance.externalId)
    key=$(<"$folder/host.key")
    token=$(curl -fsS -H "X-API-Key: $key" "http://$host/sandboxes/$id" | jq -r '.envdAccessToken // ""')
    for file in src/greeting.txt src/SUMS; do
        printf '    %-18s' "$file"
        curl -fsS -H "E2b-Sandbox-Id: $id" -H 'E2b-Sandbox-Port: 49983' -H "X-Access-Token: $token" \
            "http://$host/files?path=/home/user/$file&username=user"
    done
}

main() {
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    heading "Starting Kafka, Redis, sluice-host and a reconciler in $folder"
    "$here/stack.sh" up "$folder"
    eval "$("$here/stack.sh" env "$folder")"
    host=$(<"$folder/host.address")
    follow_events

    show 01-sandbox.json 'created, initialised, running' sandbox/demo-1 \
        '.observedGeneration == 1 and .phase == "running" and .session.initCompletedAt'
    show_init_files
    show 02-checkpoint.json 'accepted; not driven yet: Blocked' checkpoint/demo-1/cp-1 \
        '.conditions[] | select(.type == "Blocked" and .status == "True" and .reason == "NotImplemented")'
    show 03-paused.json 'paused' sandbox/demo-1 '.observedGeneration == 2 and .phase == "paused"'
    show 04-running.json 'the same instance, running again' sandbox/demo-1 \
        '.observedGeneration == 3 and .phase == "running" and .incarnation == 1'
    stop_events
    print_table
}

main
