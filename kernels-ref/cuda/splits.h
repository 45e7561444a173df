/*
 * Attention whose keys are cut into parts, each with a softmax of its own: who reads what, how what
 * they find is combined, and where it waits for that.
 *
 * A part leaves, for each query head, sums of values with weights relative to its own highest
 * score, that score, and the sum of the weights (Dao et al., "Flash-Decoding", 2023).
 */
#ifndef KREF_CUDA_SPLITS_H
#define KREF_CUDA_SPLITS_H

#include "cuda/softmax.h"

namespace kref {

struct key_range {
    int first;
    int end;
};

/* What a query at the end of `length` tokens sees, cut into `splits` parts of whole grains: part
 * number `split`. A part may be left with nothing; then so are all behind it. */
KREF_FUNCTION key_range split_keys(int length, int window_tokens, int splits, int split,
                                   int grain) {
    int seen = window_tokens > 0 && length > window_tokens ? window_tokens : length;
    int first = length - seen;
    int part = ((seen + splits - 1) / splits + grain - 1) / grain * grain;
    key_range range = {first + split * part, first + (split + 1) * part};
    range.end = range.end < length ? range.end : length;
    return range;
}

/* What several parts have summed up to now, as if their weights were relative to `highest`. */
struct merged {
    f32 highest;
    f32 weights;
    f32 sum;
};

KREF_FUNCTION void take_part(merged *all, f32 highest, f32 weights, f32 sum) {
    f32 factor = exp2(highest - all->highest);
    all->weights = fma(weights, factor, all->weights);
    all->sum = fma(sum, factor, all->sum);
}

/* Floats that a part leaves of a query head: sums, highest score, weights. */
KREF_FUNCTION int part_floats(int width) {
    return width + 2;
}

} // namespace kref

#endif
