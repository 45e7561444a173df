/*
 * The end of an attention over splits: combines what the parts have left. See splits.h.
 *
 * Called by the kernels that split; they check the shape. A sequence without tokens gets zeros.
 */
#ifndef KREF_CUDA_COMBINE_SPLITS_H
#define KREF_CUDA_COMBINE_SPLITS_H

#include "cuda/global.h"

namespace kref {

struct combine_splits_args {
    global<const float> parts;     /* [sequences][heads][splits][width + 2] */
    global<const int32_t> lengths; /* [sequences], in tokens */
    /* [sequences][heads][width]; one of the two, the other is null. */
    global<bf16> outputs;
    global<float> exact_outputs;
    int sequences;
    int heads;
    int width;
    int splits;
    int grain; /* keys of which a part has whole ones */
    int window_tokens;
};

/* Null, or what went wrong. The memory is the caller's. */
const char *combine_splits(const combine_splits_args &args, void *stream);

} // namespace kref

#endif
