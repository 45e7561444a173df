#!/usr/bin/env bash
# Keys and values that query heads and layers share: MQA, GQA and CLA.
# shellcheck source=experiments/figures.sh
. "$(dirname "$0")/../figures.sh"

# token_kib MODEL, long_gib MODEL
token_kib() {
    calc "$(estimate token_bytes "$1") / 1024"
}

long_gib() {
    calc "$(estimate request_bytes "$1" --tokens 128Ki) / 1024 ^ 3"
}

# of_pool MODEL: requests at once in 64 GiB of cache
of_pool() {
    local page_bytes
    page_bytes=$(estimate page_bytes "$1" --hardware h200)
    seats room.yaml --set model="$1" --set memory.kv_blocks=$((64 * 1024 ** 3 / page_bytes))
}

heads=$(token_kib llama-2-7b)
exact "a token, 32 heads (MHA)" 512 "$heads" KiB
exact "a token, 8 heads (GQA)" 128 "$(token_kib ./gqa8.yaml)" KiB
exact "a token, 1 head (MQA)" 16 "$(token_kib ./mqa.yaml)" KiB
exact "a token, 8 heads for 2 layers (GQA, CLA2)" 64 "$(token_kib ./gqa8-cla2.yaml)" KiB
exact "131,072 tokens, MHA" 64 "$(long_gib llama-2-7b)" GiB
exact "131,072 tokens, GQA" 16 "$(long_gib ./gqa8.yaml)" GiB
exact "131,072 tokens, MQA" 2 "$(long_gib ./mqa.yaml)" GiB
exact "a token, Llama 3.1 405B (8 of 128 heads)" 504 "$(token_kib llama-3.1-405b)" KiB
exact "a token, Qwen2.5 72B (8 of 64 heads)" 320 "$(token_kib qwen2.5-72b)" KiB

mha=$(of_pool llama-2-7b) gqa=$(of_pool ./gqa8.yaml) mqa=$(of_pool ./mqa.yaml)
unnamed "requests of 4,096 tokens at once, MHA" "$mha" ""
exact "times as many, GQA" 4 "$(calc "$gqa / $mha")" x
exact "times as many, MQA" 32 "$(calc "$mqa / $mha")" x
exact "times as many, CLA2 beside GQA" 2 "$(calc "$(of_pool ./gqa8-cla2.yaml) / $gqa")" x
exact "times as many, CLA2 beside MQA" 2 "$(calc "$(of_pool ./mqa-cla2.yaml) / $mqa")" x
measure room.yaml
carried "GQA: mean of 7 tasks, T5 XXL, 8 groups (MHA: 47.2)" 47.1

finish "Keys and values shared by heads (MQA, GQA) and layers (CLA)"
