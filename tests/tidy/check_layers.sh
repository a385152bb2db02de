#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Includes point downward only, and third-party headers stay where they belong. (Calls are held by the
# linker: one CMake target per layer.)
source "$(dirname "$0")/tidy.sh"

# What each part may include of <slu/<layer>/…> and of the libraries.
declare -A may_include=(
    [lib/base]='base sodium xxhash'
    [lib/model]='base model jansson'
    [lib/plan]='base model plan'
    [lib/engine]='base model plan engine'
    [lib/port]='base model port'
    [lib/provider]='base model port provider jansson sodium'
    [lib/adapter]='base model port adapter librdkafka hiredis curl uv sodium'
    [reconciler]='base model plan engine port provider adapter jansson uv curl hiredis librdkafka microhttpd sodium'
    [cli]='base model port provider adapter jansson uv curl hiredis librdkafka sodium'
    [api-writer]='base model port adapter jansson uv curl hiredis librdkafka microhttpd sodium'
    [host]='base model jansson microhttpd sodium archive zstd seccomp uv'
)
libraries='sodium xxhash jansson librdkafka hiredis curl uv microhttpd archive zstd seccomp'

# "lib/base", "host", … of a file; include/slu/<layer>/ belongs to lib/<layer>.
part_of() {
    case $1 in
    include/slu/*) cut -d/ -f3 <<<"$1" | sed 's|^|lib/|' ;;
    lib/*) cut -d/ -f1,2 <<<"$1" ;;
    *) cut -d/ -f1 <<<"$1" ;;
    esac
}

# "base" of slu/base/log.h, "curl" of curl/curl.h, "xxhash" of xxhash.h, "sodium" of sodium/utils.h.
wanted_by() {
    local name=$1
    if [[ $name == slu/* ]]; then
        cut -d/ -f2 <<<"$name"
        return
    fi
    name=${name%%/*}
    name=${name%.h}
    case $name in
    jansson*) name=jansson ;;
    zstd* | zdict) name=zstd ;;
    archive*) name=archive ;;
    esac
    [[ " $libraries " == *" $name "* ]] && printf '%s\n' "$name"
    return 0
}

check_file() {
    local file=$1 allowed where include wanted
    allowed=${may_include[$(part_of "$file")]:-}
    while IFS=: read -r where include; do
        wanted=$(wanted_by "$include")
        if [[ -n $wanted && " $allowed " != *" $wanted "* ]]; then
            finding "$file:$where: $(part_of "$file") must not include <$include>"
        fi
    done < <(sed -nE 's|^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]([^">]+)[">].*|\1|;T;=;p' "$file" |
        paste -d: - -)
}

# The own header comes first: it proves that the header needs nothing before it.
check_own_header() {
    local file=$1 own first
    own=$(sed -E 's|^lib/(.*)\.c$|slu/\1.h|' <<<"$file")
    [[ -f include/$own ]] || return 0
    first=$(sed -nE 's|^#include ["<]([^">]+)[">].*|\1|p' "$file" | head -n 1)
    [[ $first == "$own" ]] || finding "$file:1: the first include must be \"$own\", not \"$first\""
}

while IFS= read -r file; do
    part=$(part_of "$file")
    [[ -n ${may_include[$part]:-} ]] || continue
    check_file "$file"
    [[ $file != lib/*.c ]] || check_own_header "$file"
done < <(c_files)
verdict
