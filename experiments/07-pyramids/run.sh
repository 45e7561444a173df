#!/usr/bin/env bash
# Budgets that fall from layer to layer, and tokens that stay important: PyramidKV, PyramidInfer,
# Scissorhands.
# shellcheck source=experiments/figures.sh
. "$(dirname "$0")/../figures.sh"

# layer_rows WHICH KEEP: of a long prompt in its `first` or `last` layer
layer_rows() {
    measure long.yaml --set "$2"
    sed -nE "s/^ *\"layers\": .* ([0-9,]+) in the $1.*/\1/p" <<<"$said" | tr -d ,
}

# held_bytes KEEP [OPTION...]: of a request when its last token comes out
held_bytes() {
    local tokens
    tokens=$(held_tokens 2049 long.yaml --set "$@")
    measure long.yaml --set "$@" --set 'engine.block=1 tokens'
    calc "$tokens * $(metric page_bytes)"
}

# shares PROMPT: per cent of a prompt that PyramidInfer leaves in 32 layers with the settings of its
# repository: the latest fifth, and of the others in each layer less than in the one before
shares() {
    awk "BEGIN {
        recent = int(0.2 * $1) + 1
        others = $1 - recent
        for (layer = 0; layer < 32; layer++) {
            sum += others + recent
            others = int(others * (0.9 + 0.1 * (cos(atan2(0, -1) * layer / 32) + 1) / 2))
        }
        printf \"%.15g\", 100 * sum / 32 / $1
    }"
}

mean='keep={method: pyramid_kv, capacity: 2048 tokens}'
exact "PyramidKV, 2,048 in the mean: first layer, by hand" 3,933 "$(layer_rows first "$mean")"
exact "the same, last layer, by hand" 163 "$(layer_rows last "$mean")"
exact "the same, tokens held behind the prompt" 2,048 \
    "$(calc "$(held_tokens 2 long.yaml --set "$mean") - 1")"
tight='keep={method: pyramid_kv, capacity: 983 tokens}'
exact "kept with a budget of 12 %, PyramidKV" 12 \
    "$(calc "100 * ($(held_tokens 2 long.yaml --set "$tight") - 1) / 8192")" %

infer='keep={method: pyramid_infer}' hands='keep={method: scissorhands, budget: 2048 tokens}'
full=$(held_bytes keep=none)
exact "tokens kept, PyramidInfer, by hand" 3,482 "$(held_tokens 2049 long.yaml --set "$infer")"
more "times smaller, PyramidInfer" "over 2.17" "$(calc "$full / $(held_bytes "$infer")")" x
unnamed "left of a prompt, its repository's settings, by hand" "$(shares 8192)" %

smaller=$(calc "$full / $(held_bytes "$hands")")
exact "times smaller, Scissorhands" 5 "$smaller" x
exact "the same, with 4 bits an element and no scales, by hand" 20 "$(calc "$smaller * 16 / 4")" x
unnamed "the same, in q4_0, with scales" \
    "$(calc "$full / $(held_bytes "$hands" --set model.kv=q4_0)")" x
without "throughput of PyramidInfer beside Accelerate" "2.2 x"
without accuracy "nearly equal"

finish "Budgets by layer and by importance (PyramidKV, PyramidInfer, Scissorhands)"
