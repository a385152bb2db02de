#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No `default:` in a switch over one of our enums: it would silence -Wswitch-enum, so that a new value
# falls through unseen. The rule of thumb: a switch with a `case SLU_…` is over one of our enums.
source "$(dirname "$0")/tidy.sh"

defaults_in_our_switches() {
    perl -ne '
        s{//.*|"(?:\\.|[^"\\])*"|/\*.*?\*/}{}g;
        push @open, {depth => $depth, ours => 0, line => $.} if /\bswitch\s*\(/;
        if (@open) {
            $open[-1]{ours} = 1 if /\bcase\s+SLU_[A-Z0-9_]+\s*:/;
            $open[-1]{default} = $. if /\bdefault\s*:/;
        }
        for my $brace (/[{}]/g) {
            $depth += $brace eq "{" ? 1 : -1;
            if ($brace eq "}" && @open && $depth == $open[-1]{depth}) {
                my $switch = pop @open;
                print "$ARGV:$switch->{default}\n" if $switch->{ours} && $switch->{default};
            }
        }' "$1"
}

while IFS= read -r file; do
    findings_from 'a switch over an enum of ours must name each value, not use default:' \
        < <(defaults_in_our_switches "$file")
done < <(c_files)
verdict
