#!/usr/bin/env bash
# Fails on a file in C, C++ or CUDA that clang-format would change: check_format.sh [ROOT]
#
# Versions of clang-format disagree in details; Debian 12's is the judge, and where there is only
# another one the check is skipped (exit code 77).
set -euo pipefail
cd "${1:-.}"

for formatter in clang-format-14 clang-format; do
    if command -v "$formatter" >/dev/null && "$formatter" --version | grep -q 'version 14\.'; then
        find . \( -path ./build -o -path ./out -o -path ./.git \) -prune \
            -o \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' \) -print0 | xargs -0 -r "$formatter" --dry-run -Werror
        exit
    fi
done
echo "clang-format 14 is not here"
exit 77
