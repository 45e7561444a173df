#!/usr/bin/env bash
# Latents in place of keys and values: DeepSeek-V2 beside DeepSeek 67B.
# shellcheck source=experiments/figures.sh
. "$(dirname "$0")/../figures.sh"

# token_bytes MODEL [FORMAT]
token_bytes() {
    estimate token_bytes "$1" --kv "${2:-bf16}"
}

v2=$(token_bytes deepseek-v2) v2_6bit=$(token_bytes deepseek-v2 6bit)
grouped=$(token_bytes deepseek-67b)
exact "elements of a token, V2, by hand" 34,560 "$(calc "$v2 / 2")"
exact "smaller than 67B, 6 bits beside 16" 93.3 "$(calc "100 - 100 * $v2_6bit / $grouped")" %
exact "smaller than 67B, both in 16 bits" 82.2 "$(calc "100 - 100 * $v2 / $grouped")" %
exact "smaller than 128 heads of its own" 56.9 "$(calc "$(token_bytes ./mha.yaml) / $v2")" x
exact "a token, V3" 70,272 "$(token_bytes deepseek-v3)" B

# speed OPTION...: generated tokens a second, run to the end
speed() {
    measure node.yaml "$@"
    metric output_throughput_tokens_per_s
}

for prompt in 512 2048; do
    lengths=(--set "workload.prompt={fixed: $prompt tokens}")
    missed shape "tokens/s beside 67B, tp 8, prompts of $prompt" 5.76 "$(calc "
        $(speed "${lengths[@]}") / $(speed "${lengths[@]}" --set 'model={name: deepseek-67b}')")" x
done

# room ARGUMENT...: requests of 2,048 tokens that the node has room for
room() {
    estimate max_requests "$@" --hardware ./h800.yaml --tokens 2048
}

latents=(deepseek-v2 --weights fp8 --kv 6bit)
grouped=$(room deepseek-67b --tp 8)
unnamed "room for requests beside 67B, V2 with tp 8" "$(calc "$(room "${latents[@]}" --tp 8) / $grouped")" x
unnamed "the same, V2 with dp 8, not run" \
    "$(calc "$(room "${latents[@]}" --dp 8 --ep 8) / $grouped")" x
measure node.yaml --set workload.requests=1
carried "MMLU (67B: 71.3)" 78.5

finish "Latents in place of keys and values (DeepSeek-V2, 2024)"
