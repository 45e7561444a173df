/*
 * Runs the blocks of a grid one after another on the host, each CUDA thread on a fiber of its own.
 *
 * A thread runs until it waits for others or leaves; then the next one that can run goes on. Which
 * one that is, and in which order blocks run, is a setting, so that a kernel can be tried in
 * several orders. What a kernel does wrong is told in one line that names kernel, block, thread,
 * operation, file and line; the run ends there, and the program goes on.
 *
 * The rules are stricter than CUDA's: a barrier wants every thread that the block started with, the
 * mask of a warp operation only lanes that are still there, and all who meet must meet at the same
 * place of the source. Spinning on another block or lane hangs for ever.
 *
 * Knows no kernel. Its state is one object of the program, because threadIdx and its like are
 * words without arguments; everything runs on the thread that called run(). Time is that of the
 * kernel's own work, plus O(32) for each meeting of a warp.
 */
#ifndef KREF_EMULATION_MACHINE_H
#define KREF_EMULATION_MACHINE_H

#include "emulation/place.h"

#include <cstddef>
#include <cstdint>

/* CUDA's own names and shapes, for kernels. */
struct dim3 {
    unsigned x = 1;
    unsigned y = 1;
    unsigned z = 1;
};

namespace kref::emulation {

constexpr unsigned warp_lanes = 32;
constexpr unsigned block_threads_max = 1024;

/* Shared memory of a block: what a launch may have without asking, and what sm_90 and sm_100 have
 * at most (CUDA C++ Programming Guide, table of technical specifications; sm_80 has 163 KiB). */
constexpr size_t static_shared_max_bytes = size_t{48} * 1024;
constexpr size_t shared_max_bytes = size_t{227} * 1024;

enum class order { forward, reverse, random };

struct settings {
    order lanes_and_blocks = order::forward;
    uint32_t seed = 1;             /* of the random order */
    unsigned lane_salt = 0;        /* which lane of the tile operations a lane is: lane ^ salt */
    bool has_sectors = false;      /* count distinct sectors of global memory: slow */
    bool has_e4m3_products = true; /* as from sm_89 on; else operands are widened */
};

/* For the runs that follow. */
settings &current_settings();

/* Null if every block ran to its end; else what went wrong, valid until the next run. */
const char *run(const char *kernel, dim3 grid, dim3 block, size_t shared_bytes,
                void (*body)(const void *arguments), const void *arguments);

/* ---- For the operations of a kernel, on its fiber ---- */

struct coordinates {
    dim3 thread;
    dim3 block;
    dim3 block_extent;
    dim3 grid_extent;
};
const coordinates &here();
unsigned lane();
unsigned warp_number(); /* in the block */
void *dynamic_shared(place where);

/* The slot of a static array. `key` says which; bytes are given at the first call of a block. */
void *static_shared(const void *key, size_t bytes, place where);
bool is_shared(const void *address, size_t bytes);

/* Records the fault and ends the run. */
[[noreturn]] void fault(place where, const char *format, ...) __attribute__((format(printf, 2, 3)));

void barrier(place where);

/*
 * A meeting of the lanes in `mask`. The last to arrive calls `complete` once for all of them, with
 * the lanes' own slots by lane number; the other slots are null. It orders nothing: memory that
 * lanes exchange needs a barrier, or sync_warp.
 */
struct meeting {
    place where;
    unsigned mask;
    void *slot;
    void (*complete)(void *const slots[warp_lanes], unsigned mask);
};
void meet(const meeting &mine);

/* A meeting after which every lane of the mask sees what the others had written before. */
void sync_warp(unsigned mask, place where);

/* ---- Asynchronous copies, each thread its own ---- */

struct copy {
    void *to;
    const void *from;
    int bytes; /* 16 are written: zeros behind these */
    place where;
};
void note_copy(const copy &copy);
void close_group();

/* The next copy of a group that is not among the latest `kept` closed ones; false if there is
 * none. The caller does the copying, so that the bytes are moved by the thread that waits. */
bool next_due_copy(int kept, copy *due);

} // namespace kref::emulation

#endif
