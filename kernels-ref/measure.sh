#!/usr/bin/env bash
# Checks the kernels on the machine at hand, measures them, and leaves the measurements with their
# report in hwprofiles/measured/.
#
#   bash kernels-ref/measure.sh [--backend cuda|cpu] [--build FOLDER] [--out FOLDER] [--quick]
#
# cuda, which is what it does if nothing is said: the tests of all kernels on the device, once as they
# are and once under compute-sanitizer where that is installed; then the bench, with caches flushed.
# cpu: the tests of the CPU backend, then the bench with shapes that a CPU can do. --quick: few small
# shapes, a try. The build is build/release if nothing is said, and has to be there.
#
# Exit codes: 0 measured, 1 a check has failed, 2 wrong use, 7 no device, or what the bench says.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
backend=cuda build=$root/build/release out=$root/hwprofiles/measured quick=()

refuse() {
    echo "measure.sh: $1" >&2
    exit "$2"
}

while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=(--quick) ;;
    --backend | --build | --out)
        [ $# -gt 1 ] || refuse "$1 needs a value" 2
        declare "${1#--}=$2"
        shift
        ;;
    *) refuse "unknown option '$1'; there are --backend, --build, --out and --quick" 2 ;;
    esac
    shift
done
[ "$backend" = cuda ] || [ "$backend" = cpu ] || refuse "backend '$backend' is neither cuda nor cpu" 2
for program in kref_bench kref_report sluice; do
    [ -x "$build/$program" ] || refuse "there is no $build/$program: build the project first" 2
done

# The tests that a backend is checked by, and how it is measured.
if [ "$backend" = cuda ]; then
    tests='^kref_.*_device$|^kref_device_sanitized$'
    how=(--flush)
    # The bench knows best whether there is a device, and says why there is none.
    "$build/kref_bench" --backend cuda --quick --kernel rms_norm >/dev/null || exit $?
else
    tests='^kref_test_cpu|^kref_cpu_numbers$'
    how=(--work-max 3e9 --seconds 0.5)
fi
ctest --test-dir "$build" -R "$tests" --output-on-failure --no-tests=error ||
    refuse "the checks have failed, so nothing is measured" 1

work=$(mktemp -d) || exit 7
trap 'rm -rf "$work"' EXIT
"$build/kref_bench" --backend "$backend" "${how[@]}" ${quick[@]+"${quick[@]}"} --out "$work/all.csv" ||
    exit $?
"$build/sluice" check "$work/all.csv" || exit $?
"$build/kref_report" "$work/all.csv" >"$work/all.md" || exit $?
name=$("$build/kref_report" --name "$work/all.csv") || exit $?
if ! mkdir -p "$out" || ! cp "$work/all.csv" "$out/$name.csv" || ! cp "$work/all.md" "$out/$name.md"; then
    refuse "cannot write into $out" 7
fi
grep -E 'aimed at|the speed of' "$out/$name.md"
echo "measured: $out/$name.csv, with its report in $name.md"
