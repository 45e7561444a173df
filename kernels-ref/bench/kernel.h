/*
 * A kernel as the bench knows it: one row of a table, which says everything.
 *
 * A shape is a row of measurements of which only the columns of the shape are filled; which of them
 * belong to a kernel its row says. The row stands in kernels/NAME.cpp, and its name in kernels.cpp.
 */
#ifndef KREF_BENCH_KERNEL_H
#define KREF_BENCH_KERNEL_H

#include "bench/backend.h"
#include "bench/format.h"
#include "figures/work.h"

#include <memory>

namespace kref::bench {

using shape = sli_measurement;

struct kernel {
    const char *name;
    const char *operation; /* for people, in a line */
    const char *columns;   /* of its shape, all of them, with a space between */
    const char *backends;  /* that it runs on, with a space between */
    bool has_matrix;       /* whether the peak of matrix instructions is its ceiling */

    /* What is measured where nobody asks for a shape; the quick ones take milliseconds on a CPU. */
    std::vector<shape> (*shapes)(bool is_quick);

    /* Why a shape cannot be served, or null. Its numbers are 1 to 2^31 - 1; a window may be 0. */
    const char *(*refusal)(const shape &its);

    kref_work (*work)(const shape &its);

    /* The job with its memory, for a shape that is not refused. What it lacks the backend knows. */
    std::unique_ptr<job> (*prepare)(const shape &its, backend &on);
};

/* Whether a list of words with spaces between has the word. */
bool has_word(const char *words, const char *word);

/* All of them, null at the end. */
extern const kernel *const kernels[];

/* The number as a kernel takes it. */
inline int to_int(int64_t value) {
    return static_cast<int>(value);
}

} // namespace kref::bench

#endif
