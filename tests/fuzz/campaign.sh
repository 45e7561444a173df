#!/usr/bin/env bash
# New bad inputs for every reader, under the sanitizers: campaign.sh SECONDS
#
# Each entry runs for SECONDS on damaged texts from a seed of its own, and as long again with
# libFuzzer when clang has it; what that finds of interest is kept below build/libfuzzer for the
# next time. Prints how to bring a failure back; the exit code is 1 if there was any.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

seconds=${1:?usage: campaign.sh SECONDS}
entries=(scenario mooncake azure sluice trace_info import)
targets=("${entries[@]/#/fuzz_}")
seed=$(date +%s)
faults=0

# The folders of good texts that an entry starts from.
corpora() {
    local folder=tests/fuzz/corpus
    case $1 in
    trace_info) echo "$folder/mooncake" "$folder/azure" "$folder/sluice" ;;
    *) echo "$folder/$1" ;;
    esac
}

# build DIR OPTION...: the entries, quietly.
build() {
    local dir=$1
    shift
    mkdir -p "$dir"
    { cmake -S . -B "$dir" -G Ninja -D SLUICE_TESTS=ON "$@" &&
        cmake --build "$dir" --target "${targets[@]}"; } >"$dir/build.log" 2>&1 && return
    cat "$dir/build.log"
    echo "$dir: the build failed"
    exit 1
}

has_libfuzzer() {
    echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer -x c - -o build/asan/libfuzzer_probe 2>/dev/null
}

build build/asan -D CMAKE_BUILD_TYPE=Debug -D SLUICE_SANITIZE=address,undefined
for entry in "${entries[@]}"; do
    echo "== $entry, seed $seed"
    # shellcheck disable=SC2046 # several folders
    build/asan/tests/fuzz/fuzz_"$entry" $(corpora "$entry") --seed "$seed" --seconds "$seconds" ||
        faults=$((faults + 1))
done

if has_libfuzzer; then
    build build/libfuzzer -D CMAKE_C_COMPILER=clang -D CMAKE_BUILD_TYPE=Release \
        -D SLUICE_SANITIZE=fuzzer-no-link,address,undefined -D SLUICE_LIBFUZZER=ON
    for entry in "${entries[@]}"; do
        found=build/libfuzzer/found/$entry
        mkdir -p "$found"
        echo "== $entry, libFuzzer"
        # shellcheck disable=SC2046 # several folders
        build/libfuzzer/tests/fuzz/fuzz_"$entry" -max_total_time="$seconds" -max_len=4096 \
            -timeout=10 -verbosity=0 -print_final_stats=1 -artifact_prefix="$found-" \
            "$found" $(corpora "$entry") || faults=$((faults + 1))
    done
else
    echo "clang has no libFuzzer here: the driver's inputs are all"
fi

echo "$faults of $((2 * ${#entries[@]})) runs found something"
[ "$faults" -eq 0 ]
