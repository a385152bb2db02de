#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A Redis for a developer's machine and the tests: loopback only, nothing on disk (all that Sluice keeps
# there can be lost at any time).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=service.sh
source "$here/service.sh"

usage() {
    cat <<'END'
Usage: compose/redis.sh <command> <state folder>

  start    starts Redis, or finds it running; waits until it answers; the last line printed is its
           address, for example 127.0.0.1:26001 (so --redis-url redis://127.0.0.1:26001)
  address  prints the address of the Redis that was started there
  stop     stops it
  kill     ends it with SIGKILL, as a crash would

A Redis started again in the same state folder has the same address, and is empty.
END
}

redis_answers() {
    [[ $(redis-cli -h 127.0.0.1 -p "$1" ping) == PONG ]]
}

start() {
    mkdir -p "$1"
    local folder port
    folder=$(realpath "$1")
    if ! running_pid "$folder/redis.pid" >/dev/null; then
        [[ -s $folder/redis.address ]] || printf '127.0.0.1:%s\n' "$(free_port)" >"$folder/redis.address"
        port=$(sed 's/.*://' "$folder/redis.address")
        start_process "$folder/redis.pid" "$folder/redis.log" \
            redis-server --bind 127.0.0.1 --port "$port" --dir "$folder" --save '' --appendonly no \
            --maxmemory 512mb --maxmemory-policy noeviction
        wait_for_service redis 15 "$folder/redis.pid" "$folder/redis.log" redis_answers "$port"
    fi
    cat "$folder/redis.address"
}

main() {
    local command=${1:-help} folder=${2:-}
    case $command in
    start | address | stop | kill)
        if [[ -z $folder ]]; then
            say_error "$command needs the state folder"
            return 2
        fi
        ;;
    esac
    case $command in
    start) start "$folder" ;;
    address) cat "$folder/redis.address" ;;
    stop) stop_process "$folder/redis.pid" ;;
    kill) kill_process "$folder/redis.pid" ;;
    help | --help | -h) usage ;;
    *)
        say_error "there is no command '$command'; see compose/redis.sh help"
        return 2
        ;;
    esac
}

main "$@"
