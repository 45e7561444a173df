#include "cuda/rope.h"

#include "bench/array.h"
#include "bench/cpu/elementwise.h"
#include "bench/kernel.h"

namespace kref::bench {

namespace {

constexpr int64_t POSITIONS = 4096; /* in the table of cosines and sines */
constexpr int64_t ROWS_MAX = 16777216;

shape shape_of(int64_t rows, int64_t query_heads, int64_t kv_heads, int64_t head_dim) {
    shape its = sli_no_measurement;
    its.element = "bf16";
    its.rows = rows;
    its.query_heads = query_heads;
    its.kv_heads = kv_heads;
    its.head_dim = head_dim;
    return its;
}

std::vector<shape> shapes(bool is_quick) {
    if (is_quick) {
        return {shape_of(16, 8, 2, 64)};
    }
    std::vector<shape> all;
    for (int64_t rows : {1, 16, 64, 256, 1024, 2048, 8192}) {
        all.push_back(shape_of(rows, 32, 8, 128));
    }
    return all;
}

rope_args args_of(const shape &its) {
    rope_args args = {};
    args.tokens = to_int(its.rows);
    args.query_heads = to_int(its.query_heads);
    args.kv_heads = to_int(its.kv_heads);
    args.head_dim = to_int(its.head_dim);
    return args;
}

const char *refusal(const shape &its) {
    if (its.rows > ROWS_MAX) {
        return "rope: the bench measures at most 16777216 rows";
    }
    return rope_refusal(args_of(its));
}

kref_work work(const shape &its) {
    return kref_rope_work(its.rows, its.rows, its.query_heads, its.kv_heads, its.head_dim);
}

/* Of no angle but 0, which turns nothing, so that queries stay what they are over thousands of
 * runs; no time depends on the angle. */
std::vector<float> table_of_turns(int64_t head_dim) {
    std::vector<float> turns(static_cast<size_t>(POSITIONS * head_dim), 0.0F);
    for (size_t i = 0; i < turns.size(); i++) {
        turns[i] = static_cast<int64_t>(i) % head_dim < head_dim / 2 ? 1.0F : 0.0F;
    }
    return turns;
}

class rope_job : public job {
  public:
    rope_job(const shape &its, backend &on)
        : is_cuda_(on.is_cuda()), queries_(on, count_of({its.rows, its.query_heads, its.head_dim})),
          keys_(on, count_of({its.rows, its.kv_heads, its.head_dim})),
          values_(on, count_of({its.rows, its.kv_heads, its.head_dim})),
          key_cache_(on, count_of({its.rows, its.kv_heads, its.head_dim})),
          value_cache_(on, count_of({its.rows, its.kv_heads, its.head_dim})),
          positions_(on, numbers(its.rows, POSITIONS)), slots_(on, numbers(its.rows, INT32_MAX)),
          turns_(on, table_of_turns(its.head_dim)), args_(args_of(its)) {
        args_.queries = queries_.data();
        args_.keys = keys_.data();
        args_.values = values_.data();
        args_.key_cache = key_cache_.data();
        args_.value_cache = value_cache_.data();
        args_.positions = positions_.data();
        args_.slots = slots_.data();
        args_.turns = turns_.data();
    }

    const char *run(void *stream) override {
        if (is_cuda_) {
            return rope(args_, stream);
        }
        kref_cpu_turn turn = {};
        turn.queries = &queries_.data()->bits;
        turn.keys = &keys_.data()->bits;
        turn.values = &values_.data()->bits;
        turn.key_cache = &key_cache_.data()->bits;
        turn.value_cache = &value_cache_.data()->bits;
        turn.positions = positions_.data();
        turn.slots = slots_.data();
        turn.turns = turns_.data();
        turn.tokens = args_.tokens;
        turn.query_heads = args_.query_heads;
        turn.kv_heads = args_.kv_heads;
        turn.head_dim = args_.head_dim;
        kref_cpu_rope(&turn);
        return nullptr;
    }

  private:
    bool is_cuda_;
    filled<bf16> queries_;
    filled<bf16> keys_;
    filled<bf16> values_;
    array<bf16> key_cache_;
    array<bf16> value_cache_;
    array<int32_t> positions_;
    array<int32_t> slots_;
    array<float> turns_;
    rope_args args_;
};

std::unique_ptr<job> prepare(const shape &its, backend &on) {
    return std::make_unique<rope_job>(its, on);
}

} // namespace

extern const kernel rope_kernel;
const kernel rope_kernel = {
    "rope",
    "rotary embedding, keys and values into their slots; rows are tokens",
    "element rows query_heads kv_heads head_dim",
    "cpu cuda",
    false,
    shapes,
    refusal,
    work,
    prepare,
};

} // namespace kref::bench
