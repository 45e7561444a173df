#include "cuda/block_copy.h"

#include "cuda/kref.h"

#include <vector>

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

/* Where the blocks lie, as the runtime takes them. */
struct copy_list {
    std::vector<const void *> from;
    std::vector<void *> to;
    std::vector<size_t> bytes;

    explicit copy_list(const block_copy_args &args) {
        for (int64_t i = 0; i < args.blocks; i++) {
            from.push_back(args.source.address(find_word(args, args.source_blocks, i)));
            to.push_back(args.target.address(find_word(args, args.target_blocks, i)));
            bytes.push_back(static_cast<size_t>(args.block_bytes));
        }
    }
};

#if defined(__CUDACC__)

const char *copy_bytes(void *to, const void *from, size_t bytes, void *stream) {
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault,
                                        static_cast<cudaStream_t>(stream));
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

#if CUDART_VERSION >= 13000

const char *copy_batch(copy_list list, void *stream) {
    cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    size_t first = 0; /* copy that has these attributes; all that follow have them, too */
    cudaError_t error = cudaMemcpyBatchAsync(list.to.data(), list.from.data(), list.bytes.data(),
                                             list.to.size(), &attributes, &first, 1,
                                             static_cast<cudaStream_t>(stream));
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

#else

const char *copy_batch(const copy_list &, void *) {
    return "block_copy_batch: this program was built with a toolkit before CUDA 13.0";
}

#endif

#else

const char *copy_bytes(void *to, const void *from, size_t bytes, void *) {
    memcpy(to, from, bytes);
    return nullptr;
}

const char *copy_batch(const copy_list &list, void *) {
    for (size_t i = 0; i < list.to.size(); i++) {
        memcpy(list.to[i], list.from[i], list.bytes[i]);
    }
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

const char *block_copy_batch(const block_copy_args &args, void *stream) {
    const char *refusal = block_copy_refusal(args);
    if (refusal != nullptr || args.blocks == 0) {
        return refusal;
    }
    return copy_batch(copy_list(args), stream);
}

} // namespace kref
