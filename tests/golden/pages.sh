#!/usr/bin/env bash
# Models whose layers keep different things: how their cache lies in pages, and what is said of it.
# Pages and blocks are worked by hand in tests/unit/kv/test_layout.c.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"
cp "$scenarios/small.yaml" .
h200=(small.yaml --set hardware=h200 --set workload.requests=4)

title "What shares the pages of the cache"
only='layout' sluice 0 run "${h200[@]}" --set model=gpt-oss-20b --out oss
only='layout' sluice 0 run "${h200[@]}" --set model=qwen3.5-9b --set output.dir=none
only='layout' sluice 0 run "${h200[@]}" --set model=gemma-4-31b --set output.dir=none
only='layout' sluice 0 run "${h200[@]}" --set model=deepseek-v4-flash --set replicas.tp=8 \
    --set output.dir=none
equal "groups of gpt-oss-20b" "$(sqlite3 oss/run.sqlite 'SELECT name, layer_count, block_tokens,
    block_pages, block_bytes FROM kv_group' | xargs)" \
    "full|12|16|1|393216 sliding 128|12|16|1|393216"
equal "a page of gpt-oss-20b" "$(sqlite3 oss/run.sqlite 'SELECT page_bytes FROM run')" 393216

title "Layers that keep one thing have blocks"
only='layout' sluice 0 run small.yaml --set workload.requests=4 --out plain
equal "groups of Llama-3.1-8B" "$(sqlite3 plain/run.sqlite 'SELECT name, layer_count, block_tokens,
    block_pages, block_bytes FROM kv_group' | xargs)" "full|32|16|1|2097152"
only='layout' sluice 0 run "${h200[@]}" --set model=mistral-7b-v0.1 --out windows
equal "groups of Mistral 7B" "$(sqlite3 windows/run.sqlite 'SELECT name, layer_count FROM kv_group')" \
    "sliding 4096|32"

# 0.9 of 143,771 MiB are usable, 135,679,338,086 bytes. Of them go 13,747,322,880 for weights as
# published: in two bytes 24 layers of 2,880 x 5,120 + 4,096 x 2,880 + 2,880 x 32 and two tables of
# 201,088 x 2,880, in 17 bytes for 32 their experts, 32 x 3 x 2,880 x 2,880. With 2 x 8,192 x 2,880
# x 4 + 256 x 201,088 x 4 for activations and 1.5 GiB there is room for 304,989 pages; with weights
# in bf16, 41,815,572,480, for 233,608.
title "Room is told in bytes"
pool=$("$sluice_program" run "${h200[@]}" --set model=gpt-oss-20b --set output.dir=none |
    sed -n 's/.*peak [0-9.]* % of \([^·]*\) · mean.*/\1/p')
equal "the cache of gpt-oss-20b" "$pool" "111.7 GiB"
pool=$("$sluice_program" run "${h200[@]}" --set model=gpt-oss-20b --set model.weights=bf16 \
    --set output.dir=none | sed -n 's/.*peak [0-9.]* % of \([^·]*\) · mean.*/\1/p')
equal "its cache with weights in bf16" "$pool" "85.55 GiB"

title "Requests that are too large for it, in pages"
only='finished|warning' sluice 0 run "${h200[@]}" --set model=gpt-oss-20b \
    --set memory.kv_blocks=8 --set output.dir=none

title "Devices that do not suffice, or cannot share it out"
sluice 4 check "${h200[@]}" --set model=qwen3.5-397b-a17b
sluice 3 check "${h200[@]}" --set model=phi-4-14b --set replicas.tp=4
sluice 0 check "${h200[@]}" --set model=gemma-4-e2b --set replicas.tp=8

title "Costs that were fitted to other models"
sluice 3 check "${h200[@]}" --set model=gpt-oss-20b --set cost=pnorm

title "Nothing is found behind windows that are reserved"
only='warning' sluice 0 run "${h200[@]}" --set model=gpt-oss-20b \
    --set memory.window_pages=reserved --set output.dir=none

finish
