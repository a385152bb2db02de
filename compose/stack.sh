#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All of Sluice on this machine, in one state folder: Kafka, Redis, sluice-host and one reconciler, on
# free ports of loopback. `./dev up`, the demo and the crash tests start and stop it by this script.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=service.sh
source "$here/service.sh"

services=(kafka redis host reconciler)
shards=${SLUICE_SHARDS:-4}
build=$(realpath -m "${SLUICE_BUILD:-$here/../build/release}")

usage() {
    cat <<'END'
Usage: compose/stack.sh <command> <state folder> [<service>]

  up       starts all four services, or those that do not run; waits until each answers
  down     stops all, and ends the sandboxes
  start    starts one service that has run there before (kafka, redis, host, reconciler)
  kill     ends one service with SIGKILL, as a crash would
  ps       what runs where, first the broker's address
  env      the addresses as lines of shell, for `eval`

Variables: SLUICE_BUILD   the build folder with the programs (default build/release)
           SLUICE_SHARDS  partitions of the topics made by the first `up` (default 4)
END
}

# The program itself, wherever the build has put it.
program() {
    local name=$1 candidate
    for candidate in "$build/$name" "$build/host/$name" "$build/bin/$name"; do
        if [[ -x $candidate && -f $candidate ]]; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    say_error "there is no $name in $build; ./dev build makes it"
    return 1
}

address_of() {
    cat "$folder/$1.address"
}

# Once taken, an address stays: a service that comes back is found where it was.
take_address() {
    [[ -s $folder/$1.address ]] || printf '127.0.0.1:%s\n' "$(free_port)" >"$folder/$1.address"
}

http_ok() {
    curl -fsS -m 2 -o /dev/null "http://$1"
}

start_kafka() {
    "$here/kafka.sh" start "$folder" >/dev/null
}

start_redis() {
    "$here/redis.sh" start "$folder" >/dev/null
}

write_host_key() {
    [[ -s $folder/host.key ]] ||
        (umask 077 && head -c 24 /dev/urandom | base64 | tr '+/' '-_' >"$folder/host.key")
}

start_host() {
    local binary
    binary=$(program sluice-host)
    take_address host
    write_host_key
    start_process "$folder/host.pid" "$folder/host.log" "$binary" \
        --listen "$(address_of host)" --state-dir "$folder/host" --api-key-file "$folder/host.key"
    wait_for_service sluice-host 20 "$folder/host.pid" "$folder/host.log" \
        http_ok "$(address_of host)/health"
}

write_reconciler_config() {
    cat >"$folder/reconciler.json" <<END
{
  "kafkaBrokers": "$(address_of kafka)",
  "redisUrl": "redis://$(address_of redis)",
  "listen": "$(address_of reconciler)",
  "defaultProvider": "local",
  "providers": {
    "local": {
      "type": "local",
      "url": "http://$(address_of host)",
      "apiKeyFile": "$folder/host.key",
      "pools": ["default"],
      "defaultTemplate": "base",
      "concurrent": 50,
      "perSecond": 200
    }
  }
}
END
}

start_reconciler() {
    local binary
    binary=$(program sluice-reconciler)
    take_address reconciler
    write_reconciler_config
    start_process "$folder/reconciler.pid" "$folder/reconciler.log" "$binary" \
        --config "$folder/reconciler.json"
    wait_for_service sluice-reconciler 30 "$folder/reconciler.pid" "$folder/reconciler.log" \
        http_ok "$(address_of reconciler)/readyz"
}

# Prints what it does, and how long it took, around "$@".
with_timing() {
    local what=$1 begin=${EPOCHREALTIME/[.,]/}
    shift
    printf '    %-42s' "$what"
    "$@"
    printf '%6d ms\n' $(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
}

is_running() {
    running_pid "$folder/$1.pid" >/dev/null
}

make_topics() {
    [[ ! -e $folder/topics.made ]] || return 0
    local binary
    binary=$(program sluice)
    "$binary" topics create --kafka-brokers "$(address_of kafka)" --partitions "$shards" \
        >"$folder/topics.log" 2>&1 || {
        cat "$folder/topics.log" >&2
        return 1
    }
    touch "$folder/topics.made"
}

up() {
    local service
    for service in "${services[@]}"; do
        if [[ $service == reconciler ]]; then
            with_timing "topics ($shards shards)" make_topics
        fi
        if ! is_running "$service"; then
            with_timing "$service" "start_$service"
        fi
    done
}

# A sandbox outlives its host process by design, so somebody who stops everything must end them.
end_sandboxes() {
    is_running host || return 0
    local key id
    key=$(<"$folder/host.key")
    while read -r id; do
        curl -fsS -m 10 -o /dev/null -X DELETE -H "X-API-Key: $key" \
            "http://$(address_of host)/sandboxes/$id" || true
    done < <(curl -fsS -m 10 -H "X-API-Key: $key" \
        "http://$(address_of host)/v2/sandboxes?state=running,paused&limit=100" | jq -r '.[].sandboxID')
}

down() {
    stop_process "$folder/reconciler.pid"
    end_sandboxes
    stop_process "$folder/host.pid"
    "$here/redis.sh" stop "$folder"
    "$here/kafka.sh" stop "$folder"
}

ps_services() {
    local service pid address
    for service in "${services[@]}"; do
        address=$(address_of "$service" 2>/dev/null || echo -)
        if pid=$(running_pid "$folder/$service.pid"); then
            printf '%-11s %-16s running since %s, pid %s\n' "$service" "$address" \
                "$(date -d "@$(stat -c %Y "$folder/$service.pid")" +%T)" "$pid"
        else
            printf '%-11s %-16s stopped\n' "$service" "$address"
        fi
    done
}

print_env() {
    cat <<END
export SLU_KAFKA_BROKERS=$(address_of kafka)
export SLU_REDIS_URL=redis://$(address_of redis)
END
}

main() {
    local command=${1:-help} service=${3:-}
    case $command in
    up | down | start | kill | ps | env)
        folder=${2:?the state folder}
        mkdir -p "$folder"
        folder=$(realpath "$folder")
        ;;
    esac
    case $command in
    start | kill)
        if [[ " ${services[*]} " != *" $service "* ]]; then
            say_error "'$service' is no service; there are: ${services[*]}"
            return 2
        fi
        ;;
    esac
    case $command in
    up) up ;;
    down) down ;;
    start) is_running "$service" || "start_$service" ;;
    kill) kill_process "$folder/$service.pid" ;;
    ps) ps_services ;;
    env) print_env ;;
    help | --help | -h) usage ;;
    *)
        say_error "there is no command '$command'; see compose/stack.sh help"
        return 2
        ;;
    esac
}

main "$@"
