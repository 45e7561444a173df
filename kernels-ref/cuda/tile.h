/*
 * Matrix instructions of one warp, with operands of bf16 (m16n8k16) or e4m3 (m16n8k32) and f32
 * sums, and their loads.
 *
 * A lane holds parts of two rows of a 16 x 8 block of sums, in each two neighbouring columns. Which
 * rows and columns these are, a kernel asks (row_of, column_of) and never assumes: the emulation
 * can change the map, and a kernel that leaned on it would give wrong results. So the same rows can
 * be kept in registers from one product to the next, which memory would be too slow for.
 *
 * Operands are loaded from shared memory, rows of 16 bytes each at a multiple of 16 bytes. Rows
 * whose stride is an odd multiple of 16 bytes are read without bank conflicts. The loads see what
 * the warp's lanes wrote before a barrier or __syncwarp, and the lanes must not write there before
 * the next one.
 *
 * An operand of e4m3 fills the registers of one of bf16 with twice the depth, and is loaded as if
 * two neighbours along the depth were one bf16. Devices before sm_89 have no such product: there
 * the operands are widened, which is exact, and it takes two products of bf16.
 *
 * PTX ISA 8.5: "mma.sync.aligned.m16n8k16", "mma.sync.aligned.m16n8k32" and
 * "ldmatrix.sync.aligned.m8n8.x4". For sm_80 and later.
 */
#ifndef KREF_CUDA_TILE_H
#define KREF_CUDA_TILE_H

#include "cuda/kref.h"

namespace kref {

constexpr int TILE_ROWS = 16;
constexpr int TILE_COLUMNS = 8;
constexpr int TILE_DEPTH = 16;
constexpr int LANE_ROWS = 2; /* of a tile */
constexpr int LANE_COLUMNS = 2;
constexpr int ROW_LANES = 4; /* that share a row */

/* The left operand: 16 rows, depth 16 of bf16 or 32 of e4m3. */
struct left_tile {
    uint32_t registers[4];
};

/* The right operand: the same depth, 8 columns. */
struct right_tile {
    uint32_t registers[2];
};

/* 16 x 8 sums. */
struct sum_tile {
    f32 at[LANE_ROWS][LANE_COLUMNS];
};

KREF_FUNCTION uint32_t pack_bf16(f32 low, f32 high) {
    uint32_t low_bits = to_bf16(static_cast<float>(low)).bits;
    uint32_t high_bits = to_bf16(static_cast<float>(high)).bits;
    return low_bits | high_bits << 16;
}

namespace tile {

/* Two e4m3 in the lower half of `pair`, as bf16. Their bits are those of a bf16 but for the bias of
 * the exponent, which a product with 2^(127 - 7) makes up for, subnormals too. 480, which would be
 * the next value, is how e4m3 writes a NaN. */
KREF_FUNCTION float widen(uint32_t code) {
    float magnitude = float_of((code & 0x7fU) << 20) * 0x1p120F;
    uint32_t sign = (code & 0x80U) << 24;
    return float_of((magnitude > 448.0F ? decoded_nan : bits_of(magnitude)) | sign);
}

KREF_FUNCTION uint32_t widen_pair(uint32_t pair) {
    return pack_bf16(widen(pair & 0xffU), widen(pair >> 8 & 0xffU));
}

} // namespace tile

/* Operands of bf16 whose products, one on top of the other, give that of two of e4m3. Which of them
 * a step along the depth goes into does not matter, as long as it is the same on both sides. */
struct left_tiles {
    left_tile at[2];
};

struct right_tiles {
    right_tile at[2];
};

KREF_FUNCTION left_tiles widen(const left_tile &narrow) {
    left_tiles wide;
    KREF_UNROLL
    for (int i = 0; i < 4; i++) {
        wide.at[i / 2].registers[i % 2] = tile::widen_pair(narrow.registers[i]);
        wide.at[i / 2].registers[i % 2 + 2] = tile::widen_pair(narrow.registers[i] >> 16);
    }
    return wide;
}

KREF_FUNCTION right_tiles widen(const right_tile &narrow) {
    right_tiles wide;
    KREF_UNROLL
    for (int i = 0; i < 2; i++) {
        wide.at[i].registers[0] = tile::widen_pair(narrow.registers[i]);
        wide.at[i].registers[1] = tile::widen_pair(narrow.registers[i] >> 16);
    }
    return wide;
}

#if defined(__CUDACC__)

namespace tile {

KREF_FUNCTION int lane() {
    return static_cast<int>(threadIdx.x % 32);
}

KREF_FUNCTION int row_swap() {
    return 0;
}

template <bool Is_transposed>
KREF_FUNCTION void load_matrices(const bf16 *row, uint32_t registers[4]) {
    auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
    if constexpr (Is_transposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]),
                       "=r"(registers[3])
                     : "r"(address)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]),
                       "=r"(registers[3])
                     : "r"(address)
                     : "memory");
    }
}

} // namespace tile

/* sum += left right */
KREF_FUNCTION void multiply_add(sum_tile *sum, const left_tile &left, const right_tile &right) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum->at[0][0]), "+f"(sum->at[0][1]), "+f"(sum->at[1][0]), "+f"(sum->at[1][1])
        : "r"(left.registers[0]), "r"(left.registers[1]), "r"(left.registers[2]),
          "r"(left.registers[3]), "r"(right.registers[0]), "r"(right.registers[1]));
}

/* The same with operands of e4m3. */
KREF_FUNCTION void multiply_add_e4m3(sum_tile *sum, const left_tile &left,
                                     const right_tile &right) {
#if __CUDA_ARCH__ >= 890
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum->at[0][0]), "+f"(sum->at[0][1]), "+f"(sum->at[1][0]), "+f"(sum->at[1][1])
        : "r"(left.registers[0]), "r"(left.registers[1]), "r"(left.registers[2]),
          "r"(left.registers[3]), "r"(right.registers[0]), "r"(right.registers[1]));
#else
    left_tiles wide_left = widen(left);
    right_tiles wide_right = widen(right);
    multiply_add(sum, wide_left.at[0], wide_right.at[0]);
    multiply_add(sum, wide_left.at[1], wide_right.at[1]);
#endif
}

#else

namespace tile {

KREF_FUNCTION int lane() {
    return static_cast<int>(emulation::part_of_lane());
}

KREF_FUNCTION int row_swap() {
    return emulation::swaps_rows() ? 1 : 0;
}

template <bool Is_transposed>
KREF_FUNCTION __attribute__((always_inline)) void load_matrices(const bf16 *row,
                                                                uint32_t registers[4],
                                                                emulation::place where) {
    where.what = "ldmatrix";
    emulation::load_matrices(reinterpret_cast<const uint16_t *>(row), Is_transposed, registers,
                             where);
}

} // namespace tile

namespace tile {

KREF_FUNCTION void multiply(emulation::operand_kind kind, sum_tile *sum, const left_tile &left,
                            const right_tile &right, emulation::place where) {
    where.what = "mma.sync";
    emulation::operand_a a = {};
    emulation::operand_b b = {};
    float sums[4];
    for (int i = 0; i < 4; i++) {
        a.registers[i] = left.registers[i];
        b.registers[i / 2] = right.registers[i / 2];
        sums[i] = static_cast<float>(sum->at[i / 2 ^ tile::row_swap()][i % 2]);
    }
    emulation::multiply(kind, a, b, sums, where);
    for (int i = 0; i < 4; i++) {
        sum->at[i / 2 ^ tile::row_swap()][i % 2] = sums[i];
    }
}

} // namespace tile

KREF_FUNCTION void multiply_add(sum_tile *sum, const left_tile &left,
                                const right_tile &right KREF_CALLER) {
    tile::multiply(emulation::operand_kind::bf16, sum, left, right KREF_WHERE);
}

KREF_FUNCTION void multiply_add_e4m3(sum_tile *sum, const left_tile &left,
                                     const right_tile &right KREF_CALLER) {
    if (emulation::current_settings().has_e4m3_products) {
        tile::multiply(emulation::operand_kind::e4m3, sum, left, right KREF_WHERE);
        return;
    }
    left_tiles wide_left = widen(left);
    right_tiles wide_right = widen(right);
    multiply_add(sum, wide_left.at[0], wide_right.at[0] KREF_WHERE);
    multiply_add(sum, wide_left.at[1], wide_right.at[1] KREF_WHERE);
}

#endif

/* The row in its tile of a lane's row 0 or 1, and the first of the lane's two columns. */
KREF_FUNCTION int row_of(int lane_row) {
    return tile::lane() / ROW_LANES + (lane_row ^ tile::row_swap()) * 8;
}

KREF_FUNCTION int column_of() {
    return tile::lane() % ROW_LANES * LANE_COLUMNS;
}

/* ---- Loads; `stride` is in elements, from one row in memory to the next ---- */

/* Memory: 16 rows of 16. */
KREF_FUNCTION left_tile load_left(const bf16 *first, int stride KREF_CALLER) {
    left_tile loaded;
    int row = tile::lane() % 16;
    int column = tile::lane() / 16 * 8;
    tile::load_matrices<false>(first + row * stride + column, loaded.registers KREF_WHERE);
    return loaded;
}

/* Two operands side by side, 16 columns. */
struct right_pair {
    right_tile at[2];
};

/* Memory: a row for each of the 16 columns, and the depth along the row. */
KREF_FUNCTION right_pair load_right_by_column(const bf16 *first, int stride KREF_CALLER) {
    uint32_t loaded[4];
    int row = tile::lane() % 8 + tile::lane() / 16 * 8;
    int column = tile::lane() / 8 % 2 * 8;
    tile::load_matrices<false>(first + row * stride + column, loaded KREF_WHERE);
    return right_pair{{{{loaded[0], loaded[1]}}, {{loaded[2], loaded[3]}}}};
}

/* Memory: a row for each of the 16 steps of the depth, and the columns along the row. */
KREF_FUNCTION right_pair load_right_by_depth(const bf16 *first, int stride KREF_CALLER) {
    uint32_t loaded[4];
    int row = tile::lane() % 16;
    int column = tile::lane() / 16 * 8;
    tile::load_matrices<true>(first + row * stride + column, loaded KREF_WHERE);
    return right_pair{{{{loaded[0], loaded[1]}}, {{loaded[2], loaded[3]}}}};
}

/* ---- Between products ---- */

/* Two blocks of sums side by side, rounded to bf16, as the left operand of the next product. */
KREF_FUNCTION left_tile left_from_sums(const sum_tile &first, const sum_tile &second) {
    left_tile rounded;
    KREF_UNROLL
    for (int row = 0; row < LANE_ROWS; row++) {
        int from = row ^ tile::row_swap();
        rounded.registers[row] = pack_bf16(first.at[from][0], first.at[from][1]);
        rounded.registers[row + 2] = pack_bf16(second.at[from][0], second.at[from][1]);
    }
    return rounded;
}

/* Over the lanes that share a row: each of them gets the result. */
KREF_FUNCTION f32 max_over_row(f32 value) {
    KREF_UNROLL
    for (int pattern = 1; pattern < ROW_LANES; pattern *= 2) {
        value = max(value, __shfl_xor_sync(~0U, value, pattern));
    }
    return value;
}

KREF_FUNCTION f32 sum_over_row(f32 value) {
    KREF_UNROLL
    for (int pattern = 1; pattern < ROW_LANES; pattern *= 2) {
        value = value + __shfl_xor_sync(~0U, value, pattern);
    }
    return value;
}

} // namespace kref

#endif
