#!/usr/bin/env bash
# check_report.sh KREF_REPORT SLUICE MEASURED_DIR: a report on measurements made up here says what
# follows from them by hand; and every file of MEASURED_DIR is right, and has its report beside it.
set -uo pipefail
report=$(realpath "$1") sluice=$(realpath "$2") measured=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

faults=0
fail() {
    echo "FAILED: $*"
    faults=$((faults + 1))
}

# says TEXT: the last output has it in a line
says() {
    grep -qF -- "$1" "$work/said" || fail "the report does not say '$1': $(cat "$work/said")"
}

# row KERNEL REST: a line of the file, with the columns from `element` on in REST
row() {
    echo "1,$1,cuda,\"A device, 1 GB\",driver 1,toolkit 2,2026-11-30T08:00:00Z,1500000000,flushed,graph,bf16,$2"
}

# Peaks of 1000 FLOP and 10 bytes a ns. decode: 840 bytes in 100 ns are 84 %; prefill: 45000 FLOP in
# 100 ns are 45 %; gemm takes 200 ns for what the library does in 150.
{
    echo "format_version,kernel,backend,device,driver,toolkit,date,clock_hz,cache,launch,element,\
sequences,rows,width,depth,algorithmic_flops,algorithmic_bytes,samples,time_min_ns,time_median_ns,\
time_p90_ns,peak_flops_per_s,peak_bytes_per_s,flops_frac,bytes_frac" | tr -d ' '
    row decode_attention 4,,,,10,840,9,90,100,110,,10000000000,,0.84
    row decode_attention 8,,,,10,800,9,90,100,110,,10000000000,,0.8
    row prefill_attention 2,,,,45000,100,9,90,100,110,1000000000000,10000000000,0.45,0.1
    row gemm ,8,16,32,3000,60,9,190,200,210,1000000000000,10000000000,0.015,0.03
    row library_gemm ,8,16,32,3000,60,9,140,150,160,1000000000000,10000000000,0.02,0.04
    row rope 1,,,,10,840,9,90,100,151,,10000000000,,0.84
    row rope 2,,,,10,840,9,90,100,150,,10000000000,,0.84
} >"$work/one.csv"
"$sluice" check "$work/one.csv" >"$work/said" 2>&1 || fail "one.csv: $(cat "$work/said")"
"$report" "$work/one.csv" >"$work/said" 2>&1 || fail "no report: $(cat "$work/said")"
says '# A device, 1 GB'
# shellcheck disable=SC2016 # nothing is to be expanded
says 'Backend `cuda`; driver driver 1; compiled by toolkit 2; begun 2026-11-30T08:00:00Z; clock 1500 MHz'
says 'The peak of the memory is 10.0 GB/s.'
says 'The peak of matrix instructions is 1.0 TFLOP/s, by the type of what is multiplied.'
says '1 of 7 rows are noisy: their p90 is above 1.5 times the median.'
says '| bf16, sequences 1 | flushed, graph | 9 | 0.10 | 0.15 noisy | 0.1 | 8.40 | - | 84.0 % |'
says '| bf16, sequences 2 | flushed, graph | 9 | 0.10 | 0.15 | 0.1 | 8.40 | - | 84.0 % |'
# shellcheck disable=SC2016 # nothing is to be expanded
says '| `decode_attention` | bf16, sequences 4 | flushed, graph | 9 | 0.10 | 0.11 | 0.1 | 8.40 | - | 84.0 % |'
# shellcheck disable=SC2016 # nothing is to be expanded
says '`decode_attention` has at best 84.0 % of the bandwidth of the memory (bf16, sequences 4); 80 % were aimed at: reached.'
# shellcheck disable=SC2016 # nothing is to be expanded
says '`prefill_attention` has at best 45.0 % of the peak of matrix instructions (bf16, sequences 2); 50 % were aimed at: not reached.'
# shellcheck disable=SC2016 # nothing is to be expanded
says '`gemm` has 75.0 % of the speed of `library_gemm` (bf16, rows 8, width 16, depth 32).'
sed '2,$s/\(,[^,]*\)\{4\}$/,,,,/' "$work/one.csv" >"$work/none.csv"
"$report" "$work/none.csv" >"$work/said" 2>&1 || fail "no report without peaks"
says 'Peaks are not known, so there are no shares of them.'
# named DEVICE NAME: so a file of that device is to be called
named() {
    sed "s/A device, 1 GB/$1/" "$work/one.csv" >"$work/named.csv"
    name=$("$report" --name "$work/named.csv")
    [ "$name" = "$2" ] || fail "the file of '$1' has the name $name, not $2"
}
named 'A device, 1 GB' a-device-1-gb-2026-11-30
named '(A) device  (R)' a-device-r-2026-11-30
named '((A device' a-device-2026-11-30
named '(?)' 2026-11-30

# expect CODE TEXT ARGUMENT...
expect() {
    local wanted=$1 text=$2 code
    shift 2
    "$report" "$@" >"$work/said" 2>&1
    code=$?
    [ "$code" -eq "$wanted" ] || fail "kref_report $*: exit $code, not $wanted"
    says "$text"
}
expect 2 'usage: kref_report'
expect 2 'usage: kref_report' --nmae "$work/one.csv"
expect 0 'usage: kref_report' --help
expect 3 'absent.csv' "$work/absent.csv"
sed 's/,0\.84$/,0.85/' "$work/one.csv" >"$work/wrong.csv"
expect 3 'bytes_frac' "$work/wrong.csv"
"$report" "$work/one.csv" >/dev/full 2>"$work/said"
[ $? -eq 7 ] || fail "a full disk is not noticed"

files=0
for file in "$measured"/*.csv; do
    [ -e "$file" ] || continue
    files=$((files + 1))
    "$sluice" check "$file" >"$work/said" 2>&1 || fail "$file: $(cat "$work/said")"
    "$report" "$file" | diff - "${file%.csv}.md" || fail "${file%.csv}.md is not its report"
    name=$("$report" --name "$file")
    [ "$(basename "$file" .csv)" = "$name" ] || fail "$file should have the name $name"
done
echo "$files files measured, $faults faults"
[ "$files" -gt 0 ] && [ "$faults" -eq 0 ]
