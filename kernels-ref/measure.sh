#!/usr/bin/env bash
# Checks the kernels on the machine at hand, measures them, and leaves the measurements with their
# report in hwprofiles/measured/. What that takes is built before.
#
# cuda: the tests of all kernels on the device, once as they are and once under compute-sanitizer
# where that is installed; then the bench, with caches flushed. cpu: the tests of the CPU backend,
# then the bench with shapes that a CPU can do.
#
# Exit codes: 0 measured, 1 the build or a check has failed, 2 wrong use, 7 no device, a file that is
# there already or cannot be written, or what the bench says.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
backend=cuda build=$root/build/release out='' quick=() is_forced=no
usage="usage: bash kernels-ref/measure.sh [OPTION]...

  --backend cuda|cpu   what to measure; cuda if it is not given
  --build FOLDER       a configured build; build/release if it is not given
  --out FOLDER         where the measurements go; hwprofiles/measured if it is not given
  --quick              few small shapes: a try, not a measurement; kept only where --out says
  --force              replace what has been measured there on this day"

refuse() {
    echo "measure.sh: $1" >&2
    exit "$2"
}

while [ $# -gt 0 ]; do
    case $1 in
    --help)
        echo "$usage"
        exit 0
        ;;
    --quick) quick=(--quick) ;;
    --force) is_forced=yes ;;
    --backend | --build | --out)
        [ $# -gt 1 ] || refuse "$1 needs a value" 2
        declare "${1#--}=$2"
        shift
        ;;
    *) refuse "unknown option '$1'; there are --backend, --build, --out, --quick, --force and --help" 2 ;;
    esac
    shift
done
[ "$backend" = cuda ] || [ "$backend" = cpu ] || refuse "backend '$backend' is neither cuda nor cpu" 2
if [ ${#quick[@]} -eq 0 ]; then
    out=${out:-$root/hwprofiles/measured}
elif [ -n "$out" ] && [ "$(realpath -m "$out")" = "$root/hwprofiles/measured" ]; then
    refuse "--quick is a try, and hwprofiles/measured is for measurements: give another --out, or none" 2
fi

# ---- What it takes ----

work=$(mktemp -d) || exit 7
trap 'rm -rf "$work"' EXIT

[ -f "$build/CMakeCache.txt" ] ||
    refuse "$build is no configured build: cmake --preset release -D SLUICE_TESTS=ON makes build/release" 2
# Only a build with tests and kernels knows the targets.
make() {
    cmake --build "$build" --target "$@" >"$work/built" 2>&1 && return
    cat "$work/built" >&2
    refuse "cannot build $*, which takes a build with tests and kernels: \
cmake --preset release -D SLUICE_TESTS=ON makes build/release one" 1
}
make kref_bench kref_report sluice

# The bench knows best whether there is a device, and says why there is none.
"$build/kref_bench" --backend "$backend" --quick --kernel rms_norm --out "$work/first.csv" >/dev/null || exit $?
make "kref_measure_$backend"

# place TABLE: where it belongs, without an ending; what is there is not replaced unasked.
place() {
    local name file
    name=$("$build/kref_report" --name "$1") || exit $?
    for file in "$out/$name.csv" "$out/$name.md"; do
        [ ! -e "$file" ] || [ "$is_forced" = yes ] || refuse "$file exists; --force replaces it" 7
    done
    echo "$out/$name"
}
# It takes minutes to measure: a file that is in the way is told before.
[ -z "$out" ] || place "$work/first.csv" >/dev/null || exit $?

# ---- Checks and measurements ----

if [ "$backend" = cuda ]; then
    tests='^kref_.*_device$|^kref_device_sanitized$'
    how=(--flush)
else
    tests='^kref_test_cpu|^kref_cpu_numbers$'
    how=(--work-max 3e9 --seconds 0.5)
fi
ctest --test-dir "$build" -R "$tests" --output-on-failure --no-tests=error ||
    refuse "the checks have failed, so nothing is measured" 1

"$build/kref_bench" --backend "$backend" "${how[@]}" ${quick[@]+"${quick[@]}"} --out "$work/all.csv" ||
    exit $?
"$build/sluice" check "$work/all.csv" || exit $?
"$build/kref_report" "$work/all.csv" >"$work/all.md" || exit $?
grep -E 'aimed at|the speed of' "$work/all.md"
if [ -z "$out" ]; then
    echo "a try, of which nothing is kept; --out FOLDER keeps it"
    exit 0
fi
to=$(place "$work/all.csv") || exit $?
if ! mkdir -p "$out" || ! cp "$work/all.csv" "$to.csv" || ! cp "$work/all.md" "$to.md"; then
    refuse "cannot write into $out" 7
fi
echo "measured: $to.csv, with its report in $(basename "$to").md"
