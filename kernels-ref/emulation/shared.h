/*
 * The shared memory of the block that runs.
 *
 * For the files of the emulation alone; kernels reach it by machine.h. At the start of a block
 * every byte of it is 0xff, which is a NaN in each of the number formats. Under AddressSanitizer
 * only what the launch asked for may be touched, and gaps lie between static arrays.
 */
#ifndef KREF_EMULATION_SHARED_H
#define KREF_EMULATION_SHARED_H

#include <cstddef>

namespace kref::emulation {

/* Forgets the block before. `dynamic_bytes` is at most shared_max_bytes. */
void lay_out_shared(size_t dynamic_bytes);

} // namespace kref::emulation

#endif
