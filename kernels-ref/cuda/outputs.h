/*
 * Where a kernel's results go: rounded to bf16, or as they are, for tests and for those who compute
 * on with them.
 *
 * Which of the two it is the kernel asks where it stores, and all threads get the same answer: so
 * it is compiled once for both.
 */
#ifndef KREF_CUDA_OUTPUTS_H
#define KREF_CUDA_OUTPUTS_H

#include "cuda/kref.h"

namespace kref {

/* One of the two; the other is null: the refusal of each kernel sees to it, not these functions,
 * which take `exact` where both are given. */
struct either_output {
    global<bf16> rounded;
    global<float> exact;
};

KREF_FUNCTION void put_one(global<float> target, int64_t index, f32 value) {
    target.put(index, static_cast<float>(value));
}

KREF_FUNCTION void put_one(const either_output &target, int64_t index, f32 value) {
    if (target.exact.is_null()) {
        target.rounded.put(index, to_bf16(static_cast<float>(value)));
    } else {
        put_one(target.exact, index, value);
    }
}

/* Two neighbours. */
KREF_FUNCTION void put_pair(global<float> target, int64_t index, f32 first, f32 second) {
    pack<float, 2> both = {{static_cast<float>(first), static_cast<float>(second)}};
    target.put_pack<2>(index, both);
}

KREF_FUNCTION void put_pair(const either_output &target, int64_t index, f32 first, f32 second) {
    if (target.exact.is_null()) {
        pack<bf16, 2> both = {
            {to_bf16(static_cast<float>(first)), to_bf16(static_cast<float>(second))}};
        target.rounded.put_pack<2>(index, both);
    } else {
        put_pair(target.exact, index, first, second);
    }
}

} // namespace kref

#endif
