#!/usr/bin/env bash
# compare_courses.sh COURSES COURSES_PLAIN [WORLDS]: plays the same worlds on both engines and fails
# at the first that takes another course.
set -euo pipefail
worlds=${3:-5000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" 0 "$worlds" >"$scratch/fast"
"$2" 0 "$worlds" >"$scratch/plain"
if ! cmp -s "$scratch/fast" "$scratch/plain"; then
    echo "the engines part ways:"
    diff "$scratch/plain" "$scratch/fast" | head -n 20 || true
    exit 1
fi
if grep -q broken "$scratch/fast"; then
    grep -m 5 broken "$scratch/fast"
    exit 1
fi
awk -v worlds="$worlds" '
    { for (i = 1; i < NF; i++) if ($(i + 1) ~ /^preemptions/) preemptions += $i }
    END { printf "%d worlds, %d courses, %d preemptions: the same\n", worlds, NR, preemptions }
' "$scratch/fast"
