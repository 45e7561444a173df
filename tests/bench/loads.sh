# The loads that the benchmarks share; sourced by the scripts here.
#
# A load is a scenario of scenarios/ and settings on top of it. `load_settings NAME` leaves them in
# the array $settings; it fails when the load needs a public trace and SLUICE_DATA is not set.
#
# shellcheck shell=bash disable=SC2034 # names that the scripts use
set -uo pipefail

bench_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bench_work=$(mktemp -d)
trap 'rm -rf "$bench_work"' EXIT

# The same libm everywhere: x86 processors with and without FMA get different functions of glibc.
without_fma=GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA

# load_settings SCENARIO
load_settings() {
    settings=()
    [ "$1" = mooncake ] || return 0
    local trace=${SLUICE_DATA:-}/traces/mooncake-fast25/conversation_trace.jsonl
    [ -n "${SLUICE_DATA:-}" ] || return 1
    [ -f "$trace" ] || {
        echo "$trace is missing" >&2
        exit 1
    }
    settings=(--set "workload.file=$(realpath "$trace")")
}

# figure FILE NAME: the first number of that name in the result of `sluice run --json`
figure() {
    awk -F '[:,] *' -v name="\"$2\"" '$1 ~ name "$" { print $2; exit }' "$1"
}

# count FILE NAME: how many values a metric has; counts stand behind the metrics
count() {
    awk -F '[:,] *' -v name="\"$2\"" '
        /"counts":/ { is_there = 1 }
        is_there && $1 ~ name "$" { print $2; exit }' "$1"
}

# output_tokens FILE: a first token for each request, and one for each gap
output_tokens() {
    echo $(($(figure "$1" requests_finished_count) + $(count "$1" itl_mean_ns)))
}
