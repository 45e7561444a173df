/* Linear attention with a gated delta rule: token by token, and in chunks. */
#include "figures/delta.h"
#include "bench/array.h"
#include "bench/cpu/delta.h"
#include "bench/kernel.h"
#include "bench/kernel_job.h"
#include "cuda/delta_rule.h"

#include <cstring>

namespace kref::bench {

namespace {

/* One decay a head (Gated DeltaNet), or one a key channel (KDA). */
bool has_channel_decays(const shape &its) {
    return strcmp(its.variant, "channel_decays") == 0;
}

shape shape_of(const char *variant, int64_t sequences, int64_t query_tokens, int64_t kv_heads,
               int64_t query_heads, int64_t head_dim, int64_t value_dim) {
    shape its = sli_no_measurement;
    its.variant = variant;
    its.element = "bf16";
    its.sequences = sequences;
    its.query_tokens = query_tokens;
    its.kv_heads = kv_heads;
    its.query_heads = query_heads;
    its.head_dim = head_dim;
    its.value_dim = value_dim;
    return its;
}

/* Qwen3-Next 80B has 16 keys for 32 heads of 128, Kimi Linear 48B has 32 of both. */
void add_models(std::vector<shape> *all, int64_t sequences, int64_t query_tokens) {
    all->push_back(shape_of("head_decays", sequences, query_tokens, 16, 32, 128, 128));
    all->push_back(shape_of("channel_decays", sequences, query_tokens, 32, 32, 128, 128));
}

std::vector<shape> quick_shapes(int64_t query_tokens) {
    return {shape_of("head_decays", 2, query_tokens, 1, 2, 64, 64),
            shape_of("channel_decays", 1, query_tokens, 1, 1, 64, 64)};
}

std::vector<shape> step_shapes(bool is_quick) {
    if (is_quick) {
        return quick_shapes(1);
    }
    std::vector<shape> all;
    for (int64_t sequences : {1, 4, 16, 64, 256}) {
        add_models(&all, sequences, 1);
    }
    return all;
}

std::vector<shape> prefill_shapes(bool is_quick) {
    if (is_quick) {
        return quick_shapes(20);
    }
    std::vector<shape> all;
    for (int64_t tokens : {128, 512, 2048, 8192}) {
        add_models(&all, 1, tokens);
    }
    add_models(&all, 8, 1024);
    return all;
}

int64_t tokens_of(const shape &its) {
    return count_of({its.sequences, its.query_tokens});
}

delta_rule_args args_of(const shape &its) {
    delta_rule_args args = {};
    args.sequences = to_int(its.sequences);
    args.key_heads = to_int(its.kv_heads);
    args.heads = to_int(its.query_heads);
    args.key_dim = to_int(its.head_dim);
    args.value_dim = to_int(its.value_dim);
    args.has_channel_decays = has_channel_decays(its);
    args.scale = 1.0F / std::sqrt(static_cast<float>(its.head_dim));
    return args;
}

const char *refusal(const shape &its) {
    if (!has_channel_decays(its) && strcmp(its.variant, "head_decays") != 0) {
        return "delta rule: variant must be head_decays or channel_decays";
    }
    if (tokens_of(its) > INT32_MAX) {
        return "delta rule: more than 2^31 tokens";
    }
    bf16 somewhere = {};
    delta_rule_args args = args_of(its);
    args.outputs = &somewhere;
    return delta_rule_refusal(args);
}

kref_work work_by(kref_work (*figure)(const kref_delta_shape *shape), const shape &its) {
    std::vector<int32_t> tokens(static_cast<size_t>(its.sequences), to_int(its.query_tokens));
    kref_delta_shape form = {};
    form.sequences = to_int(its.sequences);
    form.tokens = tokens.data();
    form.key_heads = to_int(its.kv_heads);
    form.heads = to_int(its.query_heads);
    form.key_dim = to_int(its.head_dim);
    form.value_dim = to_int(its.value_dim);
    form.has_channel_decays = has_channel_decays(its);
    form.output_bytes = sizeof(bf16);
    return figure(&form);
}

kref_work step_work(const shape &its) {
    return work_by(kref_delta_step_work, its);
}

kref_work prefill_work(const shape &its) {
    return work_by(kref_delta_prefill_work, its);
}

const char *rule_on_cpu(const delta_rule_args &args, void *) {
    kref_cpu_delta rule = {};
    rule.queries = plain(args.queries);
    rule.keys = plain(args.keys);
    rule.values = plain(args.values);
    rule.log_decays = plain(args.log_decays);
    rule.strengths = plain(args.strengths);
    rule.starts = plain(args.starts);
    rule.slots = plain(args.slots);
    rule.states = plain(args.states);
    rule.outputs = plain(args.outputs);
    rule.sequences = args.sequences;
    rule.key_heads = args.key_heads;
    rule.heads = args.heads;
    rule.key_dim = args.key_dim;
    rule.value_dim = args.value_dim;
    rule.has_channel_decays = args.has_channel_decays;
    rule.scale = args.scale;
    kref_cpu_delta_rule(&rule);
    return nullptr;
}

/* Keys of a length below 1, decays below 0 and strengths below 1 keep the state from growing over
 * thousands of runs. */
class delta_job : public kernel_job<delta_rule_args> {
  public:
    delta_job(const shape &its, backend &on, kernel_call<delta_rule_args> kernel)
        : kernel_job(on, {kernel, rule_on_cpu}), queries_(on, keys_of(its), key_size(its)),
          keys_(on, keys_of(its), key_size(its)), values_(on, values_of(its)),
          log_decays_(on, decays_of(its), -0.01F),
          strengths_(on, count_of({tokens_of(its), its.query_heads}), 0.5F),
          starts_(on, starts_of_equals(its.sequences, its.query_tokens)),
          slots_(on, scattered(its.sequences)),
          states_(on, count_of({its.sequences, its.query_heads, its.head_dim, its.value_dim})),
          outputs_(on, values_of(its)) {
        args_ = args_of(its);
        args_.queries = queries_.data();
        args_.keys = keys_.data();
        args_.values = values_.data();
        args_.log_decays = log_decays_.data();
        args_.strengths = strengths_.data();
        args_.starts = starts_.data();
        args_.slots = slots_.data();
        args_.states = states_.data();
        args_.outputs = outputs_.data();
    }

  private:
    static int64_t keys_of(const shape &its) {
        return count_of({tokens_of(its), its.kv_heads, its.head_dim});
    }
    static int64_t values_of(const shape &its) {
        return count_of({tokens_of(its), its.query_heads, its.value_dim});
    }
    static int64_t decays_of(const shape &its) {
        return count_of(
            {tokens_of(its), its.query_heads, has_channel_decays(its) ? its.head_dim : 1});
    }
    static float key_size(const shape &its) {
        return 1.0F / std::sqrt(static_cast<float>(its.head_dim));
    }

    filled<bf16> queries_;
    filled<bf16> keys_;
    filled<bf16> values_;
    repeated<float> log_decays_;
    repeated<float> strengths_;
    array<int32_t> starts_;
    array<int32_t> slots_;
    array<float> states_;
    array<bf16> outputs_;
};

std::unique_ptr<job> prepare_step(const shape &its, backend &on) {
    return std::make_unique<delta_job>(its, on, delta_step);
}

std::unique_ptr<job> prepare_prefill(const shape &its, backend &on) {
    return std::make_unique<delta_job>(its, on, delta_prefill);
}

} // namespace

extern const kernel delta_step_kernel;
const kernel delta_step_kernel = {
    "delta_step",
    "a gated delta rule token by token, from state to state",
    "variant element sequences query_tokens query_heads kv_heads head_dim value_dim",
    "cpu cuda",
    false,
    step_shapes,
    refusal,
    step_work,
    prepare_step,
};

extern const kernel delta_prefill_kernel;
const kernel delta_prefill_kernel = {
    "delta_prefill",
    "a gated delta rule in chunks of 16 tokens",
    "variant element sequences query_tokens query_heads kv_heads head_dim value_dim",
    "cpu cuda",
    true,
    prefill_shapes,
    refusal,
    prefill_work,
    prepare_prefill,
};

} // namespace kref::bench
