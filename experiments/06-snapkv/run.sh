#!/usr/bin/env bash
# A long prompt of which little stays: SnapKV.
# shellcheck source=experiments/figures.sh
. "$(dirname "$0")/../figures.sh"

# keep TOKENS: of a prompt
keep() {
    echo "keep={method: snapkv, capacity: $1 tokens}"
}

# step_ms KEEP: of a batch of 2 that decodes behind 16,384 tokens
step_ms() {
    measure prompt.yaml --set "$1"
    calc "$(metric tpot_mean_ns) / 1000000"
}

# smaller OUTPUT KEPT: how many times, when the last of so many tokens comes out
smaller() {
    calc "$(held_tokens "$1" prompt.yaml) / $(held_tokens "$1" prompt.yaml --set "$(keep "$2")")"
}

# step_bytes KEPT TIMES: of the batch of 2 in the middle of its output: weights, and so many times
# what is kept of the prompts and 256 tokens behind them
step_bytes() {
    calc "$(estimate bytes llama-2-7b) + $2 * 2 * ($1 + 256) * $(estimate token_bytes llama-2-7b)"
}

for kept in 1024 2048 4096; do
    exact "tokens held behind 16,384, $kept kept, by hand" "$(with_commas $kept)" \
        "$(calc "$(held_tokens 2 prompt.yaml --set "$(keep $kept)") - 1")"
done
exact "times smaller 512 tokens later, 2048 kept, by hand" 6.60 "$(smaller 512 2048)" x
more "decode faster, batch of 2, 2048 kept" 3.6 \
    "$(calc "$(step_ms keep=none) / $(step_ms "$(keep 2048)")")" x
unnamed "the same, by hand, if the cache is read once" "$(calc "
    $(step_bytes 16384 1) / $(step_bytes 2048 1)")" x
unnamed "the same, by hand, if each step copies it" "$(calc "
    $(step_bytes 16384 3) / $(step_bytes 2048 3)")" x
without "memory efficiency" "8.2 x"
without "longest prompt on one A100 80 GB" "380,000"
without "accuracy behind 16,384 tokens" "nearly equal"

finish "SnapKV: what the end of a prompt looks at stays (Li et al., NeurIPS 2024)"
