#include "cuda/block_copy.h"

#include "cuda/kref.h"

namespace kref {

namespace {

constexpr int THREADS = 128;
constexpr int WORD_BYTES = 4;
constexpr int VECTOR_WORDS = 4;
constexpr int VECTOR_BYTES = VECTOR_WORDS * WORD_BYTES;
constexpr int THREAD_VECTORS = 4; /* on their way at the same time */
constexpr int PIECE_BYTES = THREADS * THREAD_VECTORS * VECTOR_BYTES;
constexpr int PIECES_MAX = 65535; /* extent of a grid in y */

using vector = pack<uint32_t, VECTOR_WORDS>;

/* The first word of block number `at` of a list. */
KREF_BOTH int64_t find_word(const block_copy_args &args, global<const int32_t> blocks, int64_t at) {
    int64_t block = blocks.is_null() ? at : blocks.get(at);
    return block * (args.block_bytes / WORD_BYTES);
}

/* A block of threads for a piece of a cache block. A thread's loads come before its stores, so that
 * none of them waits for another. */
__global__ void __launch_bounds__(THREADS) block_copy_kernel(block_copy_args args) {
    int64_t from = find_word(args, args.source_blocks, blockIdx.x);
    int64_t to = find_word(args, args.target_blocks, blockIdx.x);
    int64_t first = int64_t{blockIdx.y} * PIECE_BYTES + int64_t{threadIdx.x} * VECTOR_BYTES;
    vector held[THREAD_VECTORS];
    KREF_UNROLL
    for (int i = 0; i < THREAD_VECTORS; i++) {
        int64_t at = first + i * THREADS * VECTOR_BYTES;
        if (at < args.block_bytes) {
            held[i] = args.source.get_pack<VECTOR_WORDS>(from + at / WORD_BYTES);
        }
    }
    KREF_UNROLL
    for (int i = 0; i < THREAD_VECTORS; i++) {
        int64_t at = first + i * THREADS * VECTOR_BYTES;
        if (at < args.block_bytes) {
            args.target.put_pack<VECTOR_WORDS>(to + at / WORD_BYTES, held[i]);
        }
    }
}

#if defined(__CUDACC__)

const char *copy_bytes(void *to, const void *from, size_t bytes, void *stream) {
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault,
                                        static_cast<cudaStream_t>(stream));
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

#else

const char *copy_bytes(void *to, const void *from, size_t bytes, void *) {
    memcpy(to, from, bytes);
    return nullptr;
}

#endif

} // namespace

const char *block_copy_refusal(const block_copy_args &args) {
    if (args.blocks < 0) {
        return "block_copy: blocks must not be negative";
    }
    if (args.block_bytes < VECTOR_BYTES || args.block_bytes % VECTOR_BYTES != 0 ||
        args.block_bytes > int64_t{PIECES_MAX} * PIECE_BYTES) {
        return "block_copy: block_bytes must be a multiple of 16, from 16 to 536862720";
    }
    return nullptr;
}

const char *block_copy(const block_copy_args &args, void *stream) {
    const char *refusal = block_copy_refusal(args);
    if (refusal != nullptr || args.blocks == 0) {
        return refusal;
    }
    auto pieces = static_cast<unsigned>((args.block_bytes + PIECE_BYTES - 1) / PIECE_BYTES);
    return launch("block_copy", block_copy_kernel, dim3{static_cast<unsigned>(args.blocks), pieces},
                  dim3{THREADS}, 0, stream, args);
}

const char *block_copy_each(const block_copy_args &args, void *stream) {
    const char *error = block_copy_refusal(args);
    for (int64_t i = 0; i < args.blocks && error == nullptr; i++) {
        int64_t from = find_word(args, args.source_blocks, i);
        int64_t to = find_word(args, args.target_blocks, i);
        error = copy_bytes(args.target.address(to), args.source.address(from),
                           static_cast<size_t>(args.block_bytes), stream);
    }
    return error;
}

} // namespace kref
