#!/usr/bin/env bash
# The benchmark loads at full scale: one result, digest and every metric, from
#
#   the engine as it is, the engine step by step, the plain engine of tests/plain,
#   and the engine with the functions of libm for processors without FMA;
#
# and the digests are those in digests.txt, whatever compiler and options built the programs.
#
#   compare_plain.sh SLUICE SLUICE_PLAIN             compares
#   compare_plain.sh SLUICE SLUICE_PLAIN --refresh   writes digests.txt anew: say why in the commit
# shellcheck source=tests/bench/loads.sh
. "$(dirname "$0")/loads.sh"

program=$(realpath "${1:?usage: compare_plain.sh SLUICE SLUICE_PLAIN}")
plain=$(realpath "${2:?usage: compare_plain.sh SLUICE SLUICE_PLAIN}")
refreshes=${3:-}
digests=$bench_dir/digests.txt
failures=0
if [ "$refreshes" = --refresh ] && [ -z "${SLUICE_DATA:-}" ]; then
    echo "SLUICE_DATA is not set: the digest of its trace would be lost"
    exit 2
fi

# result FILE COMMAND...: without the one setting that differs
result() {
    "${@:2}" "${settings[@]}" --json >"$bench_work/raw" || {
        echo "FAILED: ${*:2}"
        exit 1
    }
    grep -v '"engine.coalesce"' "$bench_work/raw" >"$1"
}

# compare WHAT [FILE]
compare() {
    local fast=${2:-$bench_work/fast}
    cmp -s "$fast" "$bench_work/other" || {
        echo "FAILED: $load differs $1:"
        diff "$fast" "$bench_work/other" | head -n 20
        failures=$((failures + 1))
    }
}

# The plain engine takes pages one by one, of which a request of `compressed` has 20,000.
compare_with_plain() {
    if [ "$load" = compressed ]; then
        local few=(--set workload.requests=300 --set memory.kv_blocks=4000000)
        result "$bench_work/few" "$program" run "$scenario" "${few[@]}"
        result "$bench_work/other" "$plain" run "$scenario" "${few[@]}"
        compare "on the plain engine" "$bench_work/few"
    else
        result "$bench_work/other" "$plain" run "$scenario"
        compare "on the plain engine"
    fi
}

for load in steady closed storm prefixes mooncake windows blocked states compressed; do
    load_settings "$load" || {
        echo "$load: SLUICE_DATA is not set"
        continue
    }
    scenario=$bench_dir/scenarios/$load.yaml
    result "$bench_work/fast" "$program" run "$scenario"
    result "$bench_work/other" "$program" run "$scenario" --set engine.coalesce=off
    compare "step by step"
    compare_with_plain
    result "$bench_work/other" env "$without_fma" "$program" run "$scenario"
    compare "without FMA"
    digest=$(sed -n 's/.*"digest": "\(.*\)",/\1/p' "$bench_work/fast")
    echo "$digest $load" | tee -a "$bench_work/digests"
    [ "$refreshes" = --refresh ] || grep -qxF "$digest $load" "$digests" || {
        echo "FAILED: the digest of $load is another one in digests.txt"
        failures=$((failures + 1))
    }
done
[ "$refreshes" != --refresh ] || cp "$bench_work/digests" "$digests"
[ "$failures" -eq 0 ]
