#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures against the bars of design.md §13, one line per figure with its bar and ok or SHORT; all
# of it, with the raw numbers, is kept in the given folder. Everything it starts ends with it.
set -euo pipefail

usage() {
    cat <<'END'
Usage: tests/bench/run.sh <folder for raw numbers> [name…]

  admit     (a) records decoded, admitted and planned per second and core
  restore   (b) 1 M status records restored, beside a bare consumer; 1 M unchanged records judged
  memory    (c) resident bytes per resource
  http      requests one core of the HTTP client carries
  creates   (d) creates against a stub provider, open loop, 4 and 16 shards

Without a name all of them run. SLUICE_BUILD names the build folder (build/release); BENCH_RATE and
BENCH_SECONDS change (d) from its 1,000 creates a second for 60 s.
END
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${SLUICE_BUILD:-$root/build/release}
[[ $# -ge 1 && $1 != --help ]] || {
    usage
    exit 2
}
mkdir -p "$1"
raw=$(realpath "$1")
shift
scratch=$(mktemp -d)
started=()
short=0

# shellcheck disable=SC2317 # Reached by the trap, too.
stop_started() {
    local pid
    for pid in "${started[@]}"; do
        kill "$pid" 2>/dev/null || continue
        wait "$pid" 2>/dev/null || true
    done
    started=()
    for folder in "$scratch"/*/; do
        [[ -e $folder/kafka.pid ]] && "$root/compose/kafka.sh" stop "$folder" >/dev/null 2>&1
        [[ -e $folder/redis.pid ]] && "$root/compose/redis.sh" stop "$folder" >/dev/null 2>&1
        rm -rf "$folder"
    done
    return 0
}
trap 'stop_started; rm -rf "$scratch"' EXIT

# keep <name> <command …>: runs it, shows its lines and keeps them.
keep() {
    local name=$1 status=0
    shift
    "$@" | tee -a "$raw/$name.txt" || status=${PIPESTATUS[0]}
    ((status <= 1)) || return "$status"
    ((status == 0)) || short=1
}

begin_file() {
    {
        date -u '+# %Y-%m-%dT%H:%M:%SZ'
        echo "# $(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), load $(cut -d' ' -f1-3 /proc/loadavg)"
    } >"$raw/$1.txt"
}

admit() {
    begin_file admit
    keep admit "$build/tests/bench/bench_admit"
}

memory() {
    begin_file memory
    keep memory "$build/tests/bench/bench_memory"
}

http() {
    begin_file http
    keep http "$build/tests/bench/bench_http_client"
}

# start_log <folder> <shards>: a broker of its own with Sluice's topics; sets `brokers`.
start_log() {
    mkdir -p "$1"
    brokers=$("$root/compose/kafka.sh" start "$1" | tail -n 1)
    "$build/sluice" topics create --partitions "$2" --kafka-brokers "$brokers" >/dev/null
}

restore() {
    begin_file restore
    start_log "$scratch/restore" 1
    keep restore "$build/tests/bench/bench_restore" "$brokers" "${BENCH_RESOURCES:-1000000}"
    stop_started
}

wait_until() {
    local what=$1 tries=0
    shift
    until "$@" >/dev/null 2>&1; do
        ((++tries < 300)) || {
            echo "bench: $what does not become ready" >&2
            return 1
        }
        sleep 0.1
    done
}

# one_replica <folder> <shards>: broker, Redis, stub provider and one reconciler.
one_replica() {
    local folder=$1 redis stub
    start_log "$folder" "$2"
    redis=$("$root/compose/redis.sh" start "$folder" | tail -n 1)
    "$build/tests/bench/stub_provider/stub_provider" >"$folder/stub.log" 2>&1 &
    started+=($!)
    wait_until 'the stub provider' grep -q listening "$folder/stub.log"
    stub=$(sed -n 's/^listening //p' "$folder/stub.log")
    cat >"$folder/config.json" <<END
{"kafkaBrokers": "$brokers", "redisUrl": "redis://$redis", "defaultProvider": "local", "logLevel": "warn",
 "listen": "127.0.0.1:0", "providers": {"local": {"type": "local", "url": "$stub",
  "pools": ["default"], "concurrent": 1000, "perSecond": 100000, "resyncSeconds": 3600}}}
END
    "$build/sluice-reconciler" --config "$folder/config.json" >"$folder/reconciler.log" 2>&1 &
    started+=($!)
    wait_until 'the reconciler' leads_all "$2"
}

leads_all() {
    local led
    led=$("$build/sluice" shards --json --kafka-brokers "$brokers" | grep -c '"owner":"http') || led=0
    ((led == $1))
}

creates_with() {
    local shards=$1 bars=$2 folder=$scratch/creates-$1
    one_replica "$folder" "$shards"
    # A second of warm-up under numbers of its own: connections, topics, caches.
    "$build/tests/bench/bench_creates" "$brokers" 200 2 90000000 /dev/null warm-up >/dev/null || true
    # shellcheck disable=SC2086 # No bars: no argument.
    keep creates "$build/tests/bench/bench_creates" "$brokers" "${BENCH_RATE:-1000}" "${BENCH_SECONDS:-60}" 10000000 \
        "$raw/creates-$shards-shards.raw" "$shards shards" $bars
    cp "$folder/reconciler.log" "$raw/creates-$shards-shards.log"
    stop_started
}

creates() {
    begin_file creates
    creates_with 4 bars
    creates_with 16 ''
}

names=("$@")
((${#names[@]})) || names=(admit memory http restore creates)
for name in "${names[@]}"; do
    case $name in
    admit | memory | http | restore | creates) "$name" ;;
    *)
        usage >&2
        exit 2
        ;;
    esac
done
echo "raw numbers: $raw"
exit "$short"
