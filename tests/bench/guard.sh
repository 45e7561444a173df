#!/usr/bin/env bash
# Instructions of the program on small loads, against those in instructions.txt: of main and all that
# it calls, without what loads the libraries before it.
#
#   guard.sh SLUICE COMPILER             fails when one needs over 10 % more than is stored
#   guard.sh SLUICE COMPILER --refresh   stores what is found: say in the commit what changed it
#
# Instructions do not depend on how busy the machine is, which makes them fit for a test. They do
# depend on the compiler, glibc and GSL, so figures stored for others are not compared: the test is
# skipped, as without valgrind. Functions of libm for processors with FMA are kept out of it.
# shellcheck source=tests/bench/loads.sh
. "$(dirname "$0")/loads.sh"

program=$(realpath "${1:?usage: guard.sh SLUICE COMPILER [--refresh]}")
compiler=${2:?usage: guard.sh SLUICE COMPILER [--refresh]}
refreshes=${3:-}
stored=$bench_dir/instructions.txt
requests=3000

command -v valgrind >/dev/null || {
    echo "valgrind is not installed"
    exit 77
}

toolchain="$compiler, $(getconf GNU_LIBC_VERSION), GSL $(pkg-config --modversion gsl)"
if [ "$refreshes" != --refresh ] && ! grep -qxF "# $toolchain" "$stored"; then
    echo "instructions.txt is not for $toolchain but for:"
    sed -n '2s/^# //p' "$stored"
    exit 77
fi

# count_instructions SCENARIO: a line as in instructions.txt
count_instructions() {
    env "$without_fma" valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=main \
        --log-file="$bench_work/log" "$program" run "$bench_dir/scenarios/$1.yaml" \
        --set workload.requests=$requests --json >"$bench_work/result" || {
        cat "$bench_work/log"
        exit 1
    }
    local instructions steps
    instructions=$(sed -n 's/.*Collected : //p' "$bench_work/log")
    [ "${instructions:-0}" -gt 0 ] || {
        echo "FAILED: nothing was counted: $program has no symbol main" >&2
        exit 1
    }
    steps=$(figure "$bench_work/result" step_count)
    echo "$1 $((instructions / requests)) $((instructions / steps))"
}

{
    echo "# Instructions a request and a step of $requests requests: guard.sh compares, --refresh rewrites."
    echo "# $toolchain"
    for scenario in steady storm prefixes windows blocked states compressed; do
        count_instructions "$scenario"
    done
} >"$bench_work/found" || exit 1

if [ "$refreshes" = --refresh ]; then
    cp "$bench_work/found" "$stored"
    cat "$stored"
    exit
fi

awk -v limit=1.10 '
    /^#/ { next }
    NR == FNR { request[$1] = $2; step[$1] = $3; next }
    {
        a_request = $2 / request[$1]
        a_step = $3 / step[$1]
        printf "%-10s %6d a request (× %.3f) %6d a step (× %.3f)\n", $1, $2, a_request, $3, a_step
        compared++
        if (a_request > limit || a_step > limit) {
            print "FAILED: " $1 " needs over 10 % more instructions than is stored"
            failures++
        } else if (a_request * limit < 1 && a_step * limit < 1) {
            print "note: " $1 " needs 10 % fewer than is stored; keep the gain with --refresh"
        }
    }
    END { exit failures > 0 || compared != 7 }' "$stored" "$bench_work/found"
