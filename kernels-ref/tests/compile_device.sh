#!/usr/bin/env bash
# compile_device.sh DIR KERNEL NVCC ARGUMENT...: runs nvcc for one kernel. Leaves DIR/KERNEL.ptxas.txt,
# what ptxas says about its resources, and DIR/KERNEL.kept/, PTX and machine code by architecture.
set -euo pipefail
dir=$1 kernel=$2
shift 2
rm -rf "$dir/$kernel.kept"
mkdir -p "$dir/$kernel.kept"
if ! "$@" -Xptxas -v,-warn-spills --keep --keep-dir "$dir/$kernel.kept" 2>"$dir/$kernel.ptxas.txt"; then
    cat "$dir/$kernel.ptxas.txt" >&2
    exit 1
fi
find "$dir/$kernel.kept" -type f ! -name '*.ptx' ! -name '*.cubin' -delete
