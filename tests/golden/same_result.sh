#!/usr/bin/env bash
# What must not change a result does not: what is recorded, whether promises are kept or asked
# again, a rerun of the saved scenario from elsewhere, a replay of the exported arrivals. All are
# compared request by request, over every source, with memory under pressure, shared prefixes and
# a closed loop among them.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"
copy_scenarios
mkdir elsewhere

# same WHAT DIR: its digest and its requests are those of the first run
same() {
    equal "$1: digest" "$(digest "$2")" "$first_digest"
    requests "$2" | diff first.requests - >different || {
        fail "$1: $(grep -c '^>' different) requests differ, the first are"
        head -n 5 different
    }
}

for name in $scenario_names; do
    quiet 0 run "$name.yaml" --set output.requests=on --set output.trace="$name.arrivals" \
        --out "$name"
    first_digest=$(digest "$name")
    requests "$name" >first.requests
    [ "$(wc -l <first.requests)" -ge 100 ] || fail "$name: too few requests to compare"

    quiet 0 run "$name.yaml" --out "$name.bare"
    equal "$name without the request table: digest" "$(digest "$name.bare")" "$first_digest"

    quiet 0 run "$name.yaml" --set output.requests=on --set engine.coalesce=off --out "$name.asked"
    same "$name, the policy asked at every step" "$name.asked"

    (cd elsewhere && quiet 0 run "../$name/scenario.resolved.yaml" --out rerun --force &&
        [ "$golden_failures" -eq 0 ]) || fail "$name: the saved scenario does not run elsewhere"
    same "$name, the saved scenario run elsewhere" elsewhere/rerun

    {
        awk '/^workload:/ { drops = 1; next } /^[^ ]/ { drops = 0 } !drops' "$name.yaml"
        echo "workload: {source: sluice, file: $name.arrivals}"
    } >"$name.replay.yaml"
    quiet 0 run "$name.replay.yaml" --set output.requests=on --set output.trace="$name.again" \
        --out "$name.replay"
    same "$name, replayed" "$name.replay"
    cmp -s "$name.arrivals" "$name.again" || fail "$name: the export of a replay differs"
done

# Where memory is ample and nothing is shared, the size of a block is nobody's business. (The digest
# holds counts of blocks, so requests are compared.)
for block in 16 1 7 512; do
    quiet 0 run poisson.yaml --set output.requests=on --set prefix.index=none \
        --set memory.kv_blocks=10000000 --set engine.block="$block tokens" --out "block$block"
    [ "$block" -ne 16 ] || requests block16 >first.requests
    requests "block$block" | cmp -s first.requests - ||
        fail "blocks of $block tokens: requests differ from those of 16"
done

# The scenarios are worth comparing only if they do what their comments say.
between "preemptions of priority" "$(metric priority preemption_count)" 20 1000000
between "preemptions of closed" "$(metric closed preemption_count)" 1 1000000
between "hits of system_prompts" "$(metric system_prompts prefix_hit_frac)" 0.2 0.9
between "hits of conversations" "$(metric conversations prefix_hit_frac)" 0.05 0.9
between "rejected of truncate" "$(metric truncate requests_rejected_count)" 1 100

finish
