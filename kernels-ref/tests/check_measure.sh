#!/usr/bin/env bash
# check_measure.sh BUILD_DIR: measure.sh says what is missing, and quickly measures the CPU. It keeps
# a try only where it is told to, and replaces no measurement unasked.
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
expect 2 'cmake --preset release -D SLUICE_TESTS=ON' --build "$work"
expect 0 'usage: bash kernels-ref/measure.sh' --help
measured=$(realpath "$(dirname "$measure")/../hwprofiles/measured")
expect 2 'hwprofiles/measured is for measurements' --quick --backend cpu --out "$measured/../measured"
if ! command -v nvidia-smi >/dev/null; then
    expect 7 'no CUDA device' --build "$build" --out "$work/none"
    if [ -e "$work/none" ]; then
        echo "FAILED: something was written without a device"
        faults=$((faults + 1))
    fi
fi
expect 0 "measured: $work/new/" --backend cpu --build "$build" --out "$work/new" --quick
csv=$(compgen -G "$work/new/*.csv")
before=$(stat -c %Y.%i "$csv")
expect 7 "$csv exists; --force replaces it" --backend cpu --build "$build" --out "$work/new" --quick
if [ "$(stat -c %Y.%i "$csv")" != "$before" ]; then
    echo "FAILED: a measurement was replaced unasked"
    faults=$((faults + 1))
fi
expect 0 "measured: $csv" --backend cpu --build "$build" --out "$work/new" --quick --force
kept=$(sha256sum "$measured"/*)
expect 0 'a try, of which nothing is kept' --backend cpu --build "$build" --quick
if [ "$(sha256sum "$measured"/*)" != "$kept" ]; then
    echo "FAILED: a try has changed $measured"
    faults=$((faults + 1))
fi
if [ "$("$build/kref_report" "$csv")" != "$(cat "${csv%.csv}.md")" ]; then
    echo "FAILED: the report is not that of the measurements"
    faults=$((faults + 1))
fi
echo "$faults faults"
[ "$faults" -eq 0 ]
