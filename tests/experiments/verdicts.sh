#!/usr/bin/env bash
# The verdicts of experiments/figures.sh, on figures at and beside the edges: verdicts.sh
set -uo pipefail
tests=$(cd "$(dirname "$0")" && pwd)
failures=0

# shellcheck source=experiments/figures.sh
. "$tests/../../experiments/figures.sh" "$(type -P true)"

# is VERDICT CALL...
is() {
    local wanted=$1
    shift
    rows=()
    "$@"
    [ "${rows[0]##*|}" = "$wanted" ] || {
        echo "FAILED: $* is ${rows[0]##*|}, not $wanted"
        failures=$((failures + 1))
    }
}

# exits CODE CALL...: the experiment that consists of it
exits() {
    local wanted=$1 code=0
    shift
    (
        rows=()
        surprises=()
        "$@"
        finish title >/dev/null 2>&1
    ) || code=$?
    [ "$code" -eq "$wanted" ] || {
        echo "FAILED: an experiment of $* exits with $code, not $wanted"
        failures=$((failures + 1))
    }
}

# ends CODE ARGUMENT...: an experiment that is called so says how it wants to be called
ends() {
    local wanted=$1 code=0 said
    shift
    said=$(bash "$tests/../../experiments/02-kivi/run.sh" "$@" 2>&1) || code=$?
    [ "$code" -eq "$wanted" ] && [[ $said == "usage: bash experiments/"* ]] || {
        echo "FAILED: run.sh $* exits with $code, not $wanted, and says $said"
        failures=$((failures + 1))
    }
}

ends 0 --help
ends 2 --quick
ends 2 -h
ends 2 sluice sluice
is equal exact a 4.625 4.62549
is "NOT EQUAL" exact a 4.625 4.6256
is equal exact a 1,435,968 1435968
is equal exact a "up to 4" 3.5001
is "NOT EQUAL" exact a "over 54" 66
is within within a 2 25 2.5
is within within a 2 25 1.5
is OUTSIDE within a 2 25 2.501
is OUTSIDE within a 2 25 1.499
is within within a "2.35 to 3.47" 25 1.763
is OUTSIDE within a "2.35 to 3.47" 25 1.762
is within within a "2.35 to 3.47" 25 4.337
is OUTSIDE within a "2.35 to 3.47" 25 4.338
is "same shape" shape a 5.76 2.88
is OUTSIDE shape a 5.76 2.879
is "same shape" shape a 5.76 11.52
is OUTSIDE shape a 5.76 11.53
is OUTSIDE shape a 1.6 1 # in another order
is "same place" turn a 4,096 2048
is OUTSIDE turn a 4,096 2047
is "same place" turn a 4,096 8192
is OUTSIDE turn a 4,096 8193
is "NOT COMPUTED" uncomputed a "29 x" C
is "an input" given a 5 5
is "not claimed" beside a 5 7
is "none published" unnamed a 5
is "not simulated" without a b
said='"figure": 44.27,'
is carried carried a 44.27
is "NOT EQUAL" carried a 44.28
said='"figures": 44.27,'
is "NOT EQUAL" carried a 44.27

exits 0 within a 2 25 2
exits 1 within a 2 25 4
exits 0 missed within a 2 25 4
exits 1 missed within a 2 25 2
exits 1 uncomputed a "29 x" C
exits 0 missed uncomputed a "29 x" C

[ "$failures" -eq 0 ]
