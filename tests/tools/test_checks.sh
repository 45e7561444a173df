#!/usr/bin/env bash
# Tests the checks themselves: each passes on a small clean house and fails once a fault is planted.
set -uo pipefail
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
style=$tools/../../.clang-format
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

failures=0
fail() {
    echo "FAILED: $1"
    failures=$((failures + 1))
}

# A house of two floors in which nothing is wrong.
clean_house() {
    rm -rf "$scratch/house"
    mkdir -p "$scratch"/house/{sim/include/sluice,sim/{base,kernel,kv,cost,out,cli},policies/batch}
    cd "$scratch/house" || exit 1
    cp "$style" .
    printf '#ifndef ERR_H\n#define ERR_H\nint sl_err_count(void);\n#endif\n' >sim/include/sluice/err.h
    printf '#ifndef A_H\n#define A_H\n#include "sluice/err.h"\nint sli_a(void);\n#endif\n' >sim/base/a.h
    printf '#include "base/a.h"\n\nint sli_a(void) {\n    return 1;\n}\n' >sim/base/a.c
    printf '#include "base/a.h"\n#include <stdio.h>\n' >sim/kernel/b.c
}

# build_library FLOOR FILE: what the build would make of it.
build_library() {
    mkdir -p build
    gcc -c -Isim -Isim/include "$2" -o build/object.o && ar rcs "build/libsluice_$1.a" build/object.o
}

check() {
    case $1 in
    symbols) bash "$tools/check_symbols.sh" build ;;
    *) bash "$tools/check_$1.sh" . ;;
    esac >"$scratch/log" 2>&1
}

# expect_pass CHECK NAME / expect_fault CHECK NAME: NAME says what was planted.
expect_pass() {
    check "$1"
    local status=$?
    [ $status -eq 0 ] || [ $status -eq 77 ] || { cat "$scratch/log" && fail "$1 refuses $2"; }
}
expect_fault() {
    check "$1"
    local status=$?
    [ $status -eq 1 ] || [ $status -eq 123 ] || [ $status -eq 77 ] || fail "$1 misses $2"
}

clean_house
build_library base sim/base/a.c
for each in floors headers format symbols words; do
    expect_pass "$each" "a clean house"
done

# plant_include FILE HEADER
plant_include() {
    clean_house
    mkdir -p "$(dirname "$1")"
    echo "#include \"$2\"" >>"$1"
}
for fault in \
    "sim/base/a.c kernel/b.h" "sim/kernel/b.c cli/c.h" "sim/cost/d.c kv/e.h" \
    "sim/out/f.c cost/d.h" "sim/out/f.c sluice/policy.h" "sim/include/sluice/err.h base/a.h" \
    "policies/batch/g.c base/a.h" "policies/batch/g.c sluice/err.h" "workloads/h.c engine/i.h" \
    "workloads/h.c sluice/policy.h" "sim/kernel/b.c ../base/a.h" "sim/kernel/b.c nowhere/j.h" \
    "sim/attic/k.c base/a.h"; do
    read -r file header <<<"$fault"
    plant_include "$file" "$header"
    expect_fault floors "$file including $header"
done
for right in "sim/kv/e.c kernel/b.h" "sim/out/f.c sluice/probe.h" "policies/batch/g.c sluice/policy.h" \
    "sim/cli/c.c policies/batch/g.h"; do
    read -r file header <<<"$right"
    plant_include "$file" "$header"
    expect_pass floors "$file including $header"
done

# The folders of kernels-ref: "FILE HEADER" that may not be, and one that may.
for fault in "kernels-ref/cuda/a.cu oracle/b.h" "kernels-ref/oracle/a.c cuda/b.h" \
    "kernels-ref/emulation/a.cpp cuda/kref.h" "kernels-ref/cuda/a.h base/a.h" "kernels-ref/attic/a.c base/a.h"; do
    read -r file header <<<"$fault"
    plant_include "$file" "$header"
    expect_fault floors "$file including $header"
done
for right in "kernels-ref/cuda/a.cu emulation/device.h" "kernels-ref/tests/a.cpp cuda/b.h" \
    "kernels-ref/tests/a.c model/opcount.h"; do
    read -r file header <<<"$right"
    plant_include "$file" "$header"
    expect_pass floors "$file including $header"
done

clean_house
mkdir -p kernels-ref/cuda
printf '#ifndef C_H\n#define C_H\nstruct c { vector<int> d; };\n#endif\n' >kernels-ref/cuda/c.h
expect_fault headers "a C++ header that lacks an include"

clean_house
mkdir -p kernels-ref/cuda
printf 'int  sli_q(void);\n' >kernels-ref/cuda/q.cu
expect_fault format "two spaces in CUDA"

clean_house
printf '#ifndef L_H\n#define L_H\nsize_t sli_l(void);\n#endif\n' >sim/base/l.h
expect_fault headers "a header that lacks an include"

clean_house
printf 'enum { SLI_L };\n' >sim/base/l.h
expect_fault headers "a header without a guard"

clean_house
printf 'int  sli_m(void);\n' >sim/base/m.h
expect_fault format "two spaces"

clean_house
printf 'int stray(void);\nint stray(void) {\n    return 1;\n}\n' >sim/base/n.c
build_library base sim/base/n.c
expect_fault symbols "a symbol without the prefix"

clean_house
printf '#include <stdio.h>\nvoid sli_p(void);\nvoid sli_p(void) {\n    printf("hello\\n");\n}\n' >sim/kernel/p.c
build_library kernel sim/kernel/p.c
expect_fault symbols "a floor that prints"
build_library cli sim/kernel/p.c
rm build/libsluice_kernel.a
expect_pass symbols "cli that prints"

clean_house
mkdir build
expect_fault symbols "a build folder without libraries"

# Written in parts, so that check_words does not find them here.
for word in "T""ODO" "F""IXME" "X""XX" "/wo""rk/data" "../sh""ared"; do
    clean_house
    echo "/* $word */" >>sim/base/a.c
    expect_fault words "$word"
done

# count_cases.awk on a report with a case of every kind; the expected sums are counted by hand.
counts=$(awk -f "$tools/count_cases.awk" "$tools/cases.junit.xml")
[ "$counts" = "10 7 3" ] || fail "count_cases.awk says '$counts', not '10 7 3'"

[ $failures -eq 0 ] && echo "all checks hold"
