#!/usr/bin/env bash
# Reads the symbols of the floors' libraries: check_symbols.sh BUILD_DIR
#
# Fails on an external symbol that does not begin with sl_ or sli_, and on a floor below cli that
# prints to the terminal, exits, reads a clock or the environment, or changes the locale.
set -euo pipefail
build=${1:?usage: check_symbols.sh BUILD_DIR}

# As they are linked: the compiler turns a printf of constant text into puts or putchar.
outside='stdout|printf|vprintf|puts|putchar|exit|_exit|quick_exit|getenv|secure_getenv'
outside+='|time|clock|clock_gettime|gettimeofday|timespec_get|localtime|gmtime'
outside+='|rand|srand|random|srandom|setlocale|signal|sigaction'

faults=0
libraries=0
complain() {
    printf '%s\n' "$1"
    faults=$((faults + 1))
}

while read -r library; do
    libraries=$((libraries + 1))
    name=$(basename "$library")
    while read -r symbol; do
        complain "$name defines $symbol, which begins with neither sl_ nor sli_"
    done < <(nm -g --defined-only --format=posix "$library" | awk 'NF > 1 { print $1 }' |
        grep -vE '^(sl_|sli_|main$)' | sort -u)
    [ "$name" != libsluice_cli.a ] || continue
    while read -r symbol; do
        complain "$name calls $symbol; that belongs to cli"
    done < <(nm -u --format=posix "$library" | awk 'NF > 1 { print $1 }' |
        grep -xE "($outside)" | sort -u)
done < <(find "$build" -name 'libsluice_*.a' | sort)

echo "$libraries libraries, $faults faults"
[ "$libraries" -gt 0 ] && [ "$faults" -eq 0 ]
