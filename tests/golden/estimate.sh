#!/usr/bin/env bash
# sluice estimate, models and hardware: the worked example of the guide in one command, refusals,
# and that what is printed for people and for programs is the same.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"

title "Wrong use"
sluice 2 estimate
sluice 2 estimate qwen3-32b llama-3.1-8b
sluice 2 estimate qwen3-32b --tokens 0
sluice 2 estimate qwen3-32b --tokens '3 GiB'
sluice 2 estimate qwen3-32b --tokens 65Mi
sluice 2 estimate qwen3-32b --kv bf61
sluice 2 estimate qwen3-32b --weights q2
sluice 2 estimate qwen3-32b --bandwidth 3
sluice 2 estimate qwen3-32b --dp 0
sluice 2 estimate qwen3-32b --block 65537
sluice 2 estimate qwen3-32b --window-pages never
sluice 2 estimate qwen3-32b --attention-kernel fa9
sluice 2 estimate qwen3-32b --mla-decode absorbd
sluice 2 estimate qwen3-32b --prefill-chunk 0
sluice 2 estimate qwen3-32b --concurency 3
sluice 2 estimate qwen3-32b --sweep tokens
sluice 2 estimate qwen3-32b --sweep token=1,2
sluice 2 estimate qwen3-32b --sweep tokens=1,,2
sluice 2 estimate qwen3-32b --sweep tp=1,two
sluice 2 estimate qwen3-32b --sweep tp=1 --sweep tp=2
sluice 2 estimate qwen3-32b --sweep tp=1 --sweep pp=1 --sweep kv=fp8
sluice 2 estimate --sweep tokens=1
sluice 2 models --kv bf61
sluice 2 hardware --kv fp8

title "What is not known, or cannot be"
quiet 3 estimate qwen3-23b
quiet 3 estimate qwen3-32b --hardware h100
sluice 3 estimate absent.yaml
sluice 3 estimate qwen3-32b --tokens 100 --shared-prefix 100
sluice 3 estimate qwen3-32b --pp 65
sluice 3 estimate qwen3-32b --tp 3
sluice 3 estimate phi-4-14b --tp 4
sluice 3 estimate qwen3-32b --tp 2 --ep 2
sluice 3 estimate deepseek-v3 --tp 8 --ep 3
sluice 3 estimate deepseek-v3 --dp 512 --ep 512
sluice 3 estimate deepseek-v3 --dp 10
sluice 3 estimate qwen3-32b --mla-prefill expanded
sluice 3 estimate llama-4-scout --block 24 --hardware h200
quiet 3 models qwen3-23b
quiet 3 hardware h100

# said LABEL: the line of the last call that begins with it, without spaces twice
said() {
    grep -m 1 "^ *$1 " .said | tr -s ' '
}

# json NAME: the first value of that name in the last call
json() {
    sed -n "s/^ *\"$1\": \([^,]*\),*$/\1/p" .said | head -n 1
}

# The worked example: 64 layers x 8 heads x 128 x 2 x 2 B = 256 KiB a token
quiet 0 estimate qwen3-32b --concurrency 8 --shared-prefix 16Ki
equal "a token" "$(said 'a token')" " a token 256 KiB 262,144"
equal "a request" "$(said 'a request')" " a request 8 GiB 8,589,934,592"
equal "eight requests" "$(said 'all requests')" \
    " all requests 64 GiB 68,719,476,736 nothing shared"
equal "a shared prefix" "$(said 'shared prefix')" \
    " shared prefix 4 GiB 4,294,967,296 16,384 tokens, kept once"
equal "all that share it" "$(said 'all, sharing it')" \
    " all, sharing it 36 GiB 38,654,705,664 saves 28 GiB"
quiet 0 estimate qwen3-32b --bandwidth '3 TB/s' --link '64 GB/s' --json
between "ms of a step" "$(json cache_ns)" 2863311.5 2863311.6
between "ms of a hand-off" "$(json time_ns)" 134217727.9 134217728.1

quiet 0 estimate deepseek-v4-pro --tokens 1Mi --json
equal "DeepSeek V4 at 1 Mi tokens" "$(json growing_bytes)" 10334371840
equal "no device, no fit" "$(json hardware) $(json fits)" "null "

# A step of DeepSeek-V3 at 32 Ki tokens: 61 x 278,528 FLOPs for each, and 36.6 billion parameters
quiet 0 estimate deepseek-v3 --json
between "GFLOP of attention" "$(json decode_attention_flops)" 556735135743 556735135745
between "GFLOP of matrices" "$(json decode_linear_flops)" 73249193983 73249193985
equal "the ways of latents" "$(json decode_latents) $(json prefill_latents)" \
    '"absorbed" "expanded"'
quiet 0 estimate deepseek-v3 --mla-decode expanded --prefill-chunk 8Ki --json
equal "latents made again" "$(json expanded_again_tokens)" 49152
equal "the way asked for" "$(json decode_latents)" '"expanded"'

# What is said of a rank in JSON is what is said in words
quiet 0 estimate deepseek-v3 --weights fp8 --hardware h200 --dp 16 --ep 16 --concurrency 40
equal "the placement" "$(head -n 1 .said | sed 's/.* · //')" "tp 1 × dp 16, ep 16"
buffers=$(said 'communication buffers') verdict=$(said '40 requests')
quiet 0 estimate deepseek-v3 --weights fp8 --hardware h200 --dp 16 --ep 16 --concurrency 40 --json
equal "its requests" "${verdict//,/}" " 40 requests fit $(json max_requests) at most"
equal "its buffers" "${buffers//,/}" " communication buffers 3.5 GiB $(json buffers_bytes) assumed"
equal "its degrees" "$(json tp) $(json pp) $(json dp) $(json cp) $(json ep)" "1 1 16 1 16"

# Text and JSON of a sweep: one axis of three values, two of six cells
quiet 0 estimate qwen3-32b --sweep tokens=1,2,3 --json
equal "estimates of a sweep" "$(grep -c '"model"' .said)" 3
equal "their tokens" "$(sed -n 's/^ *"tokens": \([0-9]*\),/\1/p' .said | xargs)" "1 2 3"
quiet 0 estimate qwen3-32b --sweep tokens=32Ki,64Ki --sweep kv=bf16,fp8,q4_0
equal "a row of a grid" "$(said 32,768)" " 32,768 8 GiB 4 GiB 2.25 GiB"
equal "the next" "$(said 65,536)" " 65,536 16 GiB 8 GiB 4.5 GiB"
quiet 0 estimate --sweep model=llama-2-7b,mistral-7b-v0.1 --tokens 4Ki
equal "a longest bar has 24 columns" "$(said llama-2-7b)" \
    " llama-2-7b 2 GiB 2 GiB ████████████████████████"
equal "a quarter of it" "$(said mistral-7b-v0.1)" " mistral-7b-v0.1 512 MiB 512 MiB ██████"

# Every format is on the page, every model and device in its list and explained
quiet 0 help estimate
for word in bf16 fp8 q8_0 q4_0 nvfp4 mxfp4 fp8_ds_mla q1_0 naive fa1 fa2 fa3 split_kv; do
    grep -q "^    $word " .said || fail "the page lacks $word"
done
for kind in models hardware; do
    quiet 0 "$kind"
    names=$(awk 'NR == 1 { next } NF == 0 { exit } { print $1 }' .said)
    [ "$(wc -w <<<"$names")" -ge 4 ] || fail "$kind lists: $names"
    for name in $names; do
        quiet 0 "$kind" "$name"
        head -n 1 .said | grep -qF "($name)" || fail "$kind $name begins otherwise"
    done
done

title "What does not fit"
only='fit|devices|not even' sluice 4 estimate deepseek-v3 --weights fp8 --hardware h100-sxm --tp 2
only='fit|devices|not even' sluice 4 estimate qwen3-32b --hardware h100-sxm --concurrency 8
only='fit|devices|not even' sluice 4 estimate qwen3-32b --hardware a100-40g --concurrency 1Mi
only='fit|devices|not even|flash' sluice 4 estimate deepseek-v3 --weights fp8 --hardware h200 \
    --tp 1 --attention-kernel naive
only='fit|devices|not even|flash' sluice 4 estimate deepseek-v3 --weights fp8 --hardware h100-sxm \
    --dp 8 --ep 8
for device in a100-40g a100-80g h100-sxm h200; do
    quiet 4 estimate deepseek-v3 --weights q1_0 --hardware "$device" --pp 61 \
        --attention-kernel naive
    grep -q 'flash attention' .said || fail "nothing is said of flash attention on $device"
done

# The fastest of five, in ms: the limit is on the program, not on the machine
best=1000
for _ in 1 2 3 4 5; do
    begin=$(date +%s%N)
    quiet 0 estimate deepseek-v4-pro --tokens 1Mi
    took=$((($(date +%s%N) - begin) / 1000000))
    [ "$took" -ge "$best" ] || best=$took
done
between "ms of an estimate" "$best" 0 50

finish
