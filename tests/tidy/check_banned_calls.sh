#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Calls that have a safe sister (in brackets), and the environment read past the settings table.
source "$(dirname "$0")/tidy.sh"

declare -A instead=(
    [sprintf]='snprintf' [vsprintf]='vsnprintf' [strcpy]='snprintf or memcpy' [strcat]='slu_buffer'
    [strncpy]='snprintf or memcpy' [strncat]='slu_buffer' [stpcpy]='memcpy' [atoi]='strtol with its end checked'
    [atol]='strtol with its end checked' [atoll]='strtoll with its end checked'
    [atof]='strtod with its end checked' [system]='posix_spawn' [popen]='posix_spawn'
    [gets]='fgets' [strtok]='strtok_r' [tmpnam]='mkstemp' [mktemp]='mkstemp' [rand]='slu_random'
    [srand]='slu_random' [alloca]='a bounded array'
    [getenv]='a row in the settings table' [secure_getenv]='a row in the settings table'
)

# Comments and strings blanked, so that only code is looked at; lines keep their numbers.
code_of() {
    perl -0777 -pe '
        s{(/\*.*?\*/)|(//[^\n]*)|("(?:\\.|[^"\\\n])*")}
         {my $t = $&; $t =~ s/[^\n]/ /g; $t}gse' "$1"
}

names=$(IFS='|'; printf '%s' "${!instead[*]}")
while IFS= read -r file; do
    # Tests ask the environment where a service is, and give programs theirs.
    case $file in tests/*) is_test=1 ;; *) is_test=0 ;; esac
    while IFS=: read -r line call; do
        ((is_test)) && [[ $call == getenv || $call == secure_getenv ]] && continue
        finding "$file:$line: $call() is banned, use ${instead[$call]}"
    done < <(code_of "$file" |
        perl -ne "while (/(?<![A-Za-z0-9_>.])($names)\\s*\\(/g) { print \"\$.:\$1\\n\" }")
done < <(c_files)
verdict
