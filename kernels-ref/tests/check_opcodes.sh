#!/usr/bin/env bash
# check_opcodes.sh DEVICE_DIR COUNT_OPCODES: fails unless the machine code of the kernels with matrix
# products really computes on tensor cores and copies asynchronously, on every architecture.
#
# The matrix instructions and loads of operands in the machine code are as many as in the PTX; but
# sm_90 and sm_100 have no mma.sync of fp8, and compute it by two of f16. Asynchronous copies are
# there at least as often as in the PTX, because ptxas unrolls loops. Kernels that have no
# matrix instruction must have none. Where cuobjdump is installed, it has to count the same.
set -euo pipefail
dir=$1 count_opcodes=$2
with_matrices=(decode_attention delta_prefill expert_gemm gemm index_scores mla_decode mla_prefill
    prefill_attention quantized_decode)
# What is scaled on its way into shared memory cannot be copied.
without_copies=(delta_prefill)

faults=0 files=0
complain() {
    echo "$1"
    faults=$((faults + 1))
}

# ptx_count FILE PATTERN
ptx_count() {
    grep -c "$2" "$1" || true
}

check() {
    local kernel=$1 cubin=$2 ptx=${2%.cubin}.ptx name count products
    declare -A found=()
    while read -r name count; do
        found[$name]=$count
    done < <("$count_opcodes" "$cubin")
    echo "$(basename "$cubin"): HMMA ${found[HMMA]}, LDSM ${found[LDSM]}, LDGSTS ${found[LDGSTS]}"
    products=$(($(ptx_count "$ptx" mma.sync) + $(ptx_count "$ptx" 'mma.sync.*e4m3')))
    [ "${found[HMMA]}" -eq "$products" ] ||
        complain "$cubin: not as many HMMA as mma.sync in the PTX"
    [ "${found[LDSM]}" -eq "$(ptx_count "$ptx" ldmatrix.sync)" ] ||
        complain "$cubin: not as many LDSM as ldmatrix in the PTX"
    [ "${found[LDGSTS]}" -ge "$(ptx_count "$ptx" cp.async.cg)" ] ||
        complain "$cubin: fewer LDGSTS than cp.async in the PTX"
    if [[ " ${with_matrices[*]} " == *" $kernel "* ]]; then
        [ "${found[HMMA]}" -gt 0 ] || complain "$cubin: no matrix instructions"
        [ "${found[LDGSTS]}" -gt 0 ] || [[ " ${without_copies[*]} " == *" $kernel "* ]] ||
            complain "$cubin: no asynchronous copies"
    else
        [ "${found[HMMA]}" -eq 0 ] || complain "$cubin: matrix instructions, where none belong"
    fi
    if command -v cuobjdump >/dev/null; then
        for name in HMMA LDSM LDGSTS; do
            count=$(cuobjdump -sass "$cubin" | grep -cw "$name" || true)
            [ "$count" -eq "${found[$name]}" ] || complain "$cubin: cuobjdump counts $count $name"
        done
    fi
}

for kept in "$dir"/*.kept; do
    kernel=$(basename "$kept" .kept)
    for cubin in "$kept"/*.cubin; do
        files=$((files + 1))
        check "$kernel" "$cubin"
    done
done
echo "$files files, $faults faults"
[ "$files" -gt 0 ] && [ "$faults" -eq 0 ]
