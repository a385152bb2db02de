# SPDX-License-Identifier: Apache-2.0
# Sourced by dev, kafka.sh and redis.sh: starting, finding and stopping background programs by pid
# file, free ports on loopback, and waiting for a condition with a limit.
#
# A pid file holds "<pid> <start time in clock ticks since boot>". The pair names one process for
# ever, so a pid that the system has given to somebody else is never signalled.
# shellcheck shell=bash

say_error() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
}

# The start time of process $1. The name in /proc/<pid>/stat may hold spaces and brackets, hence the
# cut at the last one.
process_started_at() {
    local stat
    { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
    # Field 3 of the line, the state, is the first word after the name; the start time is field 22.
    local -a words
    read -ra words <<<"${stat##*) }"
    [[ ${words[0]} != Z ]] || return 1
    printf '%s\n' "${words[19]}"
}

# Prints the pid in pid file $1 if that very process still runs.
running_pid() {
    local pid started
    [[ -r $1 ]] && read -r pid started <"$1" || return 1
    [[ $(process_started_at "$pid") == "$started" ]] && printf '%s\n' "$pid"
}

# start_process <pid file> <log file> <command …>: in a session of its own, without our terminal, so
# that Ctrl-C in front of the screen does not reach it.
start_process() {
    local pid_file=$1 log_file=$2
    shift 2
    setsid "$@" </dev/null >>"$log_file" 2>&1 &
    local pid=$!
    disown "$pid"
    printf '%s %s\n' "$pid" "$(process_started_at "$pid")" >"$pid_file.new"
    mv "$pid_file.new" "$pid_file"
}

# stop_process <pid file> [seconds]: SIGTERM, then SIGKILL when it has not ended by then.
stop_process() {
    local pid_file=$1 limit_s=${2:-10} pid
    if pid=$(running_pid "$pid_file"); then
        kill -TERM "$pid" 2>/dev/null || true
        if ! wait_until "$limit_s" process_is_gone "$pid_file"; then
            say_error "process $pid has not ended after $limit_s s, killing it"
            kill -KILL "$pid" 2>/dev/null || true
            wait_until 10 process_is_gone "$pid_file"
        fi
    fi
    rm -f "$pid_file"
}

# As a crash would: nothing is told to the process, and its pid file stays.
kill_process() {
    local pid
    pid=$(running_pid "$1") || return 0
    kill -KILL "$pid"
    wait_until 10 process_is_gone "$1"
}

process_is_gone() {
    ! running_pid "$1" >/dev/null
}

# wait_until <seconds> <command …>: asks every 50 ms until the command succeeds.
wait_until() {
    local deadline=$((${EPOCHREALTIME/[.,]/} / 1000 + $1 * 1000))
    shift
    until "$@" >/dev/null 2>&1; do
        ((${EPOCHREALTIME/[.,]/} / 1000 < deadline)) || return 1
        sleep 0.05
    done
}

# wait_for_service <name> <seconds> <pid file> <log file> <command …>: until the command succeeds. Ends
# early when the process dies; shows the log's tail when it never answers.
wait_for_service() {
    local name=$1 limit_s=$2 pid_file=$3 log_file=$4
    shift 4
    if wait_until "$limit_s" answers_or_is_gone "$pid_file" "$@" && "$@" >/dev/null 2>&1; then
        return 0
    fi
    if running_pid "$pid_file" >/dev/null; then
        say_error "$name does not answer after $limit_s s; the end of $log_file:"
    else
        say_error "$name has ended instead of answering; the end of $log_file:"
    fi
    tail -n 25 "$log_file" >&2
    return 1
}

answers_or_is_gone() {
    local pid_file=$1
    shift
    "$@" || process_is_gone "$pid_file"
}

# A port that nothing listens on, below the range from which the system takes the ports of outgoing
# connections: nobody else gets it by chance between this look and its use.
free_port() {
    local port
    for _ in {1..200}; do
        port=$((20000 + RANDOM % 12000))
        if ! port_is_open "$port"; then
            printf '%s\n' "$port"
            return 0
        fi
    done
    say_error "no free port between 20000 and 31999"
    return 1
}

# Whether something accepts connections on port $1 of loopback.
port_is_open() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}
