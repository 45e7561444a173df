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

# t4_speed SIZE OUTPUT KEEP: tokens a second of OPT-6.7B on the card of the paper, prompts of 512
t4_speed() {
    measure batch.yaml --set hardware=./t4.yaml --set workload.concurrency="$1" \
        --set workload.requests="$1" --set 'workload.prompt={fixed: 512 tokens}' \
        --set "workload.output={fixed: $2 tokens}" --set "$3"
    metric output_throughput_tokens_per_s
}

# t4_gain SIZE OUTPUT SHARE: how many times as many in a batch of 4 as in one with all of its cache
t4_gain() {
    calc "$(t4_speed 4 "$2" "$(keep "$3")") / $(t4_speed "$1" "$2" keep=none)"
}

full=$(held_tokens 2048 batch.yaml) kept=$(held_tokens 2048 batch.yaml --set "$(keep 0.2)")
exact "tokens kept of 2,048 + 2,047, by hand" 820 "$kept"
given "kept of 2,048 + 2,048 tokens, OPT-6.7B" 20 "$(calc "100 * $kept / $full")" %

within "decode faster, OPT-6.7B, 24 x (2,048 + 2,048)" 1.92 25 "$(faster opt-6.7b 24 2048 2048 0.2)" x
within "decode faster, OPT-13B, 4 x (5,000 + 5,000)" 1.39 25 "$(faster opt-13b 4 5000 5000 0.2)" x
within "decode faster, OPT-30B, 1 x (7,000 + 1,024)" 1.14 25 "$(faster opt-30b 1 7000 1024 0.11)" x
missed within "tokens/s, 64 beside 24 with all, OPT-6.7B" 2.349 25 \
    "$(calc "$(speed 64 "$(keep 0.2)") / $(speed 24 keep=none)")" x
beside "decode of 24, all of the cache, OPT-6.7B" 94.9 "$(decode_s opt-6.7b 24 2048 2048 keep=none)" s
beside "decode of 24, a fifth of it" 49.4 "$(decode_s opt-6.7b 24 2048 2048 "$(keep 0.2)")" s
beside "decode of 64, a fifth of it" 101.9 "$(decode_s opt-6.7b 64 2048 2048 "$(keep 0.2)")" s

within "tokens/s, T4, 512 + 32, 4 beside FlexGen's 2" 1.74 25 "$(t4_gain 2 32 0.1)" x
missed within "the same, 512 + 512, 4 beside 1" 3.08 25 "$(t4_gain 1 512 0.2)" x
missed within "the same, 512 + 1,024, 4 beside 1" 3.08 25 "$(t4_gain 1 1024 0.3)" x
beside "T4, 512 + 1,024, 1 with all of the cache" 16.9 "$(t4_speed 1 1024 keep=none)" tokens/s
beside "the same, 4 with a fifth of it" 52.1 "$(t4_speed 4 1024 "$(keep 0.3)")" tokens/s
missed uncomputed "throughput beside DeepSpeed and Accelerate" "up to 29 x" C
without "accuracy with a fifth of the cache" -

finish "H2O: heavy hitters and the latest tokens (Zhang et al., NeurIPS 2023)"
