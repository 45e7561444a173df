#!/usr/bin/env bash
# A fifth of the cache: H2O.
# shellcheck source=experiments/figures.sh
. "$(dirname "$0")/../figures.sh"

# decode_s MODEL BATCH PROMPT OUTPUT: from the first token to the last
decode_s() {
    measure batch.yaml --set model="$1" \
        --set workload.concurrency="$2" --set workload.requests="$2" \
        --set "workload.prompt={fixed: $3 tokens}" --set "workload.output={fixed: $4 tokens}"
    calc "$(metric phase_decode_mean_ns) / 1000000000"
}

# faster MODEL BATCH PROMPT OUTPUT KEPT
faster() {
    calc "$(decode_s "$(windowed "$1" 16384)" "${@:2:3}") / $(decode_s "$(windowed "$1" "$5")" "${@:2:3}")"
}

# Heavy hitters and latest tokens, as many of each as the ratio of the prompt says.
kept_7b=$((2 * (2048 * 20 / 100))) kept_13b=$((2 * (5000 * 20 / 100))) kept_30b=$((2 * (7000 * 11 / 100)))

full=$(estimate request_bytes opt-6.7b --tokens 4096)
kept=$(estimate request_bytes "$(windowed opt-6.7b $kept_7b)" --tokens 4096)
exact "kept of 2,048 + 2,048 tokens, OPT-6.7B" 20 "$(calc "100 * $kept / $full")" %
exact "times smaller" 5 "$(calc "$full / $kept")" x

within "decode faster, OPT-6.7B, 24 x (2,048 + 2,048)" 1.92 25 "$(faster opt-6.7b 24 2048 2048 $kept_7b)" x
within "decode faster, OPT-13B, 4 x (5,000 + 5,000)" 1.39 25 "$(faster opt-13b 4 5000 5000 $kept_13b)" x
within "decode faster, OPT-30B, 1 x (7,000 + 1,024)" 1.14 25 "$(faster opt-30b 1 7000 1024 $kept_30b)" x
without "throughput beside FlexGen, weights in the host" "3 x"
without "throughput beside DeepSpeed and Accelerate" "29 x"
without "accuracy with a fifth of the cache" -

finish "H2O: heavy hitters and the latest tokens (Zhang et al., NeurIPS 2023)"
