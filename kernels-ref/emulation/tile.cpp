#include "emulation/tile.h"

#include "cuda/number.h"
#include "emulation/count.h"

namespace kref::emulation {

namespace {

constexpr int rows = 16;
constexpr int columns = 8;
constexpr int depth_max = 32;

/* Of a register: its elements, and the steps along k that all registers hold. */
int parts_of(operand_kind kind) {
    return kind == operand_kind::bf16 ? 2 : 4;
}

int depth_of(operand_kind kind) {
    return 8 * parts_of(kind);
}

/* What a lane brings to a product. */
struct product_slot {
    operand_kind kind;
    const operand_a *a;
    const operand_b *b;
    float *sum;
};

struct matrices {
    float a[rows][depth_max];
    float b[depth_max][columns];
    float sum[rows][columns];
};

float value_of(operand_kind kind, uint32_t shared, int part) {
    if (kind == operand_kind::bf16) {
        return float_of(part == 0 ? shared << 16 : shared & 0xffff0000U);
    }
    return to_float(e4m3{static_cast<uint8_t>(shared >> 8 * part)});
}

void gather_lane(const product_slot &slot, unsigned part, matrices *all) {
    int parts = parts_of(slot.kind);
    for (int i = 0; i < 4 * parts; i++) {
        element at = element_of_a(slot.kind, part, i / parts, i % parts);
        all->a[at.row][at.column] = value_of(slot.kind, slot.a->registers[i / parts], i % parts);
    }
    for (int i = 0; i < 2 * parts; i++) {
        element at = element_of_b(slot.kind, part, i / parts, i % parts);
        all->b[at.row][at.column] = value_of(slot.kind, slot.b->registers[i / parts], i % parts);
    }
    for (int number = 0; number < 4; number++) {
        element at = element_of_sum(part, number);
        all->sum[at.row][at.column] = slot.sum[number];
    }
}

void multiply_all(matrices *all, int depth) {
    for (int row = 0; row < rows; row++) {
        for (int k = 0; k < depth; k++) {
            for (int column = 0; column < columns; column++) {
                all->sum[row][column] += all->a[row][k] * all->b[k][column];
            }
        }
    }
}

unsigned part_of(unsigned lane) {
    return lane ^ (current_settings().lane_salt & (warp_lanes - 1));
}

void complete_product(void *const slots[warp_lanes], unsigned) {
    matrices all;
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        gather_lane(*static_cast<const product_slot *>(slots[lane]), part_of(lane), &all);
    }
    int depth = depth_of(static_cast<const product_slot *>(slots[0])->kind);
    multiply_all(&all, depth);
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        for (int number = 0; number < 4; number++) {
            element at = element_of_sum(part_of(lane), number);
            static_cast<const product_slot *>(slots[lane])->sum[number] =
                all.sum[at.row][at.column];
        }
    }
    counted.matrix_flops += static_cast<uint64_t>(2 * rows * columns * depth);
}

/* One a warp. Its next gathering needs all lanes again, so all have taken what they need by then.
 */
struct row_addresses {
    const uint16_t *at[warp_lanes];
};
row_addresses gathered[block_threads_max / warp_lanes];

struct gather_slot {
    const uint16_t *row;
    row_addresses *its_warp;
};

void complete_gathering(void *const slots[warp_lanes], unsigned) {
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        const auto *slot = static_cast<const gather_slot *>(slots[lane]);
        slot->its_warp->at[part_of(lane)] = slot->row;
    }
}

} // namespace

element element_of_a(operand_kind kind, unsigned lane, int number, int part) {
    int row = static_cast<int>(lane / 4) + number % 2 * 8;
    int column = static_cast<int>(lane % 4 + static_cast<unsigned>(number / 2) * 4);
    return element{row, column * parts_of(kind) + part};
}

element element_of_b(operand_kind kind, unsigned lane, int number, int part) {
    int row = static_cast<int>(lane % 4 + static_cast<unsigned>(number) * 4);
    return element{row * parts_of(kind) + part, static_cast<int>(lane / 4)};
}

element element_of_sum(unsigned lane, int number) {
    int row = static_cast<int>(lane / 4) + number / 2 * 8;
    int column = static_cast<int>(lane % 4) * 2 + number % 2;
    return element{row, column};
}

unsigned part_of_lane() {
    return part_of(lane());
}

bool swaps_rows() {
    return current_settings().lane_salt % 2 == 1;
}

void multiply(operand_kind kind, const operand_a &a, const operand_b &b, float sum[4],
              place where) {
    product_slot slot = {kind, &a, &b, sum};
    meet(meeting{where, ~0U, &slot, complete_product});
}

const uint16_t *const *gather_rows(const uint16_t *row, place where) {
    if (!is_shared(row, 16)) {
        fault(where, "the address of a row is not in shared memory");
    }
    if (reinterpret_cast<uintptr_t>(row) % 16 != 0) {
        fault(where, "the address of a row is not a multiple of 16 bytes");
    }
    gather_slot slot = {row, &gathered[warp_number()]};
    meet(meeting{where, ~0U, &slot, complete_gathering});
    return slot.its_warp->at;
}

} // namespace kref::emulation
