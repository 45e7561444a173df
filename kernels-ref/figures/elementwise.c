#include "figures/work.h"

enum { ELEMENT_BYTES = 2, INDEX_BYTES = 4, FLOAT_BYTES = 4, PACK = 8, WARP_LANES = 32 };

kref_work kref_rms_norm_work(int64_t rows, int64_t width, bool has_update) {
    enum { THREADS_MAX = 512, WARP_STEPS = 5 }; /* of a sum over 32 lanes */
    int64_t updates = has_update ? 1 : 0;
    int64_t warps = (width / PACK + WARP_LANES - 1) / WARP_LANES;
    warps = warps < THREADS_MAX / WARP_LANES ? warps : THREADS_MAX / WARP_LANES;
    int64_t threads = warps * WARP_LANES;
    /* An element: the addition, its square and sum, two products. */
    int64_t element_flops = rows * width * (4 + updates);
    /* A thread: the sum over its warp, that over the warps, the mean, epsilon; and a root. */
    int64_t thread_flops = rows * threads * (WARP_STEPS + warps + 2);
    return (kref_work){
        .algorithmic_flops = element_flops,
        .vector_flops = element_flops + thread_flops,
        .specials = rows * threads,
        .algorithmic_bytes = ELEMENT_BYTES * rows * width * 2 * (1 + updates),
        .loaded_bytes = ELEMENT_BYTES * rows * width * (2 + updates), /* the weights among them */
        .stored_bytes = ELEMENT_BYTES * rows * width * (1 + updates),
        .shared_bytes = ELEMENT_BYTES * width + FLOAT_BYTES * WARP_LANES,
    };
}

kref_work kref_rope_work(int64_t tokens, int64_t written, int64_t query_heads, int64_t kv_heads,
                         int64_t head_dim) {
    enum { THREADS = 128, PAIR_FLOPS = 6, HEAD_DIM_MAX = 512 };
    int64_t turned = (tokens * query_heads + written * kv_heads) * head_dim;
    int64_t elements = turned + written * kv_heads * head_dim;
    int64_t flops = turned / 2 * PAIR_FLOPS;
    return (kref_work){
        .algorithmic_flops = flops,
        .vector_flops = flops,
        .algorithmic_bytes = 2 * ELEMENT_BYTES * elements,
        /* Each thread reads position and slot; the cosines and sines come once a token. */
        .loaded_bytes = ELEMENT_BYTES * elements +
                        tokens * (THREADS * 2 * INDEX_BYTES + head_dim * FLOAT_BYTES),
        .stored_bytes = ELEMENT_BYTES * elements,
        .shared_bytes = HEAD_DIM_MAX * FLOAT_BYTES,
    };
}

kref_work kref_activation_work(int64_t rows, int64_t width, bool has_tanh, bool is_gated) {
    int64_t gates = is_gated ? 1 : 0;
    int64_t elements = rows * width;
    int64_t flops = elements * ((has_tanh ? 8 : 2) + gates);
    return (kref_work){
        .algorithmic_flops = flops,
        .vector_flops = flops,
        .specials = elements,
        .algorithmic_bytes = ELEMENT_BYTES * elements * (2 + gates),
        .loaded_bytes = ELEMENT_BYTES * elements * (1 + gates),
        .stored_bytes = ELEMENT_BYTES * elements,
    };
}
