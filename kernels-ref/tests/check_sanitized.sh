#!/usr/bin/env bash
# check_sanitized.sh PROGRAM...: the tests of the kernels on a device, under each tool of NVIDIA's
# compute-sanitizer. Without the tool or a device it says so, and is skipped (77).
set -uo pipefail
tools=(memcheck racecheck initcheck synccheck)

if ! command -v compute-sanitizer >/dev/null; then
    echo "skipped: no compute-sanitizer"
    exit 77
fi
"$1" >/dev/null 2>&1
if [ $? -eq 77 ]; then
    echo "skipped: no device"
    exit 77
fi

said=$(mktemp)
trap 'rm -f "$said"' EXIT
faults=0
for program in "$@"; do
    for tool in "${tools[@]}"; do
        if compute-sanitizer --tool "$tool" --error-exitcode 99 "$program" >"$said" 2>&1; then
            echo "$(basename "$program"), $tool: clean"
        else
            echo "$(basename "$program"), $tool:"
            cat "$said"
            faults=$((faults + 1))
        fi
    done
done
echo "$faults faults"
[ "$faults" -eq 0 ]
