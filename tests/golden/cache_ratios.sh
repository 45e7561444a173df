#!/usr/bin/env bash
# Hit ratios of the prefix cache of an engine (whole blocks, at most all but the last token, LRU) on
# the Mooncake traces, to four decimals, against the figures on which two independent programs
# agree. One request at a time, so that time plays no part; blocks of 512 tokens as in the traces.
# A ratio is hit blocks / all ids of the trace; on an endless cache, hit tokens / prompt tokens.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"

cat >alone.yaml <<'END'
model: llama-3.1-8b
hardware: h100-sxm
cost: {fixed: {step: 1 us}}
engine:
  max_seqs: 1
  block: 512 tokens
  max_batched_tokens: 1000000 tokens
  max_model_len: 1000000 tokens
workload: {source: mooncake, file: trace.jsonl}
END

# hits BLOCKS OUTPUT [OPTION...]: sets $hit_tokens
hits() {
    local blocks=$1 output=$2
    shift 2
    quiet 0 run alone.yaml --set memory.kv_blocks="$blocks" \
        --set workload.output_tokens="$output" "$@" --out ratio --force
    hit_tokens=$(metric ratio prefix_hit_tokens)
    equal "rejected of the trace" "$(metric ratio requests_rejected_count)" 0
}

ratio() {
    awk -v part="$1" -v whole="$2" 'BEGIN { printf "%.4f", part / whole }'
}

# row OUTPUT IDS RATIO...: at 1,000, 5,859, 20,000, 50,000 and 97,656 blocks
row() {
    local output=$1 ids=$2 blocks
    shift 2
    for blocks in 1000 5859 20000 50000 97656; do
        hits "$blocks" "$output"
        equal "$name, $blocks blocks, output $output" "$(ratio "$hit_tokens" $((512 * ids)))" "$1"
        shift
    done
}

# endless PROMPT_TOKENS RATIO
endless() {
    hits 400000 "1 tokens"
    equal "$name, endless cache" "$(ratio "$hit_tokens" "$1")" "$2"
}

name=conversation
public_trace mooncake-fast25/conversation_trace.jsonl
ln -s "$(realpath "$trace")" trace.jsonl
row "1 tokens" 288500 0.0445 0.1359 0.2875 0.3541 0.3631
row trace 288500 0.0444 0.1325 0.2841 0.3532 0.3630
endless 144793823 0.3734
# Generated blocks take room whether they can be found again or not: no trace asks for them.
hits 5859 trace --set prefix.cache_generated=off
equal "$name, generated blocks not cached" "$(ratio "$hit_tokens" $((512 * 288500)))" 0.1325

name=synthetic
public_trace mooncake-fast25/synthetic_trace.jsonl
ln -sf "$(realpath "$trace")" trace.jsonl
row "1 tokens" 121877 0.0840 0.3087 0.5702 0.6379 0.6379
row trace 121877 0.0838 0.3082 0.5690 0.6379 0.6379
endless 61194628 0.6504

finish
