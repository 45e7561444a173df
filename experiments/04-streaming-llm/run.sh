#!/usr/bin/env bash
# Attention sinks and a window in place of the whole stream: StreamingLLM.
# shellcheck source=experiments/figures.sh
. "$(dirname "$0")/../figures.sh"

# keep TOKENS: the first 4 and the latest, so many together
keep() {
    echo "keep={method: streaming_llm, sinks: 4 tokens, recent: $(($1 - 4)) tokens}"
}

# kept_ms MODEL TOKENS: of a token when so many before it are kept
kept_ms() {
    measure chat.yaml --set model="$1" --set "$(keep "$2")" \
        --set "workload.prompt={fixed: $2 tokens}"
    calc "$(metric itl_mean_ns) / 1000000"
}

# computed_ms MODEL TOKENS: when so many before it are computed again for each token
computed_ms() {
    measure chat.yaml --set model="$1" --set "workload.prompt={fixed: $2 tokens}" \
        --set 'workload.output={fixed: 1 tokens}'
    calc "$(metric ttft_mean_ns) / 1000000"
}

# speedup MODEL TOKENS
speedup() {
    calc "$(computed_ms "$@") / $(kept_ms "$@")"
}

measure chat.yaml --set model=llama-2-7b --set "$(keep 4096)" \
    --set 'workload.output={fixed: 4000000 tokens}' --set 'cost={fixed: {step: 1 ms}}'
exact "tokens generated" 4,000,000 "$(calc "$(metric computed_tokens) - 4096 + 1")"
exact "blocks of 16 for 4,096 of them, by hand" 256 "$(metric kv_peak_blocks)"
for kept in 256 512 1024 2048 4096; do
    faster=$(speedup llama-2-13b $kept)
    [ $kept -eq 4096 ] || unnamed "faster than computing again, 13B, $kept kept" "$faster" x
    ! calc_is "$faster > ${most:-0}" || most=$faster widest=$kept
done
within "faster than computing again, 13B, 4096 kept" "up to 22.2" 25 "$faster" x
turn "where it is fastest" 4,096 "$widest" tokens
unnamed "faster than computing again, 7B, 4096 kept" "$(speedup llama-2-7b 4096)" x
without "perplexity of 4 million tokens" stable

finish "StreamingLLM: attention sinks and a window (Xiao et al., ICLR 2024)"
