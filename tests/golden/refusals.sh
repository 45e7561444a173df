#!/usr/bin/env bash
# What cannot be served: models that do not fit (exit 4), policies that exclude each other (exit 3),
# and requests that are too large, which are counted while the run goes on (exit 0).
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"
cp "$scenarios/small.yaml" .

title "A model that does not fit says what is missing and what would fit"
sluice 4 run small.yaml --set model=qwen3-32b --set memory.utilization=0.3
sluice 4 run small.yaml --set model=qwen3-32b --set hardware=a100-40g
sluice 4 run small.yaml --set model=qwen3-32b --set memory.utilization=0.05
sluice 4 check small.yaml --set model=qwen3-32b --set memory.utilization=0.3

title "More sequences than the activations have room for"
sluice 4 check small.yaml --set engine.max_seqs=200000

title "Models too large for eight devices say which format would do, and blocks by hand that none have room for"
sluice 4 check small.yaml --set model=kimi-k3 --set hardware=h200 --set replicas.tp=8
sluice 4 check small.yaml --set model=deepseek-v3 --set model.weights=bf16 --set hardware=h200 \
    --set replicas.tp=8
sluice 4 check small.yaml --set model=llama-3.1-405b --set hardware=a100-80g --set replicas.tp=8
sluice 0 check small.yaml --set model=deepseek-v3 --set model.weights=bf16 --set hardware=h200 \
    --set replicas.tp=8 --set memory.kv_blocks=1000

title "Scores that are written down, and flash attention, which writes none"
sluice 4 check small.yaml --set attention.kernel=naive
sluice 4 check small.yaml --set attention.kernel=naive --set 'engine.max_model_len=32768 tokens' \
    --set 'engine.max_batched_tokens=32768 tokens' --set memory.utilization=0.4
sluice 0 check small.yaml --set attention.kernel=fa2
sluice 0 check small.yaml --set attention.kernel=naive --set 'engine.max_model_len=4096 tokens'

title "Devices that a model cannot be cut over"
sluice 3 run small.yaml --set replicas.tp=3

title "Orca reserves whole contexts, so it cannot share blocks"
sluice 3 run small.yaml --set engine.policy=orca
quiet 0 run small.yaml --set engine.policy=orca --set prefix.index=none

# 50 blocks of 16 hold 800 tokens. Of three requests the one of 900 tokens can never run.
title "A request larger than the whole cache"
{
    echo '{"timestamp": 0, "input_length": 400, "output_length": 5, "hash_ids": [1]}'
    echo '{"timestamp": 1, "input_length": 900, "output_length": 5, "hash_ids": [2, 3]}'
    echo '{"timestamp": 2, "input_length": 400, "output_length": 5, "hash_ids": [4]}'
} >three.jsonl
cat >large.yaml <<'END'
model: llama-3.1-8b
hardware: h100-sxm
cost: {fixed: {step: 1 ms}}
memory: {kv_blocks: 50}
workload: {source: mooncake, file: three.jsonl}
output: {dir: large, requests: on}
END
only='finished|warning' sluice 0 run large.yaml
equal "outcomes" "$(sqlite3 large/run.sqlite 'SELECT outcome FROM request ORDER BY idx' | xargs)" \
    "finished rejected finished"
equal "rejected" "$(metric large requests_rejected_count)" 1

title "Longer than the limit of the model"
limit=(--set "engine.max_model_len=4096 tokens" --set workload.requests=2
    --set "workload.prompt.fixed=100 tokens")
only='finished|warning' sluice 0 run small.yaml "${limit[@]}" \
    --set "workload.output.fixed=4096 tokens" --out over
equal "rejected at 100 + 4,096" "$(metric over requests_rejected_count)" 2
only='finished|warning' sluice 0 run small.yaml "${limit[@]}" \
    --set "workload.output.fixed=3996 tokens" --out at
equal "finished at 100 + 3,996" "$(metric at requests_finished_count)" 2
only='finished|warning' sluice 0 run small.yaml "${limit[@]}" \
    --set "workload.output.fixed=4096 tokens" --set engine.over_length=truncate \
    --set output.requests=on --out cut
equal "truncated outputs" \
    "$(sqlite3 cut/run.sqlite 'SELECT DISTINCT generated_tokens FROM request')" 3996

title "All of them rejected: a result, with a warning"
only='finished|warning' sluice 0 run small.yaml --set 'engine.max_model_len=50 tokens' \
    --set engine.over_length=truncate --set output.dir=none
only='finished|warning' sluice 0 run small.yaml --set memory.kv_blocks=2 --out all
equal "rejected of 100" "$(metric all requests_rejected_count)" 100

finish
