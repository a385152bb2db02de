#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# README's tables of settings say what the programs' --help says, row by row:
# check_settings.sh <tree> <build folder> [--write]; --write puts the right rows into README.md.
# A table stands between `<!-- settings: <program> -->` and `<!-- end of settings -->`.
source "$(dirname "$0")/tidy.sh"

build=$(realpath -m "${2:?the build folder}")
write=${3:-}
programs=(sluice-reconciler sluice-host sluice sluice-api-writer)

find_program() {
    local candidate
    for candidate in "$build/$1" "$build/host/$1"; do
        if [[ -f $candidate && -x $candidate ]]; then
            printf '%s\n' "$candidate"
            return
        fi
    done
}

# "  --listen TEXT   help text (default x; 1…9; SLU_LISTEN)" as a row of a Markdown table.
rows_of() {
    printf '| setting | default | bounds | what |\n|---|---|---|---|\n'
    "$1" --help | perl -Mutf8 -CSD -ne '
        next unless /^\s+(--[a-z0-9-]+(?: [A-Z]\S*)?)\s+(.*) \((.*?;\s*)?(SLU_[A-Z0-9_]+)\)\s*$/;
        my ($flag, $help, $rest) = ($1, $2, $3 // "");
        my $default = $rest =~ /default (.*?);/ ? "`$1`" : "";
        my $bounds = $rest =~ /(-?\d+…-?\d+)/ ? $1 : "";
        $help =~ s/\|/\\|/g;
        print "| `$flag` | $default | $bounds | $help |\n";'
}

table_in_readme() {
    sed -n "/^<!-- settings: $1 -->\$/,/^<!-- end of settings -->\$/p" README.md | grep '^|' || true
}

write_table() {
    local program=$1 rows=$2
    ROWS=$rows perl -0777 -CSDA -i -pe '
        BEGIN { $program = shift @ARGV; utf8::decode($rows = $ENV{ROWS}); }
        s/(<!-- settings: \Q$program\E -->\n).*?(<!-- end of settings -->)/$1$rows\n$2/s' \
        "$program" README.md
}

for program in "${programs[@]}"; do
    binary=$(find_program "$program")
    if [[ -z $binary ]]; then
        ! grep -q "^<!-- settings: $program -->" README.md 2>/dev/null ||
            echo "$program is not built in $build: its table was not compared"
        continue
    fi
    rows=$(rows_of "$binary")
    [[ -z $write ]] || write_table "$program" "$rows"
    if difference=$(diff <(table_in_readme "$program") <(printf '%s\n' "$rows")); then
        continue
    fi
    printf '%s\n' "$difference"
    finding "README.md: the settings of $program differ from its --help; check_settings.sh --write puts them right"
done
verdict
