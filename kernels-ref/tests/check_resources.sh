#!/usr/bin/env bash
# check_resources.sh DEVICE_DIR README.md: holds what ptxas says about every kernel and architecture
# against the budgets of the table in README.md under "Registers". Fails on any spill, on a kernel that
# needs more registers than its budget or has none, and on a budget without a kernel.
set -euo pipefail
dir=$1 readme=$2

# "kernel sm_80 sm_90 sm_100" from rows like | `rms_norm<...>` | 32 | 32 | 32 | ... |
budgets=$(awk -F'|' '
    /^## / { in_table = $0 ~ /^## Registers/ }
    in_table && $2 ~ /`/ {
        gsub(/[ `]/, "", $2)
        print $2, $3 + 0, $4 + 0, $5 + 0
    }' "$readme")

# "kernel architecture registers spilled_bytes", one a line. Only one thing distinguishes variants of
# a kernel for the budget: the widest one counts.
used=$(cat "$dir"/*.ptxas.txt | c++filt | awk '
    /Compiling entry function/ {
        name = $0
        sub(/.*\(anonymous namespace\)::/, "", name)
        sub(/_kernel.*/, "", name)
        architecture = $0
        sub(/.* for .sm_/, "", architecture)
        sub(/[^0-9].*/, "", architecture)
        head_dim = ""
        if (match($0, /_kernel<[0-9]+[,>]/)) {
            head_dim = "<" substr($0, RSTART + 8, RLENGTH - 9) ">"
        }
    }
    /bytes spill stores/ { spilled = $0; sub(/.*frame, /, "", spilled); spilled += 0 }
    / Used [0-9]+ registers/ {
        registers = $0
        sub(/.* Used /, "", registers)
        print name head_dim, architecture, registers + 0, spilled
    }')

awk '
    NR == FNR {
        budget[$1, 80] = $2; budget[$1, 90] = $3; budget[$1, 100] = $4
        is_listed[$1] = 1
        next
    }
    {
        entries++
        seen[$1] = 1
        if ($4 > 0) { print $1 " on sm_" $2 " spills " $4 " bytes"; faults++ }
        if (!($1 in is_listed)) { print $1 " has no row in README.md; it uses " $3; faults++ }
        else if ($3 > budget[$1, $2]) {
            print $1 " on sm_" $2 " uses " $3 " registers, its budget is " budget[$1, $2]
            faults++
        }
    }
    END {
        for (kernel in is_listed) {
            if (!(kernel in seen)) { print kernel " has a budget, but there is no such kernel"; faults++ }
        }
        print entries + 0 " entries, " faults + 0 " faults"
        exit !(entries > 0 && faults == 0)
    }' <(printf '%s\n' "$budgets") <(printf '%s\n' "$used")
