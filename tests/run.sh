#!/usr/bin/env bash
# Installs what is missing, builds with each compiler and sanitizer, runs all tests.
#
#   tests/run.sh                  everything, under 15 minutes on two cores
#   tests/run.sh --quick          the release build alone
#   tests/run.sh --fuzz SECONDS   no tests, but new bad inputs for that long for each reader
#
# Tests on public traces look for $SLUICE_DATA/traces/SOURCE/FILE and are skipped when SLUICE_DATA
# is not set. The last line counts the cases of every build; the exit code is 1 if any failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

builds=(release clang asan debug)
case "$*" in
"") ;;
--quick) builds=(release) ;;
"--fuzz "[1-9]*)
    bash experiments/install_packages.sh --for tests || exit 1
    exec bash tests/fuzz/campaign.sh "$2"
    ;;
*)
    echo "usage: tests/run.sh [--quick | --fuzz SECONDS]" >&2
    exit 2
    ;;
esac

# Which tests a build runs, as options of ctest. The scripts of tools/ read the sources, so once is
# enough. Long statistics, whole traces and experiments touch no code that small worlds do not: asan
# leaves them out, and debug leaves the laws and experiments to the others.
selection() {
    case $1 in
    release) ;;
    asan) echo "-LE tools|experiments -E queueing_laws|cache_ratios|mooncake_whole|full_scale" ;;
    debug) echo "-LE tools|law|experiments -E cache_ratios" ;;
    *) echo "-LE tools" ;;
    esac
}

passed=0 failed=0 skipped=0

# run_build PRESET: configures, builds, tests; adds to the counts.
run_build() {
    local preset=$1 dir=build/$1 start=$SECONDS p f s
    mkdir -p "$dir"
    if ! { cmake --preset "$preset" -D SLUICE_TESTS=ON && cmake --build --preset "$preset"; } \
        >"$dir/build.log" 2>&1; then
        cat "$dir/build.log"
        echo "$preset: the build failed"
        failed=$((failed + 1))
        return
    fi
    echo "$preset: built in $((SECONDS - start)) s"

    start=$SECONDS
    rm -f "$dir/junit.xml"
    # The sizes keep ctest from cutting the output that the cases are counted in.
    # shellcheck disable=SC2046 # an option and its value
    ctest --test-dir "$dir" $(selection "$preset") --parallel 2 --timeout 600 --no-tests=error \
        --output-on-failure --output-junit junit.xml \
        --test-output-size-passed 16777216 --test-output-size-failed 16777216 \
        >"$dir/ctest.log" 2>&1
    local status=$?

    p=0 f=0 s=0
    if [ -s "$dir/junit.xml" ]; then
        read -r p f s < <(awk -f tests/tools/count_cases.awk "$dir/junit.xml")
    fi
    if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
        f=1 # ctest itself failed, or knows of a failure that no case owns
    fi
    [ "$f" -eq 0 ] || cat "$dir/ctest.log"
    echo "$preset: $p passed, $f failed, $s skipped in $((SECONDS - start)) s"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

bash experiments/install_packages.sh --for tests || exit 1
[ -n "${SLUICE_DATA:-}" ] || echo "SLUICE_DATA is not set: tests on public traces are skipped"
for build in "${builds[@]}"; do
    run_build "$build"
done
echo "tests: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
