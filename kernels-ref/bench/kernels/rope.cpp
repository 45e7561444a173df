#include "cuda/rope.h"

#include "bench/array.h"
#include "bench/cpu/elementwise.h"
#include "bench/kernel.h"
#include "bench/kernel_job.h"

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

const char *rope_on_cpu(const rope_args &args, void *) {
    kref_cpu_turn turn = {};
    turn.queries = plain(args.queries);
    turn.keys = plain(args.keys);
    turn.values = plain(args.values);
    turn.key_cache = plain(args.key_cache);
    turn.value_cache = plain(args.value_cache);
    turn.positions = plain(args.positions);
    turn.slots = plain(args.slots);
    turn.turns = plain(args.turns);
    turn.tokens = args.tokens;
    turn.query_heads = args.query_heads;
    turn.kv_heads = args.kv_heads;
    turn.head_dim = args.head_dim;
    kref_cpu_rope(&turn);
    return nullptr;
}

class rope_job : public kernel_job<rope_args> {
  public:
    rope_job(const shape &its, backend &on)
        : kernel_job(on, {rope, rope_on_cpu}),
          queries_(on, count_of({its.rows, its.query_heads, its.head_dim})),
          keys_(on, count_of({its.rows, its.kv_heads, its.head_dim})),
          values_(on, count_of({its.rows, its.kv_heads, its.head_dim})),
          key_cache_(on, count_of({its.rows, its.kv_heads, its.head_dim})),
          value_cache_(on, count_of({its.rows, its.kv_heads, its.head_dim})),
          positions_(on, numbers(its.rows, POSITIONS)), slots_(on, numbers(its.rows, INT32_MAX)),
          turns_(on, table_of_turns(its.head_dim)) {
        args_ = args_of(its);
        args_.queries = queries_.data();
        args_.keys = keys_.data();
        args_.values = values_.data();
        args_.key_cache = key_cache_.data();
        args_.value_cache = value_cache_.data();
        args_.positions = positions_.data();
        args_.slots = slots_.data();
        args_.turns = turns_.data();
    }

  private:
    filled<bf16> queries_;
    filled<bf16> keys_;
    filled<bf16> values_;
    array<bf16> key_cache_;
    array<bf16> value_cache_;
    array<int32_t> positions_;
    array<int32_t> slots_;
    array<float> turns_;
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
