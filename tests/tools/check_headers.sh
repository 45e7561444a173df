#!/usr/bin/env bash
# Fails on a header that does not compile alone, by gcc or by clang: check_headers.sh [ROOT]
set -euo pipefail
cd "${1:-.}"

warnings=(-Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
flags=(-std=c17 -D_POSIX_C_SOURCE=200809L -Isim/include -Isim "${warnings[@]}"
    -Wstrict-prototypes -Wmissing-prototypes -Wvla)
cxx_flags=(-std=c++17 -fno-exceptions -fno-rtti "${warnings[@]}")
read -ra packages < <(pkg-config --cflags gsl yaml-0.1 sqlite3 json-c hdf5)
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || { echo "no $compiler here" && exit 1; }
done

faults=0
headers=0
# check_header HEADER LANGUAGE FLAG...: by both compilers.
check_header() {
    local header=$1 language=$2 compiler
    shift 2
    headers=$((headers + 1))
    for compiler in gcc clang; do
        # Included, not compiled itself: that a header is the main file is a warning of its own.
        # Twice, so that a missing guard shows.
        printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
            "$compiler" "$@" -I. -fsyntax-only -x "$language" - || faults=$((faults + 1))
    done
}

while read -r header; do
    check_header "$header" c "${flags[@]}" "${packages[@]}"
done < <(find sim workloads policies tests -name '*.h' 2>/dev/null | sort)
# Of the kernels, oracles, closed forms and the CPU's loops are C; the rest is C++. The bench knows the
# format of measurements.
while read -r header; do
    case $header in
    kernels-ref/oracle/* | kernels-ref/figures/*) check_header "$header" c "${flags[@]}" -Ikernels-ref ;;
    kernels-ref/bench/cpu/*) check_header "$header" c "${flags[@]}" -fopenmp-simd -Ikernels-ref ;;
    kernels-ref/bench/*)
        check_header "$header" c++ "${cxx_flags[@]}" -Ikernels-ref -Isim -Isim/include
        ;;
    *) check_header "$header" c++ "${cxx_flags[@]}" -Ikernels-ref ;;
    esac
done < <(find kernels-ref -name '*.h' 2>/dev/null | sort)

echo "$headers headers by two compilers, $faults failures"
[ "$headers" -gt 0 ] && [ "$faults" -eq 0 ]
