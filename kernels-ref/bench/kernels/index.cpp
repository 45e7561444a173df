/* The index of sparse attention: scores of all keys, and the greatest of them. */
#include "figures/index.h"
#include "bench/array.h"
#include "bench/cpu/index.h"
#include "bench/kernel.h"
#include "bench/kernel_job.h"
#include "cuda/index_scores.h"
#include "cuda/select_top.h"

#include <cstring>

namespace kref::bench {

namespace {

constexpr int64_t KEY_DIM = 128;
constexpr int64_t LIST_MAX = 16777216;

template <typename Job> std::unique_ptr<job> prepare(const shape &its, backend &on) {
    return std::make_unique<Job>(its, on);
}

std::vector<int32_t> same_lengths(int64_t count, int64_t length) {
    return std::vector<int32_t>(static_cast<size_t>(count), to_int(length));
}

/* ---- Scores ---- */

/* The format of the keys. */
bool has_codes(const shape &its) {
    return strcmp(its.element, "fp8") == 0;
}

shape scores_shape(const char *element, int64_t sequences, int64_t tokens, int64_t query_heads) {
    shape its = sli_no_measurement;
    its.element = element;
    its.sequences = sequences;
    its.tokens = tokens;
    its.query_heads = query_heads;
    its.head_dim = KEY_DIM;
    its.block_tokens = 64;
    return its;
}

std::vector<shape> scores_shapes(bool is_quick) {
    if (is_quick) {
        return {scores_shape("bf16", 2, 70, 16), scores_shape("fp8", 2, 70, 16)};
    }
    std::vector<shape> all;
    for (const char *element : {"bf16", "fp8"}) {
        for (int64_t sequences : {1, 16, 64, 256}) {
            for (int64_t tokens : {4096, 32768}) {
                all.push_back(scores_shape(element, sequences, tokens, 64));
            }
        }
    }
    return all;
}

int64_t blocks_of(const shape &its) {
    return (its.tokens + its.block_tokens - 1) / its.block_tokens;
}

index_scores_args scores_args_of(const shape &its) {
    index_scores_args args = {};
    args.sequences = to_int(its.sequences);
    args.heads = to_int(its.query_heads);
    args.block_tokens = to_int(its.block_tokens);
    args.blocks_max = to_int(blocks_of(its));
    args.tokens_max = to_int(its.tokens);
    return args;
}

void put_keys(index_scores_args *args, bool has_codes, const bf16 *keys, const e4m3 *codes,
              const float *scales) {
    args->keys = has_codes ? nullptr : keys;
    args->key_codes = has_codes ? codes : nullptr;
    args->key_scales = has_codes ? scales : nullptr;
}

const char *refuse_scores(const shape &its) {
    if (!has_codes(its) && strcmp(its.element, "bf16") != 0) {
        return "index_scores: element must be bf16 or fp8";
    }
    if (its.head_dim != KEY_DIM) {
        return "index_scores: head_dim must be 128";
    }
    if (count_of({its.sequences, blocks_of(its)}) > LIST_MAX) {
        return "index_scores: the bench measures at most 16777216 blocks";
    }
    bf16 key = {};
    e4m3 code = {};
    float scale = 1.0F;
    index_scores_args args = scores_args_of(its);
    put_keys(&args, has_codes(its), &key, &code, &scale);
    return index_scores_refusal(args);
}

kref_work scores_work(const shape &its) {
    std::vector<int32_t> lengths = same_lengths(its.sequences, its.tokens);
    return kref_index_scores_work(to_int(its.sequences), lengths.data(), its.tokens,
                                  its.query_heads, has_codes(its));
}

const char *scores_on_cpu(const index_scores_args &args, void *) {
    kref_cpu_index index = {};
    index.queries = plain(args.queries);
    index.weights = plain(args.weights);
    index.keys = plain(args.keys);
    index.key_codes = plain(args.key_codes);
    index.key_scales = plain(args.key_scales);
    index.block_table = plain(args.block_table);
    index.lengths = plain(args.lengths);
    index.scores = plain(args.scores);
    index.sequences = args.sequences;
    index.heads = args.heads;
    index.block_tokens = args.block_tokens;
    index.blocks_max = args.blocks_max;
    index.tokens_max = args.tokens_max;
    kref_cpu_index_scores(&index);
    return nullptr;
}

class scores_job : public kernel_job<index_scores_args> {
  public:
    scores_job(const shape &its, backend &on)
        : kernel_job(on, {index_scores, scores_on_cpu}),
          queries_(on, count_of({its.sequences, its.query_heads, KEY_DIM})),
          weights_(on, count_of({its.sequences, its.query_heads})),
          keys_(on, has_codes(its) ? 0 : count_of({keys_of(its), KEY_DIM})),
          key_codes_(on, has_codes(its) ? count_of({keys_of(its), KEY_DIM}) : 0),
          key_scales_(on, has_codes(its) ? keys_of(its) : 0, 0x1p-8F),
          block_table_(on, scattered(its.sequences * blocks_of(its))),
          lengths_(on, same_lengths(its.sequences, its.tokens)),
          scores_(on, count_of({its.sequences, its.tokens})) {
        args_ = scores_args_of(its);
        args_.queries = queries_.data();
        args_.weights = weights_.data();
        put_keys(&args_, has_codes(its), keys_.data(), key_codes_.data(), key_scales_.data());
        args_.block_table = block_table_.data();
        args_.lengths = lengths_.data();
        args_.scores = scores_.data();
    }

  private:
    static int64_t keys_of(const shape &its) {
        return count_of({its.sequences, blocks_of(its), its.block_tokens});
    }

    filled<bf16> queries_;
    filled<float> weights_;
    filled<bf16> keys_;
    filled<e4m3> key_codes_;
    repeated<float> key_scales_;
    array<int32_t> block_table_;
    array<int32_t> lengths_;
    array<float> scores_;
};

/* ---- The greatest ---- */

shape top_shape(int64_t rows, int64_t width, int64_t chosen) {
    shape its = sli_no_measurement;
    its.element = "f32";
    its.rows = rows;
    its.width = width;
    its.chosen = chosen;
    return its;
}

std::vector<shape> top_shapes(bool is_quick) {
    if (is_quick) {
        return {top_shape(2, 300, 20)};
    }
    std::vector<shape> all;
    for (int64_t rows : {1, 16, 64, 256}) {
        for (int64_t width : {4096, 32768, 131072}) {
            all.push_back(top_shape(rows, width, 2048));
        }
    }
    return all;
}

select_top_args top_args_of(const shape &its) {
    select_top_args args = {};
    args.rows = to_int(its.rows);
    args.width = to_int(its.width);
    args.top = to_int(its.chosen);
    return args;
}

const char *refuse_top(const shape &its) {
    if (its.rows > LIST_MAX) {
        return "select_top: the bench measures at most 16777216 rows";
    }
    return select_top_refusal(top_args_of(its));
}

kref_work top_work(const shape &its) {
    std::vector<int32_t> lengths = same_lengths(its.rows, its.width);
    return kref_select_top_work(to_int(its.rows), lengths.data(), its.chosen);
}

const char *top_on_cpu(const select_top_args &args, void *) {
    kref_cpu_select_top(plain(args.numbers), plain(args.lengths), plain(args.chosen), args.rows,
                        args.width, args.top);
    return nullptr;
}

class top_job : public kernel_job<select_top_args> {
  public:
    top_job(const shape &its, backend &on)
        : kernel_job(on, {select_top, top_on_cpu}),
          numbers_(on, count_of({its.rows, its.width}), 8.0F),
          lengths_(on, same_lengths(its.rows, its.width)),
          chosen_(on, count_of({its.rows, its.chosen})) {
        args_ = top_args_of(its);
        args_.numbers = numbers_.data();
        args_.lengths = lengths_.data();
        args_.chosen = chosen_.data();
    }

  private:
    filled<float> numbers_;
    array<int32_t> lengths_;
    array<int32_t> chosen_;
};

} // namespace

extern const kernel index_scores_kernel;
const kernel index_scores_kernel = {
    "index_scores",
    "scores of the keys of an index",
    "element sequences tokens query_heads head_dim block_tokens",
    "cpu cuda",
    true,
    scores_shapes,
    refuse_scores,
    scores_work,
    prepare<scores_job>,
};

extern const kernel select_top_kernel;
const kernel select_top_kernel = {
    "select_top",
    "the places of the greatest numbers of each row",
    "element rows width chosen",
    "cpu cuda",
    false,
    top_shapes,
    refuse_top,
    top_work,
    prepare<top_job>,
};

} // namespace kref::bench
