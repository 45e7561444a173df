#!/usr/bin/env bash
# What `sluice trace info` says of the public traces, against counts by another program: rows, sums,
# blocks, and the hits of an unlimited cache. Distinct = blocks - hits, as ids are prefix hashes.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"

# field NAME: of the last `sluice trace info --json`
field() {
    sed -n "s/^ *\"$1\": \([^,]*\),*\$/\1/p" .said
}

# mooncake FILE ROWS INPUT OUTPUT BLOCKS DISTINCT HIT_BLOCKS HIT_TOKENS BLOCK_RATIO TOKEN_RATIO
mooncake() {
    public_trace "mooncake-fast25/$1"
    quiet 0 trace info "$trace" --json
    equal "$1: rows" "$(field row_count)" "$2"
    equal "$1: prompt tokens" "$(field prompt_sum_tokens)" "$3"
    equal "$1: output tokens" "$(field output_sum_tokens)" "$4"
    equal "$1: blocks" "$(field block_count)" "$5"
    equal "$1: distinct blocks" "$(field distinct_block_count)" "$6"
    equal "$1: hit blocks" "$(field hit_block_count)" "$7"
    equal "$1: hit tokens" "$(field hit_tokens)" "$8"
    equal "$1: ideal ratio of blocks" "$(printf %.4f "$(field hit_block_frac)")" "$9"
    equal "$1: ideal ratio of tokens" "$(printf %.4f "$(field hit_token_frac)")" "${10}"
}
mooncake conversation_trace.jsonl 12031 144793823 4122048 288500 182790 105710 54098411 0.3664 0.3736
mooncake synthetic_trace.jsonl 3993 61194628 595432 121877 43924 77953 39852661 0.6396 0.6512

# azure FILE ROWS INPUT OUTPUT
azure() {
    public_trace "azure-2023/$1"
    quiet 0 trace info "$trace" --json
    equal "$1: rows" "$(field row_count)" "$2"
    equal "$1: prompt tokens" "$(field prompt_sum_tokens)" "$3"
    equal "$1: output tokens" "$(field output_sum_tokens)" "$4"
}
azure AzureLLMInferenceTrace_code.csv 8819 18059974 245896
azure AzureLLMInferenceTrace_conv.csv 19366 22361870 4088665

finish
