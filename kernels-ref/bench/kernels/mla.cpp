/* Latent attention: absorbed over paged latents, and expanded for chunks. */
#include "cuda/mla.h"

#include "bench/array.h"
#include "bench/cpu/attention.h"
#include "bench/kernel.h"
#include "bench/kernel_job.h"
#include "bench/offered_splits.h"
#include "cuda/mla_decode.h"
#include "cuda/mla_prefill.h"

namespace kref::bench {

namespace {

constexpr int64_t BLOCKS_MAX = 16777216;

float scale_of_scores() {
    return 1.0F / std::sqrt(static_cast<float>(MLA_KEY));
}

std::vector<int32_t> same_numbers(int64_t count, int64_t number) {
    return std::vector<int32_t>(static_cast<size_t>(count), to_int(number));
}

/* ---- Decode ---- */

shape decode_shape(int64_t sequences, int64_t tokens, int64_t query_heads, int64_t splits) {
    shape its = sli_no_measurement;
    its.element = "bf16";
    its.sequences = sequences;
    its.tokens = tokens;
    its.query_heads = query_heads;
    its.head_dim = MLA_LATENT;
    its.rope_dim = MLA_ROPE;
    its.block_tokens = 64;
    its.splits = splits;
    return its;
}

std::vector<shape> decode_shapes(bool is_quick) {
    if (is_quick) {
        return {decode_shape(2, 40, 16, 1), decode_shape(1, 300, 8, 2)};
    }
    std::vector<shape> all;
    for (int64_t heads : {16, 128}) { /* DeepSeek-V3 on 8 devices, and on one */
        for (int64_t sequences : {1, 16, 64, 256}) {
            for (int64_t tokens : {1024, 4096, 16384}) {
                int64_t wanted = 264 / (sequences * ((heads + 63) / 64));
                int64_t splits = offered_splits(wanted, tokens, KREF_LATENT_GRAIN);
                all.push_back(decode_shape(sequences, tokens, heads, splits));
            }
        }
    }
    return all;
}

int64_t blocks_of(const shape &its) {
    return (its.tokens + its.block_tokens - 1) / its.block_tokens;
}

mla_decode_args decode_args_of(const shape &its) {
    mla_decode_args args = {};
    args.sequences = to_int(its.sequences);
    args.heads = to_int(its.query_heads);
    args.block_tokens = to_int(its.block_tokens);
    args.blocks_max = to_int(blocks_of(its));
    args.splits = to_int(its.splits);
    args.scale = scale_of_scores();
    return args;
}

const char *refuse_decode(const shape &its) {
    if (its.head_dim != MLA_LATENT || its.rope_dim != MLA_ROPE) {
        return "mla_decode: head_dim must be 512, and rope_dim 64";
    }
    if (its.splits > 65535) {
        return "mla_decode: at most 65535 splits";
    }
    if (count_of({its.sequences, blocks_of(its)}) > BLOCKS_MAX) {
        return "mla_decode: the bench measures at most 16777216 blocks";
    }
    bf16 somewhere = {};
    float also = 0.0F;
    mla_decode_args args = decode_args_of(its);
    args.outputs = &somewhere;
    args.workspace = its.splits > 1 ? &also : nullptr;
    return mla_decode_refusal(args);
}

kref_work decode_work(const shape &its) {
    std::vector<int32_t> tokens = same_numbers(its.sequences, its.tokens);
    kref_mla_shape form = {};
    form.sequences = to_int(its.sequences);
    form.tokens = tokens.data();
    form.heads = to_int(its.query_heads);
    form.splits = to_int(its.splits);
    form.output_bytes = sizeof(bf16);
    return kref_mla_decode_work(&form);
}

const char *decode_on_cpu(const mla_decode_args &args, void *) {
    kref_cpu_latent rows = {plain(args.cache), MLA_LATENT, MLA_ROPE};
    kref_cpu_decode decode = {};
    decode.heads = {args.heads, 1, 0, args.scale};
    decode.rows = kref_cpu_latent_rows(&rows);
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

class decode_job : public kernel_job<mla_decode_args> {
  public:
    decode_job(const shape &its, backend &on)
        : kernel_job(on, {mla_decode, decode_on_cpu}),
          queries_(on, count_of({its.sequences, its.query_heads, MLA_ROW})),
          cache_(on, count_of({its.sequences, blocks_of(its), its.block_tokens, MLA_ROW})),
          block_table_(on, scattered(its.sequences * blocks_of(its))),
          lengths_(on, same_numbers(its.sequences, its.tokens)),
          outputs_(on, count_of({its.sequences, its.query_heads, MLA_LATENT})),
          workspace_(on, mla_decode_workspace(decode_args_of(its))) {
        args_ = decode_args_of(its);
        args_.queries = queries_.data();
        args_.cache = cache_.data();
        args_.block_table = block_table_.data();
        args_.lengths = lengths_.data();
        args_.outputs = outputs_.data();
        args_.workspace = args_.splits > 1 ? workspace_.data() : nullptr;
    }

  private:
    filled<bf16> queries_;
    filled<bf16> cache_;
    array<int32_t> block_table_;
    array<int32_t> lengths_;
    array<bf16> outputs_;
    array<float> workspace_;
};

std::unique_ptr<job> prepare_decode(const shape &its, backend &on) {
    return std::make_unique<decode_job>(its, on);
}

/* ---- Prefill ---- */

shape prefill_shape(int64_t sequences, int64_t query_tokens, int64_t tokens, int64_t query_heads) {
    shape its = sli_no_measurement;
    its.element = "bf16";
    its.sequences = sequences;
    its.query_tokens = query_tokens;
    its.tokens = tokens;
    its.query_heads = query_heads;
    its.head_dim = MLA_NOPE;
    its.value_dim = MLA_VALUE;
    its.rope_dim = MLA_ROPE;
    return its;
}

std::vector<shape> prefill_shapes(bool is_quick) {
    if (is_quick) {
        return {prefill_shape(1, 40, 40, 2), prefill_shape(2, 17, 50, 1)};
    }
    std::vector<shape> all;
    for (int64_t heads : {16, 128}) {
        for (int64_t chunk : {512, 2048, 8192}) {
            for (int64_t past : {0, 8192}) {
                all.push_back(prefill_shape(1, chunk, past + chunk, heads));
            }
        }
    }
    return all;
}

mla_prefill_args prefill_args_of(const shape &its) {
    mla_prefill_args args = {};
    args.sequences = to_int(its.sequences);
    args.queries_max = to_int(its.query_tokens);
    args.heads = to_int(its.query_heads);
    args.scale = scale_of_scores();
    return args;
}

const char *refuse_prefill(const shape &its) {
    if (its.head_dim != MLA_NOPE || its.value_dim != MLA_VALUE || its.rope_dim != MLA_ROPE) {
        return "mla_prefill: head_dim and value_dim must be 128, and rope_dim 64";
    }
    if (its.tokens < its.query_tokens) {
        return "mla_prefill: tokens must be at least query_tokens, which are among them";
    }
    if (count_of({its.sequences, its.tokens}) > INT32_MAX) {
        return "mla_prefill: more than 2^31 tokens";
    }
    bf16 somewhere = {};
    mla_prefill_args args = prefill_args_of(its);
    args.outputs = &somewhere;
    return mla_prefill_refusal(args);
}

kref_work prefill_work(const shape &its) {
    std::vector<int32_t> queries = same_numbers(its.sequences, its.query_tokens);
    std::vector<int32_t> tokens = same_numbers(its.sequences, its.tokens);
    kref_mla_shape form = {};
    form.sequences = to_int(its.sequences);
    form.queries = queries.data();
    form.tokens = tokens.data();
    form.queries_max = to_int(its.query_tokens);
    form.heads = to_int(its.query_heads);
    form.splits = 1;
    form.output_bytes = sizeof(bf16);
    return kref_mla_prefill_work(&form);
}

const char *prefill_on_cpu(const mla_prefill_args &args, void *) {
    kref_cpu_expanded rows = {};
    rows.shared = {plain(args.rows), MLA_LATENT, MLA_ROPE};
    rows.expanded = plain(args.expanded);
    rows.kv_heads = args.heads;
    rows.nope = MLA_NOPE;
    rows.value = MLA_VALUE;
    kref_cpu_prefill prefill = {};
    prefill.heads = {args.heads, args.heads, 0, args.scale};
    prefill.rows = kref_cpu_expanded_rows(&rows);
    prefill.queries = plain(args.queries);
    prefill.query_starts = plain(args.query_starts);
    prefill.key_starts = plain(args.key_starts);
    prefill.outputs = plain(args.outputs);
    prefill.sequences = args.sequences;
    prefill.queries_max = args.queries_max;
    kref_cpu_prefill_attention(&prefill);
    return nullptr;
}

class prefill_job : public kernel_job<mla_prefill_args> {
  public:
    prefill_job(const shape &its, backend &on)
        : kernel_job(on, {mla_prefill, prefill_on_cpu}),
          queries_(on, rows_of(its, its.query_tokens, MLA_KEY)),
          expanded_(on, rows_of(its, its.tokens, MLA_EXPANDED)),
          rows_(on, count_of({its.sequences, its.tokens, MLA_ROW})),
          query_starts_(on, starts_of_equals(its.sequences, its.query_tokens)),
          key_starts_(on, starts_of_equals(its.sequences, its.tokens)),
          outputs_(on, rows_of(its, its.query_tokens, MLA_VALUE)) {
        args_ = prefill_args_of(its);
        args_.queries = queries_.data();
        args_.expanded = expanded_.data();
        args_.rows = rows_.data();
        args_.query_starts = query_starts_.data();
        args_.key_starts = key_starts_.data();
        args_.outputs = outputs_.data();
    }

  private:
    static int64_t rows_of(const shape &its, int64_t tokens, int64_t width) {
        return count_of({its.sequences, tokens, its.query_heads, width});
    }

    filled<bf16> queries_;
    filled<bf16> expanded_;
    filled<bf16> rows_;
    array<int32_t> query_starts_;
    array<int32_t> key_starts_;
    array<bf16> outputs_;
};

std::unique_ptr<job> prepare_prefill(const shape &its, backend &on) {
    return std::make_unique<prefill_job>(its, on);
}

} // namespace

extern const kernel mla_decode_kernel;
const kernel mla_decode_kernel = {
    "mla_decode",
    "absorbed latent attention of one token a sequence over paged latents",
    "element sequences tokens query_heads head_dim rope_dim block_tokens splits",
    "cpu cuda",
    true,
    decode_shapes,
    refuse_decode,
    decode_work,
    prepare_decode,
};

extern const kernel mla_prefill_kernel;
const kernel mla_prefill_kernel = {
    "mla_prefill",
    "latent attention of chunks, keys and values expanded before",
    "element sequences query_tokens tokens query_heads head_dim value_dim rope_dim",
    "cpu cuda",
    true,
    prefill_shapes,
    refuse_prefill,
    prefill_work,
    prepare_prefill,
};

} // namespace kref::bench
