#include "cuda/decode_attention.h"

#include "bench/array.h"
#include "bench/cpu/attention.h"
#include "bench/kernel.h"
#include "bench/kernel_job.h"
#include "bench/offered_splits.h"

namespace kref::bench {

namespace {

constexpr int64_t BLOCKS_MAX = 16777216;

shape shape_of(int64_t sequences, int64_t tokens, int64_t splits) {
    shape its = sli_no_measurement;
    its.element = "bf16";
    its.sequences = sequences;
    its.tokens = tokens;
    its.window_tokens = 0;
    its.query_heads = 32;
    its.kv_heads = 8;
    its.head_dim = 128;
    its.block_tokens = 16;
    its.splits = splits;
    return its;
}

std::vector<shape> shapes(bool is_quick) {
    if (is_quick) {
        return {shape_of(2, 200, 1), shape_of(1, 500, 2)};
    }
    std::vector<shape> all;
    for (int64_t sequences : {1, 4, 16, 64, 256}) {
        for (int64_t tokens : {128, 1024, 4096, 16384}) {
            /* About as many blocks as two waves on a large device. */
            int64_t splits = offered_splits(264 / (sequences * 8), tokens, KREF_PAGED_GRAIN);
            all.push_back(shape_of(sequences, tokens, splits));
        }
    }
    all.push_back(shape_of(1, 131072, 64));
    shape windowed = shape_of(64, 16384, 1);
    windowed.window_tokens = 4096;
    all.push_back(windowed);
    shape small_heads = shape_of(64, 4096, 1);
    small_heads.query_heads = 64;
    small_heads.head_dim = 64;
    all.push_back(small_heads);
    return all;
}

int64_t blocks_of(const shape &its) {
    int64_t block_tokens = its.block_tokens > 0 ? its.block_tokens : 1;
    return (its.tokens + block_tokens - 1) / block_tokens;
}

decode_attention_args args_of(const shape &its) {
    decode_attention_args args = {};
    args.sequences = to_int(its.sequences);
    args.query_heads = to_int(its.query_heads);
    args.kv_heads = to_int(its.kv_heads);
    args.head_dim = to_int(its.head_dim);
    args.block_tokens = to_int(its.block_tokens);
    args.blocks_max = to_int(blocks_of(its));
    args.window_tokens = to_int(its.window_tokens);
    args.splits = to_int(its.splits);
    args.scale = 1.0F / std::sqrt(static_cast<float>(its.head_dim));
    return args;
}

const char *refusal(const shape &its) {
    bf16 somewhere = {};
    float also = 0.0F;
    decode_attention_args args = args_of(its);
    args.outputs = &somewhere;
    args.workspace = its.splits > 1 ? &also : nullptr;
    if (its.splits > 65535) {
        return "decode_attention: at most 65535 splits";
    }
    if (count_of({its.sequences, blocks_of(its)}) > BLOCKS_MAX) {
        return "decode_attention: the bench measures at most 16777216 blocks";
    }
    return decode_attention_refusal(args);
}

kref_work work(const shape &its) {
    std::vector<int32_t> tokens(static_cast<size_t>(its.sequences), to_int(its.tokens));
    kref_attention_shape form = {};
    form.sequences = to_int(its.sequences);
    form.tokens = tokens.data();
    form.query_heads = to_int(its.query_heads);
    form.kv_heads = to_int(its.kv_heads);
    form.head_dim = to_int(its.head_dim);
    form.window_tokens = to_int(its.window_tokens);
    form.splits = to_int(its.splits);
    form.output_bytes = sizeof(bf16);
    return kref_decode_attention_work(&form);
}

const char *decode_on_cpu(const decode_attention_args &args, void *) {
    kref_cpu_plain rows = {plain(args.key_cache), plain(args.value_cache), args.kv_heads,
                           args.head_dim};
    kref_cpu_decode decode = {};
    decode.heads = {args.query_heads, args.kv_heads, args.window_tokens, args.scale};
    decode.rows = kref_cpu_plain_rows(&rows);
    decode.queries = plain(args.queries);
    decode.block_table = plain(args.block_table);
    decode.lengths = plain(args.lengths);
    decode.outputs = plain(args.outputs);
    decode.sequences = args.sequences;
    decode.block_tokens = args.block_tokens;
    decode.blocks_max = args.blocks_max;
    kref_cpu_decode_attention(&decode);
    return nullptr;
}

class decode_job : public kernel_job<decode_attention_args> {
  public:
    decode_job(const shape &its, backend &on)
        : kernel_job(on, {decode_attention, decode_on_cpu}),
          queries_(on, count_of({its.sequences, its.query_heads, its.head_dim})),
          keys_(on, cache_of(its)), values_(on, cache_of(its)),
          outputs_(on, count_of({its.sequences, its.query_heads, its.head_dim})),
          block_table_(on, scattered(its.sequences * blocks_of(its))),
          lengths_(on,
                   std::vector<int32_t>(static_cast<size_t>(its.sequences), to_int(its.tokens))),
          workspace_(on, decode_attention_workspace(args_of(its))) {
        args_ = args_of(its);
        args_.queries = queries_.data();
        args_.key_cache = keys_.data();
        args_.value_cache = values_.data();
        args_.block_table = block_table_.data();
        args_.lengths = lengths_.data();
        args_.outputs = outputs_.data();
        args_.workspace = args_.splits > 1 ? workspace_.data() : nullptr;
    }

  private:
    static int64_t cache_of(const shape &its) {
        return count_of(
            {its.sequences, blocks_of(its), its.block_tokens, its.kv_heads, its.head_dim});
    }

    filled<bf16> queries_;
    filled<bf16> keys_;
    filled<bf16> values_;
    array<bf16> outputs_;
    array<int32_t> block_table_;
    array<int32_t> lengths_;
    array<float> workspace_;
};

std::unique_ptr<job> prepare(const shape &its, backend &on) {
    return std::make_unique<decode_job>(its, on);
}

} // namespace

extern const kernel decode_attention_kernel;
const kernel decode_attention_kernel = {
    "decode_attention",
    "attention of one token a sequence over a paged cache",
    "element sequences tokens window_tokens query_heads kv_heads head_dim block_tokens splits",
    "cpu cuda",
    true,
    shapes,
    refusal,
    work,
    prepare,
};

} // namespace kref::bench
