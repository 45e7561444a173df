#!/usr/bin/env bash
# Wrong use of the command line: said in one line or two, exit 2.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"
cp "$scenarios/small.yaml" .

title "Verbs"
sluice 2 rum small.yaml
sluice 2 help rum
sluice 2 help frob
sluice 2 help scenarios
sluice 2 frobnicate

title "Options"
sluice 2 run
sluice 2 run small.yaml other.yaml
sluice 2 run small.yaml --ou out
sluice 2 run small.yaml --out
sluice 2 run small.yaml --out out --out out2
sluice 2 run small.yaml --json=yes
sluice 2 run ''
sluice 2 run small.yaml --set foo
sluice 2 run small.yaml --set =1
sluice 2 run small.yaml --set=
sluice 2 check
sluice 2 check small.yaml --out out
sluice 2 check small.yaml --json
sluice 2 trace
sluice 2 trace info
sluice 2 trace info small.yaml --block 512

title "Policies"
sluice 2 policies vllm_v2
sluice 2 policies vllm
sluice 3 policies --plugin absent.so

title "No page lacks its verb"
for page in run check estimate models hardware trace policies scenario keep; do
    quiet 0 help "$page"
    [ "$(wc -l <.said)" -ge 5 ] || fail "the page of $page is empty"
done
title "The page of keep has every method"
quiet 0 help keep
for method in streaming_llm h2o scissorhands snapkv pyramid_kv pyramid_infer; do
    grep -q "^$method (keep): " .said || fail "help keep does not explain $method"
done

finish
