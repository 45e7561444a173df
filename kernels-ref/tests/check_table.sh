#!/usr/bin/env bash
# check_table.sh PRINT_TABLE README.md CUDA_DIR: fails unless the table under "Work" in README.md is what
# the program prints, and the one under "Kernels" names every kernel of CUDA_DIR and no other.
set -euo pipefail
print_table=$1 readme=$2 cuda=$3

# The rows of the table under a heading.
rows() {
    awk -v heading="## $1" '/^## / { in_table = $0 == heading } in_table && /^\|/' "$readme"
}

diff <("$print_table") <(rows Work) ||
    { echo "README.md, section Work: the lines with '>' are there, those with '<' belong there" && exit 1; }

# decode_attention and its like combine their splits by a kernel that nobody else calls.
kernels=$(basename -s .cu "$cuda"/*.cu | grep -v '^combine_splits$')
table=$(rows Kernels)
for kernel in $kernels; do
    grep -qF "\`$kernel\`" <<<"$table" || { echo "README.md, section Kernels: no $kernel" && exit 1; }
done
# shellcheck disable=SC2016 # nothing is to be expanded
for named in $(sed -n 's/^| `\([a-z_]*\)`.*/\1/p' <<<"$table"); do
    [ -e "$cuda/$named.cu" ] || { echo "README.md, section Kernels: there is no kernel $named" && exit 1; }
done
echo "$(wc -w <<<"$kernels") kernels"
