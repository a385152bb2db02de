#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A real Kafka broker for machines without containers: the jars of pom.xml on a Java runtime, in
# KRaft mode, on loopback only. Everything it writes lies in the given state folder.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=service.sh
source "$here/service.sh"

usage() {
    cat <<'END'
Usage: compose/kafka.sh <command> [<state folder>]

  jars                  copies Kafka's jars into the cache folder (once), prints where they are
  start <state folder>  starts the broker there, or finds it running; waits until it answers;
                        the last line printed is its address, for example 127.0.0.1:24001
  address <state folder>  prints the address of the broker that was started there
  stop <state folder>   stops it; its data stay
  kill <state folder>   ends it with SIGKILL, as a crash would

A broker started again in the same state folder has the same address and data.

Variables: SLUICE_CACHE  where the jars are kept (default: .cache in the checkout)
           KAFKA_HEAP the Java heap (default 256m)
END
}

# The pinned version names the folder, so that a new pom.xml fetches anew.
jars_folder() {
    local version
    version=$(sed -n 's|.*<kafka.version>\(.*\)</kafka.version>.*|\1|p' "$here/pom.xml")
    printf '%s\n' "${SLUICE_CACHE:-$here/../.cache}/kafka-$version"
}

# Several tests may ask at the same moment: one fetches, the others wait; and a fetch that was broken
# off leaves nothing that looks whole.
fetch_jars() {
    local folder
    folder=$(jars_folder)
    mkdir -p "${folder%/*}"
    if [[ ! -d $folder ]]; then
        (
            flock 9
            [[ ! -d $folder ]] || exit 0
            rm -rf "$folder.part"
            mvn -B -q -ntp -Dstyle.color=never -f "$here/pom.xml" dependency:copy-dependencies \
                -DoutputDirectory="$(realpath -m "$folder.part")" >&2
            mv "$folder.part" "$folder"
        ) 9>"$folder.lock"
    fi
    realpath "$folder"
}

run_java() {
    local heap=$1
    shift
    java "-Xmx$heap" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        "-Dlog4j2.configurationFile=$here/log4j2.xml" -cp "$(fetch_jars)/*" "$@"
}

write_properties() {
    local folder=$1 port=$2 controller_port=$3
    cat "$here/kafka.properties" - >"$folder/kafka.properties" <<END

listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller_port
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.quorum.voters=1@127.0.0.1:$controller_port
log.dirs=$folder/kafka-data
END
}

make_broker() {
    local folder=$1 port controller_port
    port=$(free_port)
    controller_port=$(free_port)
    while [[ $controller_port == "$port" ]]; do controller_port=$(free_port); done
    rm -rf "$folder/kafka-data"
    write_properties "$folder" "$port" "$controller_port"
    if ! run_java 128m kafka.tools.StorageTool format -t "$(cluster_id)" \
        -c "$folder/kafka.properties" >"$folder/kafka.log" 2>&1; then
        say_error "formatting the data folder failed:"
        cat "$folder/kafka.log" >&2
        return 1
    fi
    printf '127.0.0.1:%s\n' "$port" >"$folder/kafka.address"
}

# 16 random bytes in Kafka's spelling of a UUID; no dash, which would look like a flag in front.
cluster_id() {
    head -c 16 /dev/urandom | base64 | tr '+/' 'AZ' | tr -d '='
}

broker_answers() {
    kcat -b "$1" -L -m 2 | grep -q ' 1 brokers:'
}

launch_broker() {
    local folder=$1 jars
    jars=$(fetch_jars)
    start_process "$folder/kafka.pid" "$folder/kafka.log" \
        java "-Xmx${KAFKA_HEAP:-256m}" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -XX:+ExitOnOutOfMemoryError "-Dlog4j2.configurationFile=$here/log4j2.xml" \
        -cp "$jars/*" kafka.Kafka "$folder/kafka.properties"
    wait_for_service kafka 60 "$folder/kafka.pid" "$folder/kafka.log" \
        broker_answers "$(<"$folder/kafka.address")"
}

start() {
    mkdir -p "$1"
    local folder
    folder=$(realpath "$1")
    if ! running_pid "$folder/kafka.pid" >/dev/null; then
        [[ -s $folder/kafka.address ]] || make_broker "$folder"
        launch_broker "$folder"
    fi
    cat "$folder/kafka.address"
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
    jars) fetch_jars ;;
    start) start "$folder" ;;
    address) cat "$folder/kafka.address" ;;
    stop) stop_process "$folder/kafka.pid" ;;
    kill) kill_process "$folder/kafka.pid" ;;
    help | --help | -h) usage ;;
    *)
        say_error "there is no command '$command'; see compose/kafka.sh help"
        return 2
        ;;
    esac
}

main "$@"
