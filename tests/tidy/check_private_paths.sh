#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nothing in the tree names a place on somebody's machine or the host of a package registry: the one
# works nowhere else, the other is each machine's own configuration.
source "$(dirname "$0")/tidy.sh"

# /home/user is the workspace inside every sandbox. The brackets keep these lines from finding themselves.
paths='(^|[^A-Za-z0-9_.-])/(wor[k]|roo[t]|hom[e]/(?!user/)[a-z][a-z0-9_-]*)/[A-Za-z0-9._-]|/tmp/bas[h]_jobs'
hosts='(repo[1]?\.mave[n]|repo\.mave[n]\.apache|pyp[i]|file[s]\.pythonhosted|registr[y]\.npmjs|registr[y]\.yarnpkg|de[b]\.debian|securit[y]\.debian|prox[y]\.golang)\.(org|com)'

while IFS= read -r file; do
    findings_from 'names a place of one machine or the host of a registry' \
        < <(grep -InP "$paths|$hosts" "$file" | cut -c1-160 | sed "s|^|$file:|")
done < <(project_files ! -name '*.bin' ! -name '*.png')
verdict
