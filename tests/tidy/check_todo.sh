#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is left to do stands in an issue, and a mark in the source names it: TO[D]O(#12).
source "$(dirname "$0")/tidy.sh"

while IFS= read -r file; do
    findings_from 'a mark without the number of its issue' \
        < <(grep -nE '\b(TO[D]O|FIX[M]E|XX[X])\b' "$file" | grep -vE '(TO[D]O|FIX[M]E)\(#[0-9]+\)' |
            cut -d: -f1 | sed "s|^|$file:|")
done < <(project_files -name '*.c' -o -name '*.h' -o -name '*.sh' -o -name '*.py' -o -name '*.lua' \
    -o -name '*.txt' -o -name '*.md' -o -path ./dev)
verdict
