#!/usr/bin/env bash
# Runs an experiment, and compares its table with that in its README: table.sh SLUICE FOLDER [--refresh]
#
# Fails when a figure misses that is not known to, when one holds that is, when the README says another
# figure than the run, and when it says nothing of figures that miss. --refresh writes the table into the
# README: look at the difference.
set -euo pipefail

sluice=${1:?usage: table.sh SLUICE FOLDER [--refresh]}
folder=${2:?usage: table.sh SLUICE FOLDER [--refresh]}
readme=$folder/README.md

status=0
said=$(bash "$folder/run.sh" "$sluice") || status=$?
[ "$status" -eq 0 ] || printf '%s\n' "$said"

table=$(grep '^|' <<<"$said") || {
    echo "FAILED: $folder/run.sh printed no table"
    exit 1
}

# The lines of the README from the head of the table to the next that is none of its.
of_readme() {
    awk '/^\| figure / { inside = 1 } !/^\|/ { inside = 0 } inside' "$readme"
}

if [ "${3:-}" = --refresh ]; then
    TABLE=$table awk '
        /^\| figure / { inside = 1; print ENVIRON["TABLE"] }
        !/^\|/ { inside = 0 }
        !inside' "$readme" >"$readme.new"
    mv "$readme.new" "$readme"
fi

diff -u --label "$readme" --label "$folder/run.sh" <(of_readme) <(printf '%s\n' "$table") || {
    echo "FAILED: $readme says other figures; refresh it with: bash $0 SLUICE $folder --refresh"
    status=1
}

# Whoever misses says why, and nobody says so who does not.
misses=$(grep -cE '[|] (NOT EQUAL|OUTSIDE|NOT COMPUTED) *[|]$' <<<"$table") || true
reasons=$(grep -c '^\*\*Missed\.\*\*' "$readme") || true
if [ "$((misses > 0))" -ne "$reasons" ]; then
    echo "FAILED: $misses figures miss, and $readme has $reasons paragraphs **Missed.**"
    status=1
fi
exit "$status"
