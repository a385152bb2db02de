#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each schema of something that is decoded has its table slu_<name>_fields in lib/model, and each table its
# schema: a file, or a definition in common.schema.json. (tests/unit/model/test_schemas.c compares what
# they say; this finds the one that was forgotten altogether.)
source "$(dirname "$0")/tidy.sh"

# The table of the envelope is called after what it decodes.
declare -A table_of=([desired]=envelope)
# What only leaders write is not decoded by a table, and shared definitions belong to no one table.
no_table=' status event shard-record common '

tables() {
    { grep -rhoE '\bslu_[a-z_]+_fields\[\]' lib/model 2>/dev/null || true; } |
        sed -E 's/^slu_(.*)_fields\[\]$/\1/' | LC_ALL=C sort -u
}

while IFS= read -r schema; do
    name=$(basename "$schema" .schema.json)
    [[ $no_table == *" $name "* ]] && continue
    table=${table_of[$name]:-${name//-/_}}
    tables | grep -qx "$table" || finding "$schema: there is no table slu_${table}_fields in lib/model"
done < <(project_files -path './schemas/*.schema.json')

while IFS= read -r table; do
    file=$table
    [[ $table != "${table_of[desired]}" ]] || file=desired
    [[ -f schemas/${file//_/-}.schema.json ]] && continue
    jq -e --arg name "$table" '."$defs" | has($name)' schemas/common.schema.json >/dev/null 2>&1 ||
        finding "lib/model: slu_${table}_fields has neither a schema nor a definition in common.schema.json"
done < <(tables)
verdict
