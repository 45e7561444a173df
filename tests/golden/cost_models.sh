#!/usr/bin/env bash
# Which model of time a run had, and why it was that one: two runs with different ones never look alike.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"
cp "$scenarios/small.yaml" .
small=(small.yaml --set workload.requests=4 --set cost=auto)

title "Auto, where all was measured and where it was not, and what was asked for"
only='cost|warning' sluice 0 run "${small[@]}" --out auto
only='cost|warning' sluice 0 run "${small[@]}" --set cost=pnorm --out pnorm
only='cost|warning' sluice 0 run "${small[@]}" --set cost=roofline --out roofline
only='cost|warning' sluice 0 run "${small[@]}" --set 'cost={fixed: {step: 1 ms}}' --out fixed
only='cost|warning' sluice 0 run "${small[@]}" --set model=gpt-oss-20b --set model.weights=mxfp4 \
    --set model.kv=fp8 --set hardware=h200 --out experts
only='cost|warning' sluice 0 run "${small[@]}" --set keep=h2o --set prefix.index=none --out keep
only='cost|warning' sluice 0 run "${small[@]}" --set attention.kernel=fa2 --out kernel

title "A check says it too"
sluice 0 check small.yaml --set cost=auto --set model.kv=fp8
sluice 3 check small.yaml --set cost=auto --set model.kv=fp8 --set cost=pnorm

# SQLite and JSON
cost() {
    sqlite3 "$1/run.sqlite" "SELECT cost, coalesce(cost_auto_reason, 'asked for') FROM run"
}
equal "auto" "$(cost auto)" "pnorm|all operators are of a sort that was measured"
equal "asked for" "$(cost pnorm) $(cost roofline) $(cost fixed)" \
    "pnorm|asked for roofline|asked for fixed|asked for"
equal "experts" "$(cost experts)" "roofline|no operators were measured for layers sliding (gqa), moe; weights in mxfp4; a cache in fp8"
equal "what was set" "$(sqlite3 roofline/run.sqlite "SELECT path, value, origin FROM param
    WHERE path LIKE 'cost%'")" "cost.roofline|{}|--set"
said=$("$sluice_program" run "${small[@]}" --set model.kv=fp8 --set output.dir=none --json | tr -d '\n')
[[ $said == *'"cost": {    "model": "roofline",    "auto_reason": "no operators were measured for a cache in fp8"  }'* ]] ||
    fail "JSON says $(grep -o '"cost": {[^}]*}' <<<"$said")"
equal "digests of the fitted model" "$(digest auto)" "$(digest pnorm)"
[ "$(digest auto)" != "$(digest roofline)" ] || fail "two models of time are one"

finish
