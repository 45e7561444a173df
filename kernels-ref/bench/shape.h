/*
 * Shapes of kernels as people write them: "rows=7,width=4096".
 */
#ifndef KREF_BENCH_SHAPE_H
#define KREF_BENCH_SHAPE_H

#include "bench/kernel.h"

#include <string>

namespace kref::bench {

/*
 * The shape `base` with the values of `text` in place of its own. Texts stay where `text` is, so it
 * is changed and has to live as long. False, and why in *error, with the nearest name: an unknown
 * column, one of other kernels, one that stands twice, a value of another kind.
 */
bool read_shape(const char *kernel_name, const char *columns, char *text, shape *its,
                std::string *error);

/* Why no kernel can serve it, a number above 2^31 - 1, or why it tells nothing, a 0; or null. */
const char *size_refusal(const shape &its);

/* As read_shape takes it. */
std::string shape_text(const shape &its, const char *columns);

} // namespace kref::bench

#endif
