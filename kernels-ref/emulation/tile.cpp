#include "emulation/tile.h"

#include "cuda/number.h"
#include "emulation/count.h"

namespace kref::emulation {

namespace {

constexpr int rows = 16;
constexpr int columns = 8;
constexpr int depth = 16;

/* What a lane brings to a product. */
struct product_slot {
    const operand_a *a;
    const operand_b *b;
    float *sum;
};

struct matrices {
    float a[rows][depth];
    float b[depth][columns];
    float sum[rows][columns];
};

float half_of(uint32_t pair, int part) {
    return float_of(part == 0 ? pair << 16 : pair & 0xffff0000U);
}

void gather_lane(const product_slot &slot, unsigned part, matrices *all) {
    for (int number = 0; number < 4; number++) {
        for (int half = 0; half < 2; half++) {
            element at = element_of_a(part, number, half);
            all->a[at.row][at.column] = half_of(slot.a->registers[number], half);
        }
    }
    for (int number = 0; number < 2; number++) {
        for (int half = 0; half < 2; half++) {
            element at = element_of_b(part, number, half);
            all->b[at.row][at.column] = half_of(slot.b->registers[number], half);
        }
    }
    for (int number = 0; number < 4; number++) {
        element at = element_of_sum(part, number);
        all->sum[at.row][at.column] = slot.sum[number];
    }
}

void multiply_all(matrices *all) {
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
    multiply_all(&all);
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        for (int number = 0; number < 4; number++) {
            element at = element_of_sum(part_of(lane), number);
            static_cast<const product_slot *>(slots[lane])->sum[number] =
                all.sum[at.row][at.column];
        }
    }
    counted.matrix_flops += 2 * rows * columns * depth;
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

element element_of_a(unsigned lane, int number, int part) {
    int row = static_cast<int>(lane / 4) + number % 2 * 8;
    int column = static_cast<int>(lane % 4) * 2 + part + number / 2 * 8;
    return element{row, column};
}

element element_of_b(unsigned lane, int number, int part) {
    int row = static_cast<int>(lane % 4) * 2 + part + number * 8;
    return element{row, static_cast<int>(lane / 4)};
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

void multiply(const operand_a &a, const operand_b &b, float sum[4], place where) {
    product_slot slot = {&a, &b, sum};
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
