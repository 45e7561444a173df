#!/usr/bin/env bash
# check_hdf5_name.sh ROOT CMAKE OBJDUMP LIBRARY NAME: cmake/hdf5.cmake finds the NAME of the LIBRARY, and
# without one says which of library and tool is to blame.
set -uo pipefail
script=$(realpath "$1")/cmake/hdf5.cmake cmake=$2 objdump=$3 library=$4 name=$5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

faults=0
# expect TEXT OBJDUMP LIBRARY
expect() {
    # shellcheck disable=SC2016 # it is CMake that expands it
    printf 'include("%s")\nmessage("found ${SLUICE_HDF5_NAME}")\n' "$script" >"$scratch/find.cmake"
    "$cmake" -D "CMAKE_OBJDUMP=$2" -D "HDF5_LINK_LIBRARIES=$3" -P "$scratch/find.cmake" >"$scratch/said" 2>&1
    tr -s ' \n' ' ' <"$scratch/said" >"$scratch/line" # messages are broken into lines
    if ! grep -qF -- "$1" "$scratch/line"; then
        echo "FAILED: objdump '$2', library '$3': no '$1' in: $(cat "$scratch/line")"
        faults=$((faults + 1))
    fi
}
expect "found $name" "$objdump" "$library"
echo 'int none;' | cc -shared -fPIC -x c - -o "$scratch/nameless.so"
expect 'nameless.so has no SONAME: a shared HDF5 library is needed' "$objdump" "$scratch/nameless.so"
expect 'objdump is needed to read the SONAME of' '' "$library"
expect 'objdump is needed to read the SONAME of' CMAKE_OBJDUMP-NOTFOUND "$library"
expect "cannot read the SONAME of $scratch/absent.so" "$objdump" "$scratch/absent.so"
expect "cannot read the SONAME of $library" "$scratch/no-tool" "$library"
echo "$faults faults"
[ "$faults" -eq 0 ]
