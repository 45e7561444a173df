#!/usr/bin/env bash
# run.sh BUILD_DIR CC: plants each bug of mutants.txt into a copy of its file, links the
# program `courses` with it, and demands that some small world shows it: another course than the
# plain engine's, a broken law, a failed assertion or no end.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$1 cc=$2 worlds=2500
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$build/tests/conform/courses_plain" 0 "$worlds" >"$scratch/plain"

# The libraries of `courses`, most dependent first, as its link line has them.
libraries=("$build"/tests/conform/libconform_kit.a)
for floor in run workloads cluster engine out cost kv model hw plug config kernel base; do
    libraries+=("$(find "$build" -name "libsluice_$floor.a" | head -n 1)")
done
libraries+=("$build"/policies/libsluice_policies.a)
flags=(-std=c17 -D_POSIX_C_SOURCE=200809L -O1 -ffp-contract=off -w -I "$root/sim/include" -I "$root/sim" -I "$root")
"$cc" "${flags[@]}" -I "$root/tests/conform" -c "$root/tests/conform/courses.c" -o "$scratch/courses.o"

# mutate FILE FIND PUT: writes the mutated file; the text must be there exactly once.
mutate() {
    FIND=$2 PUT=$3 perl -0777 -pe '
        my ($find, $put) = ($ENV{FIND}, $ENV{PUT});
        my $count = () = /\Q$find\E/g;
        die "found $count times\n" if $count != 1;
        s/\Q$find\E/$put/;' "$root/$1" >"$scratch/mutant.c"
}

survivors=0 planted=0
# judge FILE FIND PUT: the first world that shows the bug ends it
judge() {
    if ! mutate "$1" "$2" "$3" 2>"$scratch/why"; then
        echo "stale: $1: '$2' $(cat "$scratch/why")"
        survivors=$((survivors + 1))
        return
    fi
    planted=$((planted + 1))
    if ! "$cc" "${flags[@]}" -c "$scratch/mutant.c" -o "$scratch/mutant.o" 2>"$scratch/why" ||
        ! "$cc" "$scratch/courses.o" "$scratch/mutant.o" -Wl,--start-group "${libraries[@]}" \
            -Wl,--end-group -lgsl -lgslcblas -lyaml -lsqlite3 -ljson-c -ldl -lm -o "$scratch/mutant" \
            2>"$scratch/why"; then
        cat "$scratch/why"
        echo "does not build: $1: '$3'"
        survivors=$((survivors + 1))
        return
    fi
    if { timeout 60 "$scratch/mutant" 0 "$worlds" | cmp -s - "$scratch/plain"; } 2>/dev/null; then
        echo "survives: $1: '$2' -> '$3'"
        survivors=$((survivors + 1))
    fi
}

while IFS= read -r line; do
    case $line in
    "file "*) file=${line#file } ;;
    "find "*) find=${line#find } ;;
    "put  "*) put=${line#put  } ;;
    --) judge "$file" "$find" "$put" ;;
    esac
done <"$here/mutants.txt"
echo "$planted bugs planted, $survivors survive"
[ "$survivors" -eq 0 ]
