/*
 * The activation of a feed-forward: SiLU or GELU of the gate, times what is beside it.
 *
 * With a gate a row of the input is gate | up, 2 x width elements, and the output is f(gate) up;
 * without one it is `width` elements, and the output is f(x).
 *
 * silu(x) = x / (1 + e^-x); GELU in its tanh form, x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
 * (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016).
 */
#ifndef KREF_CUDA_ACTIVATION_H
#define KREF_CUDA_ACTIVATION_H

#include "cuda/global.h"

namespace kref {

enum class activation_kind { silu, gelu_tanh };

struct activation_args {
    global<const bf16> input; /* [rows][2 width] or [rows][width] */
    global<bf16> output;      /* [rows][width] */
    int rows;
    int width;
    activation_kind kind;
    bool is_gated;
};

/* Why the shape cannot be served, or null. */
const char *activation_refusal(const activation_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *activation(const activation_args &args, void *stream);

} // namespace kref

#endif
