/* Blocks and rows of a cache that are copied, and rows that are quantised into one. */
#include "bench/array.h"
#include "bench/cache_formats.h"
#include "bench/cpu/copy.h"
#include "bench/kernel.h"
#include "bench/kernel_job.h"
#include "cuda/block_copy.h"
#include "cuda/gather_rows.h"
#include "cuda/kv_append.h"
#include "figures/copy.h"

#include <cstring>

namespace kref::bench {

namespace {

constexpr int64_t LIST_MAX = 16777216;

template <typename Job> std::unique_ptr<job> prepare(const shape &its, backend &on) {
    return std::make_unique<Job>(its, on);
}

/* ---- Blocks: gathered into a dense buffer, by one kernel or by copies of the runtime ---- */

kref_cpu_blocks blocks_of(const block_copy_args &args) {
    return {plain(args.source),
            plain(args.target),
            plain(args.source_blocks),
            plain(args.target_blocks),
            static_cast<size_t>(args.block_bytes),
            args.blocks};
}

const char *copy_on_cpu(const block_copy_args &args, void *) {
    kref_cpu_blocks blocks = blocks_of(args);
    kref_cpu_block_copy(&blocks);
    return nullptr;
}

const char *copy_each_on_cpu(const block_copy_args &args, void *) {
    kref_cpu_blocks blocks = blocks_of(args);
    kref_cpu_block_copy_each(&blocks);
    return nullptr;
}

struct way {
    const char *name;
    memory source;      /* of the device, or the host's, pinned */
    bool is_by_runtime; /* which reads its list on the host */
    bool is_batch;      /* which no graph holds */
    kernel_calls<block_copy_args> calls;
};

const way ways[] = {
    {"device", memory::device, false, false, {block_copy, copy_on_cpu}},
    {"device_each", memory::device, true, false, {block_copy_each, copy_each_on_cpu}},
    {"device_batch", memory::device, true, true, {block_copy_batch, copy_each_on_cpu}},
    {"host", memory::host, false, false, {block_copy, copy_on_cpu}},
    {"host_each", memory::host, true, false, {block_copy_each, copy_each_on_cpu}},
    {"host_batch", memory::host, true, true, {block_copy_batch, copy_each_on_cpu}},
};

const way *find_way(const char *name) {
    for (const way &it : ways) {
        if (strcmp(it.name, name) == 0) {
            return &it;
        }
    }
    return nullptr;
}

shape copy_shape(const char *variant, int64_t pieces, int64_t piece_bytes) {
    shape its = sli_no_measurement;
    its.variant = variant;
    its.pieces = pieces;
    its.piece_bytes = piece_bytes;
    return its;
}

std::vector<shape> copy_shapes(bool is_quick) {
    std::vector<shape> all;
    for (const way &it : ways) {
        if (is_quick) {
            all.push_back(copy_shape(it.name, 5, 1024));
            continue;
        }
        for (int64_t bytes : {4096, 16384, 65536, 262144, 2097152}) {
            for (int64_t pieces : {1, 16, 256}) {
                all.push_back(copy_shape(it.name, pieces, bytes));
            }
        }
    }
    return all;
}

block_copy_args copy_args_of(const shape &its) {
    block_copy_args args = {};
    args.blocks = to_int(its.pieces);
    args.block_bytes = its.piece_bytes;
    return args;
}

const char *refuse_copy(const shape &its) {
    if (find_way(its.variant) == nullptr) {
        return "block_copy: variant must be device, device_each, device_batch, host, host_each or "
               "host_batch";
    }
    if (its.pieces > LIST_MAX) {
        return "block_copy: the bench measures at most 16777216 pieces";
    }
    return block_copy_refusal(copy_args_of(its));
}

/* What the runtime's copies execute is not counted; what they move is. */
kref_work copy_work(const shape &its) {
    return kref_block_copy_work(its.pieces, its.piece_bytes, 1);
}

class copy_job : public kernel_job<block_copy_args> {
  public:
    copy_job(const shape &its, backend &on)
        : kernel_job(on, find_way(its.variant)->calls), way_(*find_way(its.variant)),
          source_(on, words_of(its), way_.source), target_(on, words_of(its)),
          list_(on, scattered(its.pieces), way_.is_by_runtime ? memory::host : memory::device) {
        args_ = copy_args_of(its);
        args_.source = source_.data();
        args_.target = target_.data();
        args_.source_blocks = list_.data();
    }

    bool can_be_captured() const override {
        return !way_.is_batch;
    }

  private:
    static int64_t words_of(const shape &its) {
        return count_of({its.pieces, its.piece_bytes / 4});
    }

    const way &way_;
    array<uint32_t> source_;
    array<uint32_t> target_;
    array<int32_t> list_;
};

/* ---- Rows that an index has chosen ---- */

shape gather_shape(int64_t sequences, int64_t tokens, int64_t chosen, int64_t width) {
    shape its = sli_no_measurement;
    its.element = "bf16";
    its.sequences = sequences;
    its.tokens = tokens;
    its.block_tokens = 64;
    its.chosen = chosen;
    its.width = width;
    return its;
}

std::vector<shape> gather_shapes(bool is_quick) {
    if (is_quick) {
        return {gather_shape(2, 100, 20, 64)};
    }
    std::vector<shape> all;
    for (int64_t sequences : {1, 16, 64, 256}) {
        all.push_back(gather_shape(sequences, 32768, 2048, 576));
    }
    return all;
}

int64_t blocks_of(const shape &its) {
    return (its.tokens + its.block_tokens - 1) / its.block_tokens;
}

gather_rows_args gather_args_of(const shape &its) {
    gather_rows_args args = {};
    args.sequences = to_int(its.sequences);
    args.top = to_int(its.chosen);
    args.width = to_int(its.width);
    args.block_tokens = to_int(its.block_tokens);
    args.blocks_max = to_int(blocks_of(its));
    return args;
}

const char *refuse_gather(const shape &its) {
    if (its.chosen > its.tokens) {
        return "gather_rows: chosen must be at most tokens";
    }
    if (count_of({its.sequences, its.chosen}) > LIST_MAX ||
        count_of({its.sequences, blocks_of(its)}) > LIST_MAX) {
        return "gather_rows: the bench measures at most 16777216 rows and blocks";
    }
    return gather_rows_refusal(gather_args_of(its));
}

kref_work gather_work(const shape &its) {
    int64_t rows = its.sequences * its.chosen;
    return kref_gather_rows_work(rows, rows, its.width);
}

/* The same for each sequence, in rising order and evenly spread. */
std::vector<int32_t> chosen_of(const shape &its) {
    std::vector<int32_t> all;
    for (int64_t i = 0; i < its.sequences * its.chosen; i++) {
        all.push_back(to_int(i % its.chosen * its.tokens / its.chosen));
    }
    return all;
}

const char *gather_on_cpu(const gather_rows_args &args, void *) {
    kref_cpu_gather gather = {};
    gather.cache = plain(args.cache);
    gather.block_table = plain(args.block_table);
    gather.chosen = plain(args.chosen);
    gather.rows = plain(args.rows);
    gather.sequences = args.sequences;
    gather.top = args.top;
    gather.width = args.width;
    gather.block_tokens = args.block_tokens;
    gather.blocks_max = args.blocks_max;
    kref_cpu_gather_rows(&gather);
    return nullptr;
}

class gather_job : public kernel_job<gather_rows_args> {
  public:
    gather_job(const shape &its, backend &on)
        : kernel_job(on, {gather_rows, gather_on_cpu}),
          cache_(on, count_of({its.sequences, blocks_of(its), its.block_tokens, its.width})),
          block_table_(on, scattered(its.sequences * blocks_of(its))), chosen_(on, chosen_of(its)),
          rows_(on, count_of({its.sequences, its.chosen, its.width})) {
        args_ = gather_args_of(its);
        args_.cache = cache_.data();
        args_.block_table = block_table_.data();
        args_.chosen = chosen_.data();
        args_.rows = rows_.data();
    }

  private:
    filled<bf16> cache_;
    array<int32_t> block_table_;
    array<int32_t> chosen_;
    array<bf16> rows_;
};

/* ---- Rows that are quantised ---- */

shape append_shape(const char *variant, int64_t rows, int64_t kv_heads, int64_t head_dim) {
    shape its = sli_no_measurement;
    its.variant = variant;
    its.element = "bf16";
    its.rows = rows;
    its.kv_heads = kv_heads;
    its.head_dim = head_dim;
    return its;
}

std::vector<shape> append_shapes(bool is_quick) {
    std::vector<shape> all;
    for (const named_format &it : cache_formats) {
        if (is_quick) {
            all.push_back(append_shape(it.name, 7, 2, 64));
            continue;
        }
        for (int64_t rows : {1, 16, 64, 256, 1024, 2048, 8192}) {
            all.push_back(append_shape(it.name, rows, 8, 128));
        }
    }
    return all;
}

kv_append_args append_args_of(const shape &its) {
    kv_append_args args = {};
    args.format = find_format(its.variant)->of;
    args.tokens = to_int(its.rows);
    args.kv_heads = to_int(its.kv_heads);
    args.head_dim = to_int(its.head_dim);
    return args;
}

/* What a kernel asks of its pointers is whether they are there. */
void put_targets(kv_append_args *args, uint8_t *codes, fp16 *scales, const float *head_scales) {
    bool is_fp8 = args->format == cache_format::fp8;
    for (append_target *target : {&args->keys, &args->values}) {
        target->codes = codes;
        target->scales = is_fp8 ? nullptr : scales;
        target->head_scales = is_fp8 ? head_scales : nullptr;
    }
}

const char *refuse_append(const shape &its) {
    if (find_format(its.variant) == nullptr) {
        return "kv_append: variant must be fp8, int8 or q4_0";
    }
    if (its.rows > LIST_MAX) {
        return "kv_append: the bench measures at most 16777216 rows";
    }
    uint8_t code = 0;
    fp16 scale = {};
    float head_scale = 1.0F;
    kv_append_args args = append_args_of(its);
    put_targets(&args, &code, &scale, &head_scale);
    return kv_append_refusal(args);
}

kref_work append_work(const shape &its) {
    return kref_kv_append_work(find_format(its.variant)->form, its.rows, its.rows, its.kv_heads,
                               its.head_dim);
}

kref_cpu_appended appended_of(const append_target &to) {
    return {plain(to.rows), plain(to.codes), plain(to.scales), plain(to.head_scales)};
}

const char *append_on_cpu(const kv_append_args &args, void *) {
    kref_cpu_layout layout = {cpu_format(args.format), args.kv_heads, args.head_dim};
    kref_cpu_appended keys = appended_of(args.keys);
    kref_cpu_appended values = appended_of(args.values);
    kref_cpu_append(&layout, &keys, &values, plain(args.slots), args.tokens);
    return nullptr;
}

class append_job : public kernel_job<kv_append_args> {
  public:
    append_job(const shape &its, backend &on)
        : kernel_job(on, {kv_append, append_on_cpu}),
          rows_(on, count_of({its.rows, its.kv_heads, its.head_dim})),
          other_rows_(on, count_of({its.rows, its.kv_heads, its.head_dim})),
          codes_(on, codes_of(its)), other_codes_(on, codes_of(its)), scales_(on, scales_of(its)),
          other_scales_(on, scales_of(its)), head_scales_(on, its.kv_heads, 0.01F),
          slots_(on, scattered(its.rows)) {
        args_ = append_args_of(its);
        put_targets(&args_, codes_.data(), scales_.data(), head_scales_.data());
        args_.keys.rows = rows_.data();
        args_.values.rows = other_rows_.data();
        args_.values.codes = other_codes_.data();
        if (args_.format != cache_format::fp8) {
            args_.values.scales = other_scales_.data();
        }
        args_.slots = slots_.data();
    }

  private:
    static int64_t codes_of(const shape &its) {
        return count_of({its.rows, its.kv_heads,
                         row_code_bytes(find_format(its.variant)->of, to_int(its.head_dim))});
    }
    static int64_t scales_of(const shape &its) {
        return count_of({its.rows, its.kv_heads,
                         row_scales(find_format(its.variant)->of, to_int(its.head_dim))});
    }

    filled<bf16> rows_;
    filled<bf16> other_rows_;
    array<uint8_t> codes_;
    array<uint8_t> other_codes_;
    array<fp16> scales_;
    array<fp16> other_scales_;
    repeated<float> head_scales_;
    array<int32_t> slots_;
};

} // namespace

extern const kernel block_copy_kernel;
const kernel block_copy_kernel = {
    "block_copy",
    "blocks gathered from the device or the host, by one kernel, a copy each, or a batch of copies",
    "variant pieces piece_bytes",
    "cpu cuda",
    false,
    copy_shapes,
    refuse_copy,
    copy_work,
    prepare<copy_job>,
};

extern const kernel gather_rows_kernel;
const kernel gather_rows_kernel = {
    "gather_rows",
    "the rows of a paged cache that an index has chosen",
    "element sequences tokens block_tokens width chosen",
    "cpu cuda",
    false,
    gather_shapes,
    refuse_gather,
    gather_work,
    prepare<gather_job>,
};

extern const kernel kv_append_kernel;
const kernel kv_append_kernel = {
    "kv_append",
    "keys and values quantised into their slots; rows are tokens",
    "variant element kv_heads head_dim rows",
    "cpu cuda",
    false,
    append_shapes,
    refuse_append,
    append_work,
    prepare<append_job>,
};

} // namespace kref::bench
