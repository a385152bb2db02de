#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source says its licence in its first line, or in the second below a #! line.
source "$(dirname "$0")/tidy.sh"

while IFS= read -r file; do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
        finding "$file:1: the SPDX-License-Identifier line is missing"
done < <(
    c_files
    project_files -name '*.sh' -o -name '*.py' -o -name '*.js' -o -name '*.mjs' -o -name '*.lua' \
        -o -name CMakeLists.txt -o -name '*.cmake' -o -name '*.properties' -o -path ./dev \
        -o -path ./.ci/run
)
verdict
