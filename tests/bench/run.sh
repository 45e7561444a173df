#!/usr/bin/env bash
# Measures sluice and prints Markdown tables.
#
#   tests/bench/run.sh [--times K] [--program SLUICE] [--save] [TABLE...]
#
# Tables: loads, hybrids, blocks, growth, users, replicas, start; without one, all of them. Each load runs K
# times (5); rates are those of the median, and the best is shown beside it: on a machine that is
# shared they differ. Time is user + system of the whole process; results are printed as JSON and not
# written. Without --program the release build is brought up to date and measured.
#
# The last column compares the best with baseline.txt, if it has a line for this processor; it never
# makes the script fail. --save puts what was measured there.
# shellcheck source=tests/bench/loads.sh
. "$(dirname "$0")/loads.sh"
cd "$bench_dir/../.." || exit 1

times=5 program="" saves="" tables=()
while [ $# -gt 0 ]; do
    case $1 in
    --times) times=${2:?--times needs a number} && shift ;;
    --program) program=$(realpath "${2:?--program needs a path}") && shift ;;
    --save) saves=yes ;;
    loads | hybrids | blocks | growth | users | replicas | start) tables+=("$1") ;;
    *)
        echo "usage: run.sh [--times K] [--program SLUICE] [--save] [TABLE...]" >&2
        exit 2
        ;;
    esac
    shift
done
[ ${#tables[@]} -gt 0 ] || tables=(loads hybrids blocks growth users replicas start)

if [ -z "$program" ]; then
    { cmake --preset release && cmake --build --preset release --target sluice; } \
        >"$bench_work/build.log" 2>&1 || {
        cat "$bench_work/build.log" >&2
        exit 1
    }
    program=$PWD/build/release/sluice
fi
"${CC:-cc}" -std=c17 -D_POSIX_C_SOURCE=200809L -O1 -o "$bench_work/measure" \
    "$bench_dir/measure.c" || exit 1

processor=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1 | tr -s ' ')
baseline=$bench_dir/baseline.txt
: >"$bench_work/measured"

# baseline_of LABEL: its best CPU time in ns on this processor, or nothing
baseline_of() {
    [ ! -f "$baseline" ] || awk -F '\t' -v machine="$processor" -v label="$1" \
        '$1 == machine && $2 == label { print $3 }' "$baseline"
}

# measure LABEL SCENARIO [SETTING...]: a row
measure() {
    local label=$1 scenario=$2 i
    shift 2
    load_settings "$scenario" || {
        echo "| $label | needs SLUICE_DATA |"
        return
    }
    for setting in "$@"; do
        settings+=(--set "$setting")
    done
    : >"$bench_work/times"
    for ((i = 0; i < times; i++)); do
        "$bench_work/measure" "$bench_work/one" "$program" run \
            "$bench_dir/scenarios/$scenario.yaml" "${settings[@]}" --json \
            >"$bench_work/result" || exit 1
        cat "$bench_work/one" >>"$bench_work/times"
    done
    local cpu_ns best_ns resident_bytes
    best_ns=$(sort -n "$bench_work/times" | awk '{ print $1; exit }')
    cpu_ns=$(sort -n "$bench_work/times" | awk '{ ns[NR] = $1 } END { print ns[int((NR + 1) / 2)] }')
    resident_bytes=$(awk '$2 > most { most = $2 } END { print most }' "$bench_work/times")
    printf '%s\t%s\t%s\n' "$processor" "$label" "$best_ns" >>"$bench_work/measured"
    awk -v label="$label" -v ns="$cpu_ns" -v best_ns="$best_ns" \
        -v bytes="$resident_bytes" \
        -v requests="$(figure "$bench_work/result" requests_finished_count)" \
        -v tokens="$(output_tokens "$bench_work/result")" \
        -v steps="$(figure "$bench_work/result" step_count)" \
        -v before="$(baseline_of "$label")" 'BEGIN {
            s = ns / 1e9
            printf "| %s | %d | %.1f M | %d | %.3f | %.3f | %.0f k | %.0f M | %.1f M | %.0f | %.1f |", \
                label, requests, tokens / 1e6, steps, s, best_ns / 1e9, requests / s / 1e3, \
                tokens / s / 1e6, steps / s / 1e6, ns / steps, bytes / 1e6
            printf before == "" ? " |\n" : " %.2f |\n", best_ns / before
        }'
}

head_of_table() {
    echo
    echo "| $1 | requests | output tokens | steps | CPU s | best | requests/s | tokens/s | steps/s | ns a step | MB | × baseline |"
    echo "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
}

table_loads() {
    head_of_table load
    measure steady steady
    measure closed closed
    measure storm storm
    measure prefixes prefixes
    measure mooncake mooncake
    measure million million
}

table_hybrids() {
    head_of_table "sorts of layers"
    measure windows windows
    measure blocked blocked
    measure states states
    measure compressed compressed
}

# The storm keeps the tokens of its pool, not the blocks.
table_blocks() {
    head_of_table "512-token blocks"
    measure 'steady, 512' steady engine.block='512 tokens'
    measure 'closed, 512' closed engine.block='512 tokens'
    measure 'storm, 512' storm engine.block='512 tokens' memory.kv_blocks=94
    measure 'mooncake, 512' mooncake engine.block='512 tokens'
}

table_growth() {
    head_of_table "steady, requests"
    for requests in 10000 100000 1000000; do
        measure "$requests requests" million workload.requests=$requests
    done
}

table_users() {
    head_of_table "closed, users"
    for users in 64 256 1024 4096; do
        measure "$users users" users workload.concurrency=$users
    done
}

table_replicas() {
    head_of_table "steady, replicas"
    for replicas in 4 64 512; do
        measure "$replicas replicas" replicas replicas.count=$replicas \
            workload.rate="$((10 * replicas)) /s"
    done
}

table_start() {
    head_of_table start-up
    measure small small
}

echo "$processor · $("${CC:-cc}" --version | head -n 1) · $(getconf GNU_LIBC_VERSION) · median of $times"
for table in "${tables[@]}"; do
    "table_$table"
done

if [ -n "$saves" ]; then
    touch "$baseline"
    {
        awk -F '\t' 'NR == FNR { new[$1, $2] = 1; next } !(($1, $2) in new)' \
            "$bench_work/measured" "$baseline"
        cat "$bench_work/measured"
    } >"$bench_work/baseline"
    cp "$bench_work/baseline" "$baseline"
fi
