#!/usr/bin/env bash
# The digests of the scenarios here equal those in digests.txt, whatever compiler and options built
# the program. A digest is a change detector: it does not say that a result is right, only that it
# is the one that it was. Refresh it with --refresh when results change on purpose, and say why in
# the commit.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"
copy_scenarios

{
    head -n 4 "$golden_dir/digests.txt"
    for name in $scenario_names; do
        quiet 0 run "$name.yaml" --out "$name"
        echo "$(digest "$name") $name"
    done
} >digests.txt

if [ "$golden_refreshes" = --refresh ]; then
    cp digests.txt "$golden_dir/digests.txt"
else
    diff -u "$golden_dir/digests.txt" digests.txt || fail "the digests differ"
fi

# A digest that never changed would detect nothing.
for name in small orca; do
    quiet 0 run "$name.yaml" --set seed=99 --set workload.rate="11 /s" --out other
    [ "$(digest other)" != "$(digest "$name")" ] || fail "$name at another rate has the same digest"
    rm -r other
done

finish
