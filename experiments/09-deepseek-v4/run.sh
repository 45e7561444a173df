#!/usr/bin/env bash
# DeepSeek V4 in pages.
# shellcheck source=experiments/figures.sh
. "$(dirname "$0")/../figures.sh"

# gib MODEL FORMAT: what a request of 1,048,576 tokens keeps and grows with
gib() {
    calc "$(estimate growing_bytes "$1" --tokens 1Mi --kv "$2") / 1024 ^ 3"
}

# what a rank of the node holds
rank=(deepseek-v4-pro --kv fp8_ds_mla --hardware h200 --tp 8)

# page_sizes: in bytes, in one line
page_sizes() {
    "$sluice" estimate "${rank[@]}" --json | tr -d ' \n' |
        sed -E 's/.*"page_sizes_bytes":\[([^]]*)\].*/\1\n/; s/,/ /g'
}

# block_bytes: pages that 256 tokens take in those layers that grow, as a run lays them out
block_bytes() {
    measure long.yaml --set 'workload.output={fixed: 1 tokens}'
    calc "$(metric block_pages) * $(metric page_bytes)"
}

# buckets TOKENS: bytes of a request in pages of the largest, the middle and the smallest size. By
# hand: index keys and two states of two pages each in 30 layers, entries of 31
buckets() {
    local blocks=$(($1 / 256)) pages middle small
    pages=$(estimate request_pages "${rank[@]}" --tokens "$1")
    middle=$((30 * (blocks + 4) * index)) small=$((31 * blocks * c128a))
    echo "$(calc "$pages * $(estimate page_bytes "${rank[@]}") - $middle - $small") $middle $small"
}

v4=$(gib deepseek-v4-pro bf16) v32=$(gib deepseek-v3.2 bf16)
exact "1,048,576 tokens, V4-Pro, 16 bits" 9.62 "$v4" GiB
exact "the same, 61 layers as in V3.2" 83.9 "$v32" GiB
exact "times smaller" 8.7 "$(calc "$v32 / $v4")" x
within "times smaller in fp8 with an fp4 index" 2 5 "$(calc "$v4 / $(gib deepseek-v4-pro fp8_ds_mla_mxfp4)")" x

read -r keys index c128a < <(page_sizes)
exact "largest page: 64 entries of a c4a layer" 37,440 "$keys" B
exact "middle page: 64 keys of its index" 8,640 "$index" B
exact "smallest page: 2 entries of a c128a layer" 1,728 "$c128a" B
exact "256 tokens in all layers, by hand" 1,435,968 "$(block_bytes)" B

measure long.yaml
exact "1,048,576 tokens at most, by hand" 5,928,925,248 \
    "$(calc "$(metric kv_peak_blocks) * $(metric page_bytes)")" B

# Three pools that hold requests of 1,048,576 tokens and nothing else are given some of 4,096.
read -r large middle small < <(buckets 1048576)
read -r large_4k middle_4k small_4k < <(buckets 4096)
unnamed "stranded by three pools of fixed size, by hand" "$(calc "
    100 - 100 * $large / $large_4k * ($large_4k + $middle_4k + $small_4k) / ($large + $middle + $small)")" %
without "quality of compressed attention" -

finish "DeepSeek V4 in pages (vLLM, April 2026)"
