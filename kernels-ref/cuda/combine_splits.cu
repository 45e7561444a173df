#include "cuda/combine_splits.h"

#include "cuda/kref.h"
#include "cuda/outputs.h"
#include "cuda/splits.h"

namespace kref {

namespace {

constexpr int THREADS = 128;

/* A block for a query head of a sequence. Splits without keys have left nothing to read. */
__global__ void __launch_bounds__(THREADS) combine_splits_kernel(combine_splits_args args) {
    either_output outputs = {args.outputs, args.exact_outputs};
    int64_t head = int64_t{blockIdx.y} * args.heads + blockIdx.x;
    int64_t first = head * args.splits * part_floats(args.width);
    int length = args.lengths.get(blockIdx.y);
    int parts = 0;
    while (parts < args.splits) {
        key_range range = split_keys(length, args.window_tokens, args.splits, parts, args.grain);
        if (range.first >= range.end) {
            break;
        }
        parts++;
    }
    f32 highest = float_of(NEGATIVE_INFINITY_BITS);
    for (int i = 0; i < parts; i++) {
        highest = max(highest, args.parts.get(first + i * part_floats(args.width) + args.width));
    }
    for (int column = static_cast<int>(threadIdx.x); column < args.width; column += THREADS) {
        merged all = {highest, 0.0F, 0.0F};
        for (int i = 0; i < parts; i++) {
            int64_t from = first + i * part_floats(args.width);
            take_part(&all, args.parts.get(from + args.width),
                      args.parts.get(from + args.width + 1), args.parts.get(from + column));
        }
        f32 value = parts > 0 ? all.sum / all.weights : f32(0.0F);
        put_one(outputs, head * args.width + column, value);
    }
}

} // namespace

const char *combine_splits(const combine_splits_args &args, void *stream) {
    dim3 heads = {static_cast<unsigned>(args.heads), static_cast<unsigned>(args.sequences)};
    return launch("combine_splits", combine_splits_kernel, heads, dim3{THREADS}, 0, stream, args);
}

} // namespace kref
