#include "cuda/quantized_decode.h"

#include "bench/array.h"
#include "bench/cache_formats.h"
#include "bench/cpu/attention.h"
#include "bench/kernel.h"
#include "bench/kernel_job.h"
#include "bench/offered_splits.h"
#include "figures/quantized.h"

#include <cstring>

namespace kref::bench {

namespace {

constexpr int64_t BLOCKS_MAX = 16777216;

shape shape_of(const char *element, int64_t sequences, int64_t tokens, int64_t splits) {
    shape its = sli_no_measurement;
    its.element = element;
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
    std::vector<shape> all;
    for (const named_format &it : cache_formats) {
        if (is_quick) {
            shape small = shape_of(it.name, 2, 70, 2);
            small.query_heads = 4;
            small.kv_heads = 2;
            all.push_back(small);
            continue;
        }
        for (int64_t sequences : {1, 16, 64, 256}) {
            for (int64_t tokens : {1024, 4096, 16384}) {
                int64_t splits = offered_splits(264 / (sequences * 8), tokens, KREF_PAGED_GRAIN);
                all.push_back(shape_of(it.name, sequences, tokens, splits));
            }
        }
    }
    return all;
}

int64_t blocks_of(const shape &its) {
    return (its.tokens + its.block_tokens - 1) / its.block_tokens;
}

quantized_decode_args args_of(const shape &its) {
    quantized_decode_args args = {};
    args.format = find_format(its.element)->of;
    args.attention.sequences = to_int(its.sequences);
    args.attention.query_heads = to_int(its.query_heads);
    args.attention.kv_heads = to_int(its.kv_heads);
    args.attention.head_dim = to_int(its.head_dim);
    args.attention.block_tokens = to_int(its.block_tokens);
    args.attention.blocks_max = to_int(blocks_of(its));
    args.attention.window_tokens = to_int(its.window_tokens);
    args.attention.splits = to_int(its.splits);
    args.attention.scale = 1.0F / std::sqrt(static_cast<float>(its.head_dim));
    return args;
}

/* Scales of rows, or of heads with fp8: the others are null. */
void put_scales(quantized_decode_args *args, const fp16 *scales, const float *head_scales) {
    bool is_fp8 = args->format == cache_format::fp8;
    for (quantized_rows *rows : {&args->keys, &args->values}) {
        rows->scales = is_fp8 ? nullptr : scales;
        rows->head_scales = is_fp8 ? head_scales : nullptr;
    }
}

const char *refusal(const shape &its) {
    if (find_format(its.element) == nullptr) {
        return "quantized_decode: element must be fp8, int8 or q4_0";
    }
    if (its.splits > 65535) {
        return "quantized_decode: at most 65535 splits";
    }
    if (count_of({its.sequences, blocks_of(its)}) > BLOCKS_MAX) {
        return "quantized_decode: the bench measures at most 16777216 blocks";
    }
    bf16 somewhere = {};
    fp16 scale = {};
    float number = 0.0F;
    uint8_t code = 0;
    quantized_decode_args args = args_of(its);
    args.attention.outputs = &somewhere;
    args.attention.workspace = its.splits > 1 ? &number : nullptr;
    args.keys.codes = &code;
    args.values.codes = &code;
    put_scales(&args, &scale, &number);
    return quantized_decode_refusal(args);
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
    return kref_quantized_decode_work(&form, find_format(its.element)->form);
}

kref_cpu_codes codes_of(const quantized_rows &rows) {
    return {plain(rows.codes), plain(rows.scales), plain(rows.head_scales)};
}

const char *decode_on_cpu(const quantized_decode_args &args, void *) {
    const decode_attention_args &attention = args.attention;
    kref_cpu_coded cache = {};
    cache.layout = {cpu_format(args.format), attention.kv_heads, attention.head_dim};
    cache.keys = codes_of(args.keys);
    cache.values = codes_of(args.values);
    kref_cpu_decode decode = {};
    decode.heads = {attention.query_heads, attention.kv_heads, attention.window_tokens,
                    attention.scale};
    decode.rows = kref_cpu_coded_rows(&cache);
    decode.queries = plain(attention.queries);
    decode.block_table = plain(attention.block_table);
    decode.lengths = plain(attention.lengths);
    decode.outputs = plain(attention.outputs);
    decode.sequences = attention.sequences;
    decode.block_tokens = attention.block_tokens;
    decode.blocks_max = attention.blocks_max;
    kref_cpu_decode_attention(&decode);
    return nullptr;
}

/* Codes of e4m3 are numbers; of the others any byte is one. Scales are fp16, 2^-7 each. */
class quantized_job : public kernel_job<quantized_decode_args> {
  public:
    quantized_job(const shape &its, backend &on)
        : kernel_job(on, {quantized_decode, decode_on_cpu}),
          queries_(on, count_of({its.sequences, its.query_heads, its.head_dim})),
          keys_(on, codes_of(its)), values_(on, codes_of(its)),
          key_scales_(on, scales_of(its), fp16{0x2000}),
          value_scales_(on, scales_of(its), fp16{0x2000}), head_scales_(on, its.kv_heads, 1.0F),
          block_table_(on, scattered(its.sequences * blocks_of(its))),
          lengths_(on,
                   std::vector<int32_t>(static_cast<size_t>(its.sequences), to_int(its.tokens))),
          outputs_(on, count_of({its.sequences, its.query_heads, its.head_dim})),
          workspace_(on, decode_attention_workspace(args_of(its).attention)) {
        args_ = args_of(its);
        args_.keys.codes = reinterpret_cast<const uint8_t *>(keys_.data());
        args_.values.codes = reinterpret_cast<const uint8_t *>(values_.data());
        put_scales(&args_, key_scales_.data(), head_scales_.data());
        if (args_.format != cache_format::fp8) {
            args_.values.scales = value_scales_.data();
        }
        args_.attention.queries = queries_.data();
        args_.attention.block_table = block_table_.data();
        args_.attention.lengths = lengths_.data();
        args_.attention.outputs = outputs_.data();
        args_.attention.workspace = its.splits > 1 ? workspace_.data() : nullptr;
    }

  private:
    static int64_t rows_of(const shape &its) {
        return count_of({its.sequences, blocks_of(its), its.block_tokens, its.kv_heads});
    }
    static int64_t codes_of(const shape &its) {
        return count_of(
            {rows_of(its), row_code_bytes(find_format(its.element)->of, to_int(its.head_dim))});
    }
    static int64_t scales_of(const shape &its) {
        return count_of(
            {rows_of(its), row_scales(find_format(its.element)->of, to_int(its.head_dim))});
    }

    filled<bf16> queries_;
    filled<e4m3> keys_;
    filled<e4m3> values_;
    repeated<fp16> key_scales_;
    repeated<fp16> value_scales_;
    repeated<float> head_scales_;
    array<int32_t> block_table_;
    array<int32_t> lengths_;
    array<bf16> outputs_;
    array<float> workspace_;
};

std::unique_ptr<job> prepare(const shape &its, backend &on) {
    return std::make_unique<quantized_job>(its, on);
}

} // namespace

extern const kernel quantized_decode_kernel;
const kernel quantized_decode_kernel = {
    "quantized_decode",
    "decode_attention over a cache of fp8, int8 or q4_0",
    "element sequences tokens window_tokens query_heads kv_heads head_dim block_tokens splits",
    "cpu cuda",
    true,
    shapes,
    refusal,
    work,
    prepare,
};

} // namespace kref::bench
