#!/usr/bin/env bash
# From a fresh machine to a first simulated run: installs what is missing, builds, runs, and says
# what the results mean. May be started from any folder, any number of times.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*" >&2; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
    if ! "$@" >"$log" 2>&1; then
        cat "$log" >&2
        say "This failed: $*"
        exit 1
    fi
}

bash experiments/install_packages.sh --for run

say "building (build/release)"
tests=OFF # they need one package more; tests/run.sh installs it and turns them on
! pkg-config --exists cmocka || tests=ON
quietly cmake --preset release -D SLUICE_TESTS=$tests
quietly cmake --build --preset release --target sluice

say "running experiments/01-first-run/scenario.yaml"
say ""
build/release/sluice run experiments/01-first-run/scenario.yaml --out out/quickstart --force

cat <<END

Where the results are: $PWD/out/quickstart
  scenario.resolved.yaml   every setting with where it came from; running it again gives the same digest
  run.sqlite               every figure as a row of the table metric (name, unit, value, n)

What they mean: TTFT is the wait from a request's arrival to its first token, TPOT the time of each
token after that, E2E the whole. The rows show the mean and the percentiles over all requests; n is
how many were counted. Two runs of equal digest took the same course, request by request.

Next: copy the scenario, change it, and run it yourself:
  build/release/sluice run my.yaml --out out/mine
  build/release/sluice help run
END
