/*
 * The widths of latent attention, as DeepSeek-V2 (2024, section 2.1) and those who followed have
 * them, and which the kernels for it are made for.
 */
#ifndef KREF_CUDA_MLA_H
#define KREF_CUDA_MLA_H

namespace kref {

constexpr int MLA_LATENT = 512; /* keys and values of all heads */
constexpr int MLA_ROPE = 64;    /* the part of a key that all heads share, rotary */
constexpr int MLA_ROW = MLA_LATENT + MLA_ROPE;
constexpr int MLA_NOPE = 128; /* the rest of the key of a head */
constexpr int MLA_KEY = MLA_NOPE + MLA_ROPE;
constexpr int MLA_VALUE = 128;
constexpr int MLA_EXPANDED = MLA_NOPE + MLA_VALUE; /* what a head's up-projection makes */

} // namespace kref

#endif
