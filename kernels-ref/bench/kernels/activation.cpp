#include "cuda/activation.h"

#include "bench/array.h"
#include "bench/cpu/elementwise.h"
#include "bench/kernel.h"
#include "bench/kernel_job.h"

#include <cstring>

namespace kref::bench {

namespace {

struct variant {
    const char *name;
    activation_kind kind;
    bool is_gated;
};

constexpr variant variants[] = {
    {"silu_gated", activation_kind::silu, true},
    {"gelu_gated", activation_kind::gelu_tanh, true},
    {"silu", activation_kind::silu, false},
    {"gelu", activation_kind::gelu_tanh, false},
};

const variant *find(const char *name) {
    for (const variant &it : variants) {
        if (strcmp(it.name, name) == 0) {
            return &it;
        }
    }
    return nullptr;
}

shape shape_of(int64_t rows, int64_t width, const char *name) {
    shape its = sli_no_measurement;
    its.variant = name;
    its.element = "bf16";
    its.rows = rows;
    its.width = width;
    return its;
}

std::vector<shape> shapes(bool is_quick) {
    if (is_quick) {
        return {shape_of(32, 2048, "silu_gated"), shape_of(32, 2048, "gelu")};
    }
    std::vector<shape> all;
    for (int64_t rows : {1, 16, 64, 256, 1024, 2048, 8192}) {
        all.push_back(shape_of(rows, 14336, "silu_gated"));
    }
    all.push_back(shape_of(2048, 14336, "gelu_gated"));
    all.push_back(shape_of(2048, 14336, "silu"));
    all.push_back(shape_of(2048, 14336, "gelu"));
    return all;
}

activation_args args_of(const shape &its) {
    const variant *of = find(its.variant);
    activation_args args = {};
    args.rows = to_int(its.rows);
    args.width = to_int(its.width);
    args.kind = of->kind;
    args.is_gated = of->is_gated;
    return args;
}

const char *refusal(const shape &its) {
    if (find(its.variant) == nullptr) {
        return "activation: variant must be silu_gated, gelu_gated, silu or gelu";
    }
    return activation_refusal(args_of(its));
}

kref_work work(const shape &its) {
    activation_args args = args_of(its);
    return kref_activation_work(its.rows, its.width, args.kind == activation_kind::gelu_tanh,
                                args.is_gated);
}

const char *activation_on_cpu(const activation_args &args, void *) {
    kref_cpu_activation(plain(args.input), plain(args.output), args.rows, args.width,
                        args.kind == activation_kind::gelu_tanh, args.is_gated);
    return nullptr;
}

class activation_job : public kernel_job<activation_args> {
  public:
    activation_job(const shape &its, backend &on)
        : kernel_job(on, {activation, activation_on_cpu}),
          input_(on, count_of({its.rows, its.width, args_of(its).is_gated ? 2 : 1}), 4.0F),
          output_(on, count_of({its.rows, its.width})) {
        args_ = args_of(its);
        args_.input = input_.data();
        args_.output = output_.data();
    }

  private:
    filled<bf16> input_;
    array<bf16> output_;
};

std::unique_ptr<job> prepare(const shape &its, backend &on) {
    return std::make_unique<activation_job>(its, on);
}

} // namespace

extern const kernel activation_kernel;
const kernel activation_kernel = {
    "activation",
    "SiLU or GELU of a gate, times what is beside it",
    "variant element rows width",
    "cpu cuda",
    false,
    shapes,
    refusal,
    work,
    prepare,
};

} // namespace kref::bench
