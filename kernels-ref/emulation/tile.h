/*
 * Matrix instructions of a warp: mma.m16n8k16 of bf16 and mma.m16n8k32 of e4m3, with f32 sums, and
 * the loads of their operands.
 *
 * Which lane and register holds which element is a table of tile.cpp, as the PTX manual gives it
 * (PTX ISA 8.5, "Matrix Fragments for mma.m16n8k16", "... mma.m16n8k32" and "ldmatrix"): two bf16
 * share a register, and where they stand there stand four e4m3. Kernels must not know it, so
 * the settings can salt it: lane l then plays the part of lane l ^ salt, and the two rows of a lane
 * change places where the salt is odd. A kernel that leans on the map gives wrong results then.
 *
 * All 32 lanes take part. A load is 16 bytes of shared memory, 16-byte aligned, for each row; the
 * bytes are read by the lane that gets them, so that a race checker blames the right one. Sums are
 * taken in f32 along k in order; a device may round and order them otherwise.
 */
#ifndef KREF_EMULATION_TILE_H
#define KREF_EMULATION_TILE_H

#include "emulation/machine.h"

#include <cstdint>

namespace kref::emulation {

enum class operand_kind { bf16, e4m3 };

/* Registers of a lane; of the elements that share one the first is lowest. */
struct operand_a {
    uint32_t registers[4]; /* 16 x 16 or 32, rows by k */
};
struct operand_b {
    uint32_t registers[2]; /* 16 or 32 x 8, k by columns */
};

/* Element `part` (0 or 1, of e4m3 up to 3) of register `number` of a lane. */
struct element {
    int row;
    int column;
};
element element_of_a(operand_kind kind, unsigned lane, int number, int part);
element element_of_b(operand_kind kind, unsigned lane, int number, int part);
element element_of_sum(unsigned lane, int number); /* of the four sums of a lane, 16 x 8 */

/* The lane whose part this one plays, and whether its two rows change places. */
unsigned part_of_lane();
bool swaps_rows();

/* sum[4] += a b, for the warp. */
void multiply(operand_kind kind, const operand_a &a, const operand_b &b, float sum[4], place where);

/* The addresses of the 32 rows of four 8 x 8 matrices, as the lanes gave them: `row` is this
 * lane's. Valid until the lane's next call. */
const uint16_t *const *gather_rows(const uint16_t *row, place where);

/* ldmatrix.x4: of each of four matrices one register. Inlined into the kernel, because the reads
 * are the kernel's. */
inline __attribute__((always_inline)) void load_matrices(const uint16_t *row, bool is_transposed,
                                                         uint32_t registers[4], place where) {
    const uint16_t *const *rows = gather_rows(row, where);
    unsigned part = part_of_lane();
    unsigned quad = part / 4;
    unsigned pair = part % 4 * 2;
    for (unsigned matrix = 0; matrix < 4; matrix++) {
        const uint16_t *const *its = rows + matrix * 8;
        uint32_t low = is_transposed ? its[pair][quad] : its[quad][pair];
        uint32_t high = is_transposed ? its[pair + 1][quad] : its[quad][pair + 1];
        registers[matrix] = low | high << 16;
    }
}

} // namespace kref::emulation

#endif
