#!/usr/bin/env bash
# Fails on words that have no place in the project's files: check_words.sh [ROOT]
#
# Those are paths of one machine, and marks of work left undone. Only .ci/run may know of data
# beside the checkout. Also names source files of more than 700 lines whose header gives no reason.
set -euo pipefail
cd "${1:-.}"

# The brackets keep this file from finding itself.
words='/[w]ork/|/[r]oot/|/[h]ome/|\<([T]ODO|[F]IXME|[X]XX)\>'
beside='\.\./[s]hared'

list_files() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard
    else
        find . -path ./.git -prune -o -path ./build -prune -o -path ./out -prune -o -type f -printf '%P\0'
    fi
}

mapfile -d '' files < <(list_files)
faults=0
checked=0
for file in "${files[@]}"; do
    [ -f "$file" ] || continue # deleted, and not yet so in the index
    checked=$((checked + 1))
    pattern=$words
    [ "$file" = .ci/run ] || pattern+="|$beside"
    if grep -InHE "$pattern" "$file"; then
        faults=$((faults + 1))
    fi
    case $file in
    *.[ch] | *.cpp | *.cu)
        lines=$(wc -l <"$file")
        if [ "$lines" -gt 700 ] && ! head -n 40 "$file" | grep -qi reason; then
            echo "warning: $file has $lines lines and its header gives no reason"
        fi
        ;;
    esac
done

echo "$checked files, $faults with words that do not belong"
[ "$checked" -gt 0 ] && [ "$faults" -eq 0 ]
