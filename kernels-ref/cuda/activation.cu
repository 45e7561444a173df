#include "cuda/activation.h"

#include "cuda/kref.h"

namespace kref {

namespace {

constexpr int THREADS = 256;

template <activation_kind Kind> KREF_FUNCTION f32 activate(f32 x) {
    if constexpr (Kind == activation_kind::silu) {
        return x / (f32(1.0F) + exp(-x));
    } else {
        f32 cubic = x * x * x;
        f32 inner = f32(0.7978845608F) * fma(f32(0.044715F), cubic, x);
        return f32(0.5F) * x * (f32(1.0F) + tanh(inner));
    }
}

/* A thread for each pack of the output. */
template <activation_kind Kind, bool Is_gated>
__global__ void __launch_bounds__(THREADS) activation_kernel(activation_args args) {
    int packs = args.width / PACK;
    int64_t at = int64_t{blockIdx.x} * THREADS + threadIdx.x;
    if (at >= int64_t{args.rows} * packs) {
        return;
    }
    int64_t row = at / packs;
    int64_t column = at % packs * PACK;
    int64_t input_row = row * args.width * (Is_gated ? 2 : 1);
    pack<bf16, PACK> result = args.input.get_pack<PACK>(input_row + column);
    pack<bf16, PACK> up = {};
    if constexpr (Is_gated) {
        up = args.input.get_pack<PACK>(input_row + args.width + column);
    }
    KREF_UNROLL
    for (int i = 0; i < PACK; i++) {
        f32 value = activate<Kind>(to_float(result.at[i]));
        if constexpr (Is_gated) {
            value = value * f32(to_float(up.at[i]));
        }
        result.at[i] = to_bf16(static_cast<float>(value));
    }
    args.output.put_pack<PACK>(row * args.width + column, result);
}

template <activation_kind Kind>
const char *launch_kind(const activation_args &args, unsigned blocks, void *stream) {
    if (args.is_gated) {
        return launch("activation", activation_kernel<Kind, true>, dim3{blocks}, dim3{THREADS}, 0,
                      stream, args);
    }
    return launch("activation", activation_kernel<Kind, false>, dim3{blocks}, dim3{THREADS}, 0,
                  stream, args);
}

} // namespace

const char *activation_refusal(const activation_args &args) {
    if (args.rows < 0) {
        return "activation: rows must not be negative";
    }
    if (args.width < PACK || args.width % PACK != 0) {
        return "activation: width must be a positive multiple of 8";
    }
    return nullptr;
}

const char *activation(const activation_args &args, void *stream) {
    const char *refusal = activation_refusal(args);
    if (refusal != nullptr || args.rows == 0) {
        return refusal;
    }
    int64_t packs = int64_t{args.rows} * (args.width / PACK);
    auto blocks = static_cast<unsigned>((packs + THREADS - 1) / THREADS);
    switch (args.kind) {
    case activation_kind::silu:
        return launch_kind<activation_kind::silu>(args, blocks, stream);
    case activation_kind::gelu_tanh:
        return launch_kind<activation_kind::gelu_tanh>(args, blocks, stream);
    }
    return "activation: this kind is not known";
}

} // namespace kref
