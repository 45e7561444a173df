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

# of_paper: options for the requests that PyramidInfer was measured with
of_paper() {
    printf '%s\n' --set model=llama-2-13b --set 'workload.prompt={fixed: 512 tokens}' \
        --set 'workload.output={fixed: 256 tokens}' --set 'engine.max_model_len=768 tokens'
}

# speed SIZE KEEP: tokens a second of a batch of them, whose caches are copied
speed() {
    local options
    readarray -t options < <(of_paper)
    measure long.yaml "${options[@]}" --set "$2" --set attention.append=copy \
        --set workload.concurrency="$1" --set workload.requests="$1"
    metric output_throughput_tokens_per_s
}

# saved: per cent of their cache when the last token comes out
saved() {
    local options
    readarray -t options < <(of_paper)
    calc "100 - 100 * $(held_tokens 256 long.yaml "${options[@]}" --set "$infer") /
        $(held_tokens 256 long.yaml "${options[@]}")"
}

# largest KEEP: the most of them that an A100 has room for
largest() {
    local options
    readarray -t options < <(of_paper)
    seats long.yaml "${options[@]}" --set memory.kv_blocks=auto --set "$1"
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
given "PyramidKV: kept of 8,192 tokens" 12 \
    "$(calc "100 * ($(held_tokens 2 long.yaml --set "$tight") - 1) / 8192")" %

infer='keep={method: pyramid_infer}' hands='keep={method: scissorhands, budget: 2048 tokens}'
full=$(held_bytes keep=none)
exact "PyramidInfer: tokens kept, by hand" 3,482 "$(held_tokens 2049 long.yaml --set "$infer")"
missed exact "cache saved of 512 + 256, shares of 40 to 20 %" "over 54" "$(saved)" %
unnamed "saved of a prompt, its repository's settings, by hand" "$(calc "100 - $(shares 8192)")" %
shape "tokens/s beside Accelerate, 32 x (512 + 256)" 2.2 \
    "$(calc "$(speed 32 "$infer") / $(speed 32 keep=none)")" x
all=$(largest keep=none) most=$(largest "$infer")
shape "the same, largest batches" 2.8 "$(calc "$(speed "$most" "$infer") / $(speed "$all" keep=none)")" x

given "Scissorhands: times smaller" "up to 5" "$(calc "$full / $(held_bytes "$hands")")" x
missed exact "the same, in 4 bits with scales (q4_0)" "up to 20" \
    "$(calc "$full / $(held_bytes "$hands" --set model.kv=q4_0)")" x
measure long.yaml
carried "PyramidKV: needle found by Llama 3 70B, 128 kept, %" 100

finish "Budgets by layer and by importance (PyramidKV, PyramidInfer, Scissorhands)"
