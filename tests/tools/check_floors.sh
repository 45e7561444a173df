#!/usr/bin/env bash
# Fails on an include that does not lead down the house: check_floors.sh [ROOT]
#
# A file may include its own floor and the lower ones, as "floor/noun.h"; floors of the same height
# do not see each other. The public headers stand on nothing but themselves. The folders of
# kernels-ref know of each other what is listed below, and of the house nothing; only their tests do.
set -euo pipefail
cd "${1:-.}"

declare -A height=(
    [sluice]=-1
    [base]=0 [kernel]=1 [config]=2
    [plug]=3 [hw]=3 [model]=3 [out]=3 [calib]=3
    [import]=4 [cost]=4 [kv]=4
    [engine]=5 [cluster]=6 [run]=7 [cli]=8
    [workloads]=6 [policies]=6 # what may include them; what they may include is below
)

# What the folders of kernels-ref may include beside their own headers.
declare -A kernels_see=(
    [oracle]="" [figures]="" [emulation]="cuda/number.h"
    [cuda]="emulation/device.h emulation/count.h"
    [bench]="cuda figures calib base"
    [tests]="bench cuda oracle figures emulation model sluice"
)

# Includes that break the rule and are wanted: "file header", each with its reason beside it.
exceptions=()

floor_of() {
    local path=$1
    case $path in
    sim/include/sluice/*) echo sluice ;;
    sim/*/*) path=${path#sim/} && echo "${path%%/*}" ;;
    *) echo "${path%%/*}" ;;
    esac
}

# may_include FLOOR HEADER
may_include() {
    local from=$1 header=$2 to=${2%%/*}
    [ "$from" != "$to" ] || return 0
    case $from in
    # What only listens or is plugged in knows its interface, so that it could live elsewhere.
    policies) [ "$header" = sluice/policy.h ] ;;
    workloads) [[ $to =~ ^(sluice|base|kernel|config)$ && $header != sluice/policy.h ]] ;;
    out) [[ $to =~ ^(base|kernel|config)$ || $header =~ ^sluice/(probe|err|param)\.h$ ]] ;;
    *) [ "${height[$to]}" -lt "${height[$from]}" ] ;;
    esac
}

# kernels_may_include FOLDER HEADER: the header itself or its folder is listed.
kernels_may_include() {
    local folder=$1 header=$2 seen
    for seen in "$folder" ${kernels_see[$folder]}; do
        [ "$seen" != "$header" ] && [ "$seen" != "${header%%/*}" ] || return 0
    done
    return 1
}

is_exception() {
    local exception
    for exception in "${exceptions[@]}"; do
        [ "$exception" != "$1 $2" ] || return 0
    done
    return 1
}

faults=0
includes=0
complain() {
    printf '%s:%s: %s\n' "$1" "$2" "$3"
    faults=$((faults + 1))
}

folders=()
for folder in sim workloads policies; do
    [ ! -d "$folder" ] || folders+=("$folder")
done
pattern='^[[:space:]]*#[[:space:]]*include[[:space:]]*["<][^">]+[">]'
while IFS=: read -r file line text; do
    includes=$((includes + 1))
    header=${text#*[\"<]}
    header=${header%[\">]}
    from=$(floor_of "$file")
    to=${header%%/*}
    if [ -z "${height[$from]:-}" ]; then
        complain "$file" "$line" "'$from' is no floor; add it to tests/tools/check_floors.sh"
    elif [ -n "${height[$to]:-}" ] && [[ $header == */* ]]; then
        may_include "$from" "$header" || is_exception "$file" "$header" ||
            complain "$file" "$line" "'$from' must not include $header"
    elif [[ $text == *\"* && ! ($header != */* && -f ${file%/*}/$header) ]]; then
        complain "$file" "$line" "$header is neither floor/noun.h nor beside the file"
    fi
done < <(grep -rnoE --include='*.[ch]' "$pattern" "${folders[@]}")

if [ -d kernels-ref ]; then
    while IFS=: read -r file line text; do
        includes=$((includes + 1))
        header=${text#*\"}
        header=${header%\"}
        folder=${file#kernels-ref/}
        folder=${folder%%/*}
        if [ -z "${kernels_see[$folder]+listed}" ]; then
            complain "$file" "$line" "'$folder' is not listed; add it to tests/tools/check_floors.sh"
        elif ! kernels_may_include "$folder" "$header"; then
            complain "$file" "$line" "'kernels-ref/$folder' must not include $header"
        fi
    done < <(grep -rnoE --include='*.[ch]' --include='*.cpp' --include='*.cu' \
        '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]+"' kernels-ref)
fi

[ "$includes" -gt 0 ] || complain . 0 "no includes found at all: wrong folder?"
echo "$includes includes, $faults of them wrong"
[ "$faults" -eq 0 ]
