#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Calls that have a safe sister (in brackets), and the environment read past the settings table.
source "$(dirname "$0")/tidy.sh"

declare -A instead=(
    [sprintf]='snprintf' [vsprintf]='vsnprintf' [strcpy]='snprintf or memcpy' [strcat]='slu_buffer'
    [strncpy]='snprintf or memcpy' [stpcpy]='memcpy' [atoi]='strtol with its end checked'
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
    # Tests know what they read, and may ask the environment and the shell; memory they may not break.
    allowed=' '
    [[ $file != tests/* ]] || allowed=' getenv secure_getenv system popen rand srand atoi atol atoll atof '
    while IFS=: read -r line call; do
        [[ $allowed != *" $call "* ]] || continue
        finding "$file:$line: $call() is banned, use ${instead[$call]}"
    done < <(code_of "$file" |
        perl -ne "while (/(?<![A-Za-z0-9_>.])($names)\\s*\\(/g) { print \"\$.:\$1\\n\" }")
done < <(c_files)
verdict
