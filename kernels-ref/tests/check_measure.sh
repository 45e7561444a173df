#!/usr/bin/env bash
# check_measure.sh BUILD_DIR: measure.sh says what is missing, and quickly measures the CPU.
set -uo pipefail
build=$(realpath "$1")
measure=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../measure.sh")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

faults=0
# expect CODE TEXT ARGUMENT...
expect() {
    local wanted=$1 text=$2 code
    shift 2
    bash "$measure" "$@" >"$work/said" 2>&1
    code=$?
    if [ "$code" -ne "$wanted" ] || ! grep -qF -- "$text" "$work/said"; then
        echo "FAILED: measure.sh $*: exit $code, not $wanted with '$text': $(cat "$work/said")"
        faults=$((faults + 1))
    fi
}
expect 2 "unknown option '--fast'" --fast
expect 2 '--build needs a value' --build
expect 2 "backend 'gpu' is neither cuda nor cpu" --backend gpu
expect 2 'build the project first' --build "$work"
if ! command -v nvidia-smi >/dev/null; then
    expect 7 'no CUDA device' --build "$build" --out "$work/none"
    if [ -e "$work/none" ]; then
        echo "FAILED: something was written without a device"
        faults=$((faults + 1))
    fi
fi
expect 0 "measured: $work/new/" --backend cpu --build "$build" --out "$work/new" --quick
csv=$(compgen -G "$work/new/*.csv")
if [ "$("$build/kref_report" "$csv")" != "$(cat "${csv%.csv}.md")" ]; then
    echo "FAILED: the report is not that of the measurements"
    faults=$((faults + 1))
fi
echo "$faults faults"
[ "$faults" -eq 0 ]
