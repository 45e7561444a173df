#!/usr/bin/env bash
# The KV blocks that a deployment has, against the memory rule worked by hand:
#
#   blocks = floor((floor(utilization * capacity) - weights / tp - activations - 1.5 GiB)
#                  / bytes of a block on a rank)
#
# For Qwen3-32B on one H100 of 81,559 MiB: floor(0.9 * 81,559 MiB) = 76,968,728,985, less weights of
# 65,522,892,800, activations of 491,126,784 and 1.5 GiB is 9,344,096,665 bytes: 2,227 blocks of
# 16 tokens of 256 KiB.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"
cp "$scenarios/small.yaml" .

# blocks MODEL TP [OPTION...]: as the summary says it
blocks() {
    local model=$1 tp=$2
    shift 2
    "$sluice_program" run small.yaml --set model="$model" --set replicas.tp="$tp" \
        --set output.dir=none "$@" | sed -n 's/.* of \([0-9,]*\) blocks.*/\1/p'
}

equal "Qwen3-32B, tp 1" "$(blocks qwen3-32b 1)" 2,227
equal "Llama-3.1-8B, tp 1" "$(blocks llama-3.1-8b 1)" 28,084
equal "Llama-3.1-8B, tp 2" "$(blocks llama-3.1-8b 2)" 63,827
equal "Llama-3.1-8B, tp 4" "$(blocks llama-3.1-8b 4)" 135,313
equal "Llama-3.1-8B, tp 8" "$(blocks llama-3.1-8b 8)" 278,285
equal "a number of the user's" "$(blocks llama-3.1-8b 1 --set memory.kv_blocks=4719)" 4,719

finish
