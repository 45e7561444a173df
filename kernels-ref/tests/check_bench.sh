#!/usr/bin/env bash
# check_bench.sh KREF_BENCH SLUICE HDF5: measures every kernel that a CPU has, and a storage, quickly
# and for real; `sluice check` has to accept the files. Then bad input: exit codes and messages. HDF5
# is the name under which the library is loaded.
set -uo pipefail
bench=$(realpath "$1") sluice=$(realpath "$2") hdf5=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

faults=0
fail() {
    echo "FAILED: $*"
    faults=$((faults + 1))
}

# expect CODE TEXT ARGUMENT...: kref_bench ends so, and says that.
expect() {
    local wanted=$1 text=$2 code
    shift 2
    "$bench" "$@" >said 2>&1
    code=$?
    [ "$code" -eq "$wanted" ] || fail "kref_bench $*: exit $code, not $wanted: $(cat said)"
    grep -qF -- "$text" said || fail "kref_bench $*: does not say '$text': $(cat said)"
}

# measured FILE BACKEND: what the bench lists for a backend, and what stands in a file
measured() {
    diff <("$bench" --list | sed -n "s/^\([a-z_]*\) (.*\<$2\>.*).*/\1/p" | sort) \
        <(tail -n +2 "$1" | cut -d, -f2 | sort -u) || fail "$1 has other kernels than --list"
}

expect 0 'samples' --quick --out cpu.csv --out cpu.h5
measured cpu.csv cpu
for file in cpu.csv cpu.h5; do
    "$sluice" check "$file" >said || fail "sluice check refuses $file: $(cat said)"
    grep -q "^ok: $(($(wc -l <cpu.csv) - 1)) measurements" said || fail "$file: $(cat said)"
done
expect 0 'samples' --quick --flush --kernel rms_norm --peak-bytes '1000 TB/s' --peak-flops '1000 TFLOPS' \
    --out flushed.csv
"$sluice" check flushed.csv || fail "flushed.csv is refused"
grep -q ',flushed,' flushed.csv || fail "flushed.csv was not flushed"

"$bench" --quick --backend io_uring --out storage.csv >said 2>&1
case $? in
0)
    measured storage.csv io_uring
    "$sluice" check storage.csv || fail "sluice check refuses storage.csv"
    ;;
7) echo "skipped: storage: $(cat said)" ;;
*) fail "storage: $(cat said)" ;;
esac
[ -z "$(compgen -G 'kref_bench_*')" ] || fail "the file of the storage is left behind"

expect 7 'exists; --force replaces it' --quick --out cpu.csv
expect 7 'cannot write absent/a.csv: No such file or directory' --kernel rope --out absent/a.csv
mkdir folder.csv
expect 7 'folder.csv exists' --kernel rope --out folder.csv
expect 7 'cannot write folder.csv' --quick --kernel rope --force --out folder.csv
expect 0 'rows=32,width=2048' --quick --kernel activation --work-max 1e6
expect 7 'nothing was measured' --quick --kernel activation --work-max 1
expect 2 "--work-max needs a number of FLOPs or bytes, as 1e9, found 'much'" --work-max much
expect 2 "unknown option '--kernels'; did you mean '--kernel'?" --kernels rope
expect 2 "there is no kernel 'rmsnorm'; did you mean 'rms_norm'?" --kernel rmsnorm
expect 2 "there is no backend 'cudo'; did you mean 'cuda'?" --backend cudo
expect 2 'library_gemm has no version for cpu, only for cuda' --kernel library_gemm
expect 2 "its shape has no 'widht'; did you mean 'width'?" --kernel gemm --shape widht=8
expect 2 '--shape rows=8 is a shape that is given twice' --quick --kernel gemm --shape depth=256 --shape rows=8
expect 3 'n must be a multiple of 8' --kernel gemm --shape width=12
expect 3 'n must be a multiple of 8' --quick --kernel gemm --shape rows=8 --shape width=12 --out early.csv
grep -q samples said && fail "a shape was measured before all were looked at"
expect 3 'head_dim must be 64 or 128' --kernel prefill_attention --shape head_dim=96
expect 3 'there is nothing to do' --kernel gemm --shape rows=0
expect 4 'not enough memory' --kernel gemm --shape rows=2147483647,depth=1073741824
expect 7 "there is no folder 'absent'" --backend io_uring --dir absent
expect 3 'piece_bytes must be a multiple of 4096' --backend io_uring --kernel storage_read \
    --shape piece_bytes=100
mkdir broken && echo 'no library' >"broken/$hdf5"
LD_LIBRARY_PATH=broken expect 7 "cannot write early.h5 without its library: broken/$hdf5: " \
    --quick --kernel activation --out early.h5
grep -q samples said && fail "something was measured without a library to write it"
LD_LIBRARY_PATH=broken expect 0 samples --quick --kernel activation --out without.csv
if ! command -v nvidia-smi >/dev/null; then
    expect 7 'no CUDA device' --backend cuda
    expect 7 'a collective needs two CUDA devices' --backend peers
fi
[ -z "$(compgen -G '*.part')" ] || fail "half a file is left behind"
[ ! -e absent ] || fail "something was written"

echo "$faults faults"
[ "$faults" -eq 0 ]
