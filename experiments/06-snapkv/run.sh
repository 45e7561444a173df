#!/usr/bin/env bash
# A long prompt of which little stays: SnapKV.
# shellcheck source=experiments/figures.sh
. "$(dirname "$0")/../figures.sh"

# keep TOKENS: of a prompt
keep() {
    echo "keep={method: snapkv, capacity: $1 tokens}"
}

# step_ms KEEP APPEND: of a batch of 2 that decodes behind 16,384 tokens, whose caches grow so
step_ms() {
    measure prompt.yaml --set "$1" --set attention.append="$2"
    calc "$(metric tpot_mean_ns) / 1000000"
}

# faster APPEND: how many times with 2,048 tokens kept
faster() {
    calc "$(step_ms keep=none "$1") / $(step_ms "$(keep 2048)" "$1")"
}

# smaller OUTPUT KEPT: how many times, when the last of so many tokens comes out
smaller() {
    calc "$(held_tokens "$1" prompt.yaml) / $(held_tokens "$1" prompt.yaml --set "$(keep "$2")")"
}

# longest REQUESTS KEEP: tokens of a prompt, of so many requests together, that an A100 has room for
longest() {
    local low=1 high=1048576 middle
    while [ $((high - low)) -gt 1 ]; do
        middle=$(((low + high) / 2))
        if [ "$(estimate fits llama-2-7b --hardware a100-80g --concurrency "$1" --keep "$2" \
            --tokens $middle)" = true ]; then low=$middle; else high=$middle; fi
    done
    echo "$low"
}

for kept in 1024 2048 4096; do
    exact "tokens held behind 16,384, $kept kept, by hand" "$(with_commas $kept)" \
        "$(calc "$(held_tokens 2 prompt.yaml --set "$(keep $kept)") - 1")"
done
exact "times smaller 512 tokens later, 2048 kept, by hand" 6.60 "$(smaller 512 2048)" x
within "decode faster, batch of 2, 2048 kept" 3.6 25 "$(faster copy)" x
unnamed "the same, tokens written in place" "$(faster in_place)" x
missed exact "longest of 2 prompts beside all of the cache" 8.2 \
    "$(calc "$(longest 2 snapkv:capacity=2Ki) / $(longest 2 none)")" x
missed exact "longest prompt on one A100 80 GB" 380,000 "$(longest 1 snapkv:capacity=2Ki)"
without "accuracy behind 16,384 tokens" "nearly equal"

finish "SnapKV: what the end of a prompt looks at stays (Li et al., NeurIPS 2024)"
