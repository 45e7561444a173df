#include "cuda/prefill_attention.h"

#include "bench/array.h"
#include "bench/cpu/attention.h"
#include "bench/kernel.h"
#include "bench/kernel_job.h"

namespace kref::bench {

namespace {

shape shape_of(int64_t sequences, int64_t query_tokens, int64_t tokens, int64_t window_tokens,
               int64_t query_heads, int64_t kv_heads, int64_t head_dim) {
    shape its = sli_no_measurement;
    its.element = "bf16";
    its.sequences = sequences;
    its.query_tokens = query_tokens;
    its.tokens = tokens;
    its.window_tokens = window_tokens;
    its.query_heads = query_heads;
    its.kv_heads = kv_heads;
    its.head_dim = head_dim;
    return its;
}

std::vector<shape> shapes(bool is_quick) {
    if (is_quick) {
        return {shape_of(1, 64, 64, 0, 4, 1, 64), shape_of(2, 32, 160, 0, 4, 2, 128)};
    }
    std::vector<shape> all;
    for (int64_t chunk : {128, 512, 1024, 2048, 4096, 8192}) {
        for (int64_t past : {0, 2048, 8192, 32768}) {
            all.push_back(shape_of(1, chunk, past + chunk, 0, 32, 8, 128));
        }
    }
    for (int64_t window : {1024, 4096}) {
        all.push_back(shape_of(1, 2048, 8192, window, 32, 8, 128));
    }
    all.push_back(shape_of(8, 512, 512, 0, 32, 8, 128));
    all.push_back(shape_of(1, 2048, 2048, 0, 32, 32, 128));
    all.push_back(shape_of(1, 2048, 2048, 0, 64, 8, 64));
    return all;
}

prefill_attention_args args_of(const shape &its) {
    prefill_attention_args args = {};
    args.sequences = to_int(its.sequences);
    args.queries_max = to_int(its.query_tokens);
    args.query_heads = to_int(its.query_heads);
    args.kv_heads = to_int(its.kv_heads);
    args.head_dim = to_int(its.head_dim);
    args.window_tokens = to_int(its.window_tokens);
    args.scale = 1.0F / std::sqrt(static_cast<float>(its.head_dim));
    return args;
}

const char *refusal(const shape &its) {
    bf16 somewhere = {};
    prefill_attention_args args = args_of(its);
    args.outputs = &somewhere;
    if (its.tokens < its.query_tokens) {
        return "prefill_attention: tokens must be at least query_tokens, which are among them";
    }
    if (count_of({its.sequences, its.tokens}) > INT32_MAX) {
        return "prefill_attention: more than 2^31 tokens";
    }
    return prefill_attention_refusal(args);
}

kref_work work(const shape &its) {
    std::vector<int32_t> queries(static_cast<size_t>(its.sequences), to_int(its.query_tokens));
    std::vector<int32_t> tokens(static_cast<size_t>(its.sequences), to_int(its.tokens));
    kref_attention_shape form = {};
    form.sequences = to_int(its.sequences);
    form.queries = queries.data();
    form.tokens = tokens.data();
    form.queries_max = to_int(its.query_tokens);
    form.query_heads = to_int(its.query_heads);
    form.kv_heads = to_int(its.kv_heads);
    form.head_dim = to_int(its.head_dim);
    form.window_tokens = to_int(its.window_tokens);
    form.splits = 1;
    form.output_bytes = sizeof(bf16);
    return kref_prefill_attention_work(&form);
}

const char *prefill_on_cpu(const prefill_attention_args &args, void *) {
    kref_cpu_plain rows = {plain(args.keys), plain(args.values), args.kv_heads, args.head_dim};
    kref_cpu_prefill prefill = {};
    prefill.heads = {args.query_heads, args.kv_heads, args.window_tokens, args.scale};
    prefill.rows = kref_cpu_plain_rows(&rows);
    prefill.queries = plain(args.queries);
    prefill.query_starts = plain(args.query_starts);
    prefill.key_starts = plain(args.key_starts);
    prefill.outputs = plain(args.outputs);
    prefill.sequences = args.sequences;
    prefill.queries_max = args.queries_max;
    kref_cpu_prefill_attention(&prefill);
    return nullptr;
}

class prefill_job : public kernel_job<prefill_attention_args> {
  public:
    prefill_job(const shape &its, backend &on)
        : kernel_job(on, {prefill_attention, prefill_on_cpu}), queries_(on, queries_of(its)),
          keys_(on, keys_of(its)), values_(on, keys_of(its)), outputs_(on, queries_of(its)),
          query_starts_(on, starts_of_equals(its.sequences, its.query_tokens)),
          key_starts_(on, starts_of_equals(its.sequences, its.tokens)) {
        args_ = args_of(its);
        args_.queries = queries_.data();
        args_.keys = keys_.data();
        args_.values = values_.data();
        args_.query_starts = query_starts_.data();
        args_.key_starts = key_starts_.data();
        args_.outputs = outputs_.data();
    }

  private:
    static int64_t queries_of(const shape &its) {
        return count_of({its.sequences, its.query_tokens, its.query_heads, its.head_dim});
    }
    static int64_t keys_of(const shape &its) {
        return count_of({its.sequences, its.tokens, its.kv_heads, its.head_dim});
    }

    filled<bf16> queries_;
    filled<bf16> keys_;
    filled<bf16> values_;
    array<bf16> outputs_;
    array<int32_t> query_starts_;
    array<int32_t> key_starts_;
};

std::unique_ptr<job> prepare(const shape &its, backend &on) {
    return std::make_unique<prefill_job>(its, on);
}

} // namespace

extern const kernel prefill_attention_kernel;
const kernel prefill_attention_kernel = {
    "prefill_attention",
    "causal attention of prompt chunks over their past and themselves",
    "element sequences query_tokens tokens window_tokens query_heads kv_heads head_dim",
    "cpu cuda",
    true,
    shapes,
    refusal,
    work,
    prepare,
};

} // namespace kref::bench
