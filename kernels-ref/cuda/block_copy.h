/*
 * Copies of cache blocks: gather, scatter, and move from pool to pool.
 *
 * Block target_blocks[i] of the target becomes block source_blocks[i] of the source; a list that is
 * null counts 0, 1, 2, ... So a list on one side gathers into a dense buffer or scatters out of it.
 * Either side may be memory of the device, or of the host if it is pinned: a device reads and
 * writes that by itself, over the link.
 *
 * block_copy does all of it in one launch. block_copy_each asks the runtime for one copy a block,
 * which is what an engine without such a kernel does: the difference, divided by the blocks, is the
 * cost of a copy. block_copy_batch hands the same copies to the runtime in one call, which CUDA has
 * from 13.0 on in this form; older toolkits get an error. No target block may be named twice, or be
 * a source of the same call.
 */
#ifndef KREF_CUDA_BLOCK_COPY_H
#define KREF_CUDA_BLOCK_COPY_H

#include "cuda/global.h"

namespace kref {

struct block_copy_args {
    global<const uint32_t> source;       /* [source blocks][block_bytes / 4] */
    global<uint32_t> target;             /* [target blocks][block_bytes / 4] */
    global<const int32_t> source_blocks; /* [blocks], or null */
    global<const int32_t> target_blocks; /* [blocks], or null */
    int blocks;
    int64_t block_bytes; /* a multiple of 16, up to 512 MiB */
};

/* Why the shape cannot be served, or null. */
const char *block_copy_refusal(const block_copy_args &args);

/* Null, or what went wrong. The memory is the caller's; lists lie where the kernel can read. */
const char *block_copy(const block_copy_args &args, void *stream);

/* The same by a copy of the runtime for each block. The lists lie in memory of the host. */
const char *block_copy_each(const block_copy_args &args, void *stream);

/* The same by one batch of copies. The lists lie in memory of the host. The runtime takes batches
 * into no graph, and not into the null stream. */
const char *block_copy_batch(const block_copy_args &args, void *stream);

} // namespace kref

#endif
