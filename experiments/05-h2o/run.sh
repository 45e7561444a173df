#!/usr/bin/env bash
# A fifth of the cache: H2O.
# shellcheck source=experiments/figures.sh
. "$(dirname "$0")/../figures.sh"

# keep SHARE: of the prompt, as heavy hitters and once more as latest tokens
keep() {
    echo "keep={method: h2o, heavy: $1, recent: $1}"
}

# batch MODEL SIZE PROMPT OUTPUT KEEP: runs it
batch() {
    measure batch.yaml --set model="$1" \
        --set workload.concurrency="$2" --set workload.requests="$2" \
        --set "workload.prompt={fixed: $3 tokens}" --set "workload.output={fixed: $4 tokens}" \
        --set "$5"
}

# decode_s ARGUMENT...: of a batch, from the first token to the last
decode_s() {
    batch "$@"
    calc "$(metric phase_decode_mean_ns) / 1000000000"
}

# faster MODEL SIZE PROMPT OUTPUT SHARE
faster() {
    calc "$(decode_s "${@:1:4}" keep=none) / $(decode_s "${@:1:4}" "$(keep "$5")")"
}

# speed SIZE KEEP: tokens a second of OPT-6.7B, the prompts' time among it
speed() {
    batch opt-6.7b "$1" 2048 2048 "$2"
    metric output_throughput_tokens_per_s
}

full=$(held_tokens 2048 batch.yaml) kept=$(held_tokens 2048 batch.yaml --set "$(keep 0.2)")
exact "tokens kept of 2,048 + 2,047, by hand" 820 "$kept"
exact "kept of 2,048 + 2,048 tokens, OPT-6.7B" 20 "$(calc "100 * $kept / $full")" %
exact "times smaller" 5 "$(calc "$full / $kept")" x

within "decode faster, OPT-6.7B, 24 x (2,048 + 2,048)" 1.92 25 "$(faster opt-6.7b 24 2048 2048 0.2)" x
within "decode faster, OPT-13B, 4 x (5,000 + 5,000)" 1.39 25 "$(faster opt-13b 4 5000 5000 0.2)" x
within "decode faster, OPT-30B, 1 x (7,000 + 1,024)" 1.14 25 "$(faster opt-30b 1 7000 1024 0.11)" x
more "tokens/s, 64 beside 24 with all, OPT-6.7B" 2.35 \
    "$(calc "$(speed 64 "$(keep 0.2)") / $(speed 24 keep=none)")" x
beside "decode of 24, all of the cache, OPT-6.7B" 94.9 "$(decode_s opt-6.7b 24 2048 2048 keep=none)" s
beside "decode of 24, a fifth of it" 49.4 "$(decode_s opt-6.7b 24 2048 2048 "$(keep 0.2)")" s
beside "decode of 64, a fifth of it" 101.9 "$(decode_s opt-6.7b 64 2048 2048 "$(keep 0.2)")" s
without "throughput beside FlexGen, weights in the host" "3 x"
without "throughput beside DeepSpeed and Accelerate" "29 x"
without "accuracy with a fifth of the cache" -

finish "H2O: heavy hitters and the latest tokens (Zhang et al., NeurIPS 2023)"
