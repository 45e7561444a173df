#!/usr/bin/env bash
# Fails on a header that does not compile alone, by gcc or by clang: check_headers.sh [ROOT]
set -euo pipefail
cd "${1:-.}"

flags=(-std=c17 -D_POSIX_C_SOURCE=200809L -Isim/include -Isim -Werror -Wall -Wextra -Wpedantic
    -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla)
read -ra packages < <(pkg-config --cflags gsl yaml-0.1 sqlite3 json-c)
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || { echo "no $compiler here" && exit 1; }
done

faults=0
headers=0
while read -r header; do
    headers=$((headers + 1))
    for compiler in gcc clang; do
        # Included, not compiled itself: that a header is the main file is a warning of its own.
        # Twice, so that a missing guard shows.
        printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
            "$compiler" "${flags[@]}" "${packages[@]}" -I. -fsyntax-only -x c - ||
            faults=$((faults + 1))
    done
done < <(find sim workloads policies tests -name '*.h' 2>/dev/null | sort)

echo "$headers headers by two compilers, $faults failures"
[ "$headers" -gt 0 ] && [ "$faults" -eq 0 ]
