#!/usr/bin/env bash
# Keys and values in 2 bits, the latest in 16: KIVI.
# shellcheck source=experiments/figures.sh
. "$(dirname "$0")/../figures.sh"

model=llama-2-7b
elements=$((2 * 32 * 32 * 128)) # of a token: keys and values, layers, heads, width

# bits TOKENS: of an element, with the rows that wait at that length
bits() {
    calc "8 * $(estimate request_bytes $model --kv kivi2 --tokens "$1") / ($1 * $elements)"
}

# lengths PROMPT OUTPUT FORMAT: options of a run
lengths() {
    printf '%s\n' --set "workload.prompt={fixed: $1 tokens}" --set "workload.output={fixed: $2 tokens}" \
        --set "engine.max_model_len=$(($1 + $2)) tokens" --set "model.kv=$3"
}

# batch PROMPT OUTPUT FORMAT: the largest that the device has room for
batch() {
    local options
    readarray -t options < <(lengths "$@")
    seats wave.yaml "${options[@]}"
}

# speed BATCH FORMAT APPEND: tokens a second of a batch of 160 + 338, whose caches grow so
speed() {
    measure wave.yaml --set model.kv="$2" --set attention.append="$3" \
        --set workload.concurrency="$1" --set workload.requests="$1"
    metric output_throughput_tokens_per_s
}

# peak_bytes BATCH FORMAT: weights, activations and cache
peak_bytes() {
    measure wave.yaml --set model.kv="$2" \
        --set workload.concurrency="$1" --set workload.requests="$1"
    calc "$(estimate bytes $model) + $(estimate activation_bytes $model --hardware a100-80g) +
        $(metric kv_peak_blocks) * $(metric page_bytes)"
}

exact "bits an element, 512 tokens" 4.625 "$(bits 512)"
exact "bits an element, 2,048 tokens" 3.406 "$(bits 2048)"
exact "bits an element, 4,096 tokens" 3.203 "$(bits 4096)"
exact "bits an element, 32,768 tokens" 3.025 "$(bits 32768)"

plain=$(batch 160 338 bf16) kivi=$(batch 160 338 kivi2) kivi32=$(batch 160 338 kivi2_r32)
exact "batch beside 16 bits, 160 + 338, 32 rows wait" "up to 4" "$(calc "$kivi32 / $plain")" x
unnamed "the same, 128 rows wait" "$(calc "$kivi / $plain")" x
unnamed "the same, 512 + 512" "$(calc "$(batch 512 512 kivi2) / $(batch 512 512 bf16)")" x
unnamed "the same, 2,048 + 2,048" "$(calc "$(batch 2048 2048 kivi2) / $(batch 2048 2048 bf16)")" x

peak=$(peak_bytes "$plain" bf16)
exact "peak memory of 16 bits, 32 rows wait" 2.6 "$(calc "$peak / $(peak_bytes "$plain" kivi2_r32)")" x
unnamed "the same, 128 rows wait" "$(calc "$peak / $(peak_bytes "$plain" kivi2)")" x

copied=$(speed "$plain" bf16 copy)
within "tokens/s beside 16 bits, 128 rows wait" "2.35 to 3.47" 25 \
    "$(calc "$(speed "$kivi" kivi2 copy) / $copied")" x
within "the same, 32 rows wait" "2.35 to 3.47" 25 \
    "$(calc "$(speed "$kivi32" kivi2_r32 copy) / $copied")" x
unnamed "the same, 128 rows wait, written in place" \
    "$(calc "$(speed "$kivi" kivi2 in_place) / $(speed "$plain" bf16 in_place)")" x
measure wave.yaml
carried "LongBench of Llama 2 7B, mean (44.52 in 16 bits)" 44.27

finish "KIVI: keys and values in 2 bits (Liu et al., ICML 2024)"
