/*
 * The matrix instructions: the map of lanes and registers, loads and products, under every salt.
 */
#include "cuda/kref.h"
#include "cuda/tile.h"
#include "tests/checking.h"

namespace {

using namespace kref;
using namespace kref::tests;

constexpr emulation::operand_kind bf16_kind = emulation::operand_kind::bf16;
constexpr emulation::operand_kind e4m3_kind = emulation::operand_kind::e4m3;

/* ---- The map ---- */

/*
 * A second reading of the PTX manual, in the way of CUTLASS: the element's place in a matrix stored
 * column by column is a sum of strides, over the digits of lane (4 x 8) and register. Compared by
 * elements, so a slip in one of the two shows.
 */
struct strides {
    int lane_low;  /* of lane % 4 */
    int lane_high; /* of lane / 4 */
    int part;
    int number_low;  /* of number % 2 */
    int number_high; /* of number / 2 */
};

int by_strides(const strides &its, unsigned lane, int number, int part) {
    return static_cast<int>(lane % 4) * its.lane_low + static_cast<int>(lane / 4) * its.lane_high +
           part * its.part + number % 2 * its.number_low + number / 2 * its.number_high;
}

/* Matrices of 16 rows, and of 8 columns by depth, so transposed. */
void operands_are_at(emulation::operand_kind kind, const strides &of_a, const strides &of_b,
                     int parts) {
    for (unsigned lane = 0; lane < 32; lane++) {
        for (int i = 0; i < 4 * parts; i++) {
            emulation::element at = emulation::element_of_a(kind, lane, i / parts, i % parts);
            int expected = by_strides(of_a, lane, i / parts, i % parts);
            assert_int_equal(at.column * 16 + at.row, expected);
        }
        for (int i = 0; i < 2 * parts; i++) {
            emulation::element at = emulation::element_of_b(kind, lane, i / parts, i % parts);
            int expected = by_strides(of_b, lane, i / parts, i % parts);
            assert_int_equal(at.row * 8 + at.column, expected);
        }
    }
}

void map_is_that_of_the_manual(void **) {
    operands_are_at(bf16_kind, {32, 1, 16, 8, 128}, {16, 1, 8, 64, 0}, 2);
    operands_are_at(e4m3_kind, {64, 1, 16, 8, 256}, {32, 1, 8, 128, 0}, 4);
    const strides of_sum = {32, 1, 0, 16, 8}; /* 16 rows; a register is one element */
    for (unsigned lane = 0; lane < 32; lane++) {
        for (int i = 0; i < 4; i++) {
            emulation::element at = emulation::element_of_sum(lane, i);
            assert_int_equal(at.column * 16 + at.row, by_strides(of_sum, lane, i, 0));
        }
    }
}

/* Figures that the manual draws: a4 of lane 5, b2 of lane 5, c3 of lane 31; of e4m3 a9 of lane 2
 * and b7 of lane 31. */
void map_by_hand(void **) {
    emulation::element at = emulation::element_of_a(bf16_kind, 5, 2, 0);
    assert_int_equal(at.row, 1);
    assert_int_equal(at.column, 10);
    at = emulation::element_of_b(bf16_kind, 5, 1, 0);
    assert_int_equal(at.row, 10);
    assert_int_equal(at.column, 1);
    at = emulation::element_of_a(e4m3_kind, 2, 2, 1);
    assert_int_equal(at.row, 0);
    assert_int_equal(at.column, 25);
    at = emulation::element_of_b(e4m3_kind, 31, 1, 3);
    assert_int_equal(at.row, 31);
    assert_int_equal(at.column, 7);
    at = emulation::element_of_sum(31, 3);
    assert_int_equal(at.row, 15);
    assert_int_equal(at.column, 7);
}

/* ---- Products ---- */

constexpr int depth = 16;
constexpr int stride = 24; /* in elements: 48 bytes, an odd multiple of 16 */

struct product_args {
    const bf16 *left;  /* [16][16] */
    const bf16 *right; /* [16 columns][16], or [16 deep][16] */
    float *sums;       /* [16][16] */
    float *maxima;     /* [16] */
    bool is_by_depth;
    bool is_chained; /* then sums are (left right) rounded, times right by depth */
};

KREF_FUNCTION void multiply_pair(sum_tile (&sums)[2], const left_tile &left,
                                 const right_pair &right) {
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < LANE_ROWS * LANE_COLUMNS; j++) {
            sums[i].at[j / 2][j % 2] = 0.0F;
        }
        multiply_add(&sums[i], left, right.at[i]);
    }
}

__global__ void product_kernel(product_args args) {
    auto *left = reinterpret_cast<bf16 *>(KREF_DYNAMIC_SHARED());
    bf16 *right = left + 16 * stride;
    for (int i = static_cast<int>(threadIdx.x); i < 256; i += 32) {
        left[i / 16 * stride + i % 16] = args.left[i];
        right[i / 16 * stride + i % 16] = args.right[i];
    }
    __syncwarp();
    right_pair operands = args.is_by_depth ? load_right_by_depth(right, stride)
                                           : load_right_by_column(right, stride);
    sum_tile sums[2];
    multiply_pair(sums, load_left(left, stride), operands);
    if (args.is_chained) {
        left_tile again = left_from_sums(sums[0], sums[1]);
        multiply_pair(sums, again, load_right_by_depth(right, stride));
    }
    for (int row = 0; row < LANE_ROWS; row++) {
        f32 maximum = sums[0].at[row][0];
        for (int i = 0; i < 4; i++) {
            f32 sum = sums[i / 2].at[row][i % 2];
            int column = i / 2 * TILE_COLUMNS + column_of() + i % 2;
            args.sums[row_of(row) * 16 + column] = static_cast<float>(sum);
            maximum = max(maximum, sum);
        }
        maximum = max_over_row(maximum);
        if (column_of() == 0) {
            args.maxima[row_of(row)] = static_cast<float>(maximum);
        }
    }
}

/* Small integers, so that every sum is exact in bf16 and f32. */
std::vector<bf16> draw_integers(uint64_t seed, unsigned bound) {
    dice its(seed);
    std::vector<bf16> values(256);
    for (bf16 &value : values) {
        value = to_bf16(static_cast<float>(its.next() % (2 * bound + 1)) -
                        static_cast<float>(bound));
    }
    return values;
}

std::vector<double> product(const std::vector<double> &left, const std::vector<double> &right,
                            bool is_by_depth) {
    std::vector<double> sums(256, 0.0);
    for (size_t row = 0; row < 16; row++) {
        for (size_t column = 0; column < 16; column++) {
            for (size_t k = 0; k < depth; k++) {
                size_t at = is_by_depth ? k * 16 + column : column * 16 + k;
                sums[row * 16 + column] += left[row * 16 + k] * right[at];
            }
        }
    }
    return sums;
}

void multiplies(bool is_by_depth, bool is_chained, unsigned bound) {
    std::vector<bf16> left = draw_integers(1, bound);
    std::vector<bf16> right = draw_integers(2, bound);
    std::vector<double> expected = product(to_doubles(left), to_doubles(right), is_by_depth);
    if (is_chained) {
        expected = product(expected, to_doubles(right), true);
    }
    std::vector<float> sums(256);
    std::vector<float> maxima(16);
    assert_ran(launch("product", product_kernel, dim3{1}, dim3{32}, 2 * 16 * stride * sizeof(bf16),
                      nullptr,
                      product_args{left.data(), right.data(), sums.data(), maxima.data(),
                                   is_by_depth, is_chained}));
    assert_true(to_doubles(sums) == expected);
    for (size_t row = 0; row < 16; row++) {
        double maximum = expected[row * 16];
        for (size_t column = 1; column < 16; column++) {
            maximum = std::fmax(maximum, expected[row * 16 + column]);
        }
        assert_true(static_cast<double>(maxima[row]) == maximum);
    }
}

void products_are_exact_under_every_salt(void **) {
    for (unsigned salt = 0; salt < 32; salt++) {
        emulation::current_settings().lane_salt = salt;
        multiplies(false, false, 100);
        multiplies(true, false, 100);
        multiplies(false, true, 3);
        multiplies(true, true, 3);
    }
    emulation::current_settings().lane_salt = 0;
}

/* ---- Products of e4m3 ---- */

struct narrow_args {
    const e4m3 *left;  /* [16][32] */
    const e4m3 *right; /* [16 columns][32] */
    float *sums;       /* [16][16] */
};

__global__ void narrow_kernel(narrow_args args) {
    auto *left = reinterpret_cast<e4m3 *>(KREF_DYNAMIC_SHARED());
    e4m3 *right = left + 16 * 2 * stride;
    for (int i = static_cast<int>(threadIdx.x); i < 16 * 32; i += 32) {
        left[i / 32 * 2 * stride + i % 32] = args.left[i];
        right[i / 32 * 2 * stride + i % 32] = args.right[i];
    }
    __syncwarp();
    left_tile rows = load_left(reinterpret_cast<bf16 *>(left), stride);
    right_pair columns = load_right_by_column(reinterpret_cast<bf16 *>(right), stride);
    for (int i = 0; i < 2; i++) {
        sum_tile sums = {};
        multiply_add_e4m3(&sums, rows, columns.at[i]);
        for (int j = 0; j < LANE_ROWS * LANE_COLUMNS; j++) {
            int column = i * TILE_COLUMNS + column_of() + j % 2;
            args.sums[row_of(j / 2) * 16 + column] = static_cast<float>(sums.at[j / 2][j % 2]);
        }
    }
}

std::vector<double> narrow_product(const std::vector<double> &left,
                                   const std::vector<double> &right) {
    std::vector<double> sums(256, 0.0);
    for (size_t i = 0; i < 256; i++) {
        for (size_t k = 0; k < 32; k++) {
            sums[i] += left[i / 16 * 32 + k] * right[i % 16 * 32 + k];
        }
    }
    return sums;
}

std::vector<float> run_narrow(const std::vector<e4m3> &left, const std::vector<e4m3> &right) {
    std::vector<float> sums(256);
    assert_ran(launch("narrow", narrow_kernel, dim3{1}, dim3{32}, 2 * 16 * stride * sizeof(bf16),
                      nullptr, narrow_args{left.data(), right.data(), sums.data()}));
    return sums;
}

/* Every number of e4m3 up to 4, in sums that f32 holds exactly: as a device from sm_89 on has it,
 * and widened. */
void narrow_products_are_exact_under_every_salt(void **) {
    dice its(3);
    std::vector<e4m3> left(16 * 32);
    std::vector<e4m3> right(16 * 32);
    for (size_t i = 0; i < left.size(); i++) {
        left[i].bits = static_cast<uint8_t>(its.next() % 0x49 | (its.next() % 2) << 7);
        right[i].bits = static_cast<uint8_t>(its.next() % 0x49 | (its.next() % 2) << 7);
    }
    std::vector<double> expected = narrow_product(to_doubles(left), to_doubles(right));
    for (unsigned salt = 0; salt < 32; salt++) {
        emulation::current_settings().lane_salt = salt;
        for (bool has_products : {true, false}) {
            emulation::current_settings().has_e4m3_products = has_products;
            assert_true(to_doubles(run_narrow(left, right)) == expected);
        }
    }
    emulation::current_settings() = emulation::settings{};
}

/* Each code times 1 is its value, widened too; and a NaN stays one. */
void every_code_survives_the_product(void **) {
    std::vector<e4m3> right(16 * 32, e4m3{0});
    for (size_t i = 0; i < 16; i++) {
        right[i * 32 + i].bits = 0x38; /* 1: column i of the product is column i of the left */
    }
    for (bool has_products : {true, false}) {
        emulation::current_settings().has_e4m3_products = has_products;
        std::vector<e4m3> left(16 * 32, e4m3{0});
        for (size_t code = 0; code < 256; code++) {
            bool is_nan = code % 128 == 0x7f;
            left[code / 16 * 32 + code % 16].bits = static_cast<uint8_t>(is_nan ? 0 : code);
        }
        std::vector<float> sums = run_narrow(left, right);
        for (size_t code = 0; code < 256; code++) {
            bool is_nan = code % 128 == 0x7f;
            float value = to_float(e4m3{static_cast<uint8_t>(code)});
            assert_true(sums[code] == (is_nan ? 0.0F : value));
        }
        left[32].bits = 0xff;
        assert_true(std::isnan(run_narrow(left, right)[16]));
    }
    emulation::current_settings() = emulation::settings{};
}

/* ---- Several warps ---- */

/* Warps that are at different loads do not get each other's rows. */
__global__ void two_warps_kernel(product_args args) {
    auto *rows = reinterpret_cast<bf16 *>(KREF_DYNAMIC_SHARED());
    int warp = static_cast<int>(threadIdx.x) / 32;
    bf16 *its = rows + warp * 16 * stride;
    for (int i = static_cast<int>(threadIdx.x) % 32; i < 256; i += 32) {
        its[i / 16 * stride + i % 16] = to_bf16(static_cast<float>(warp + 1));
    }
    __syncwarp();
    for (int i = 0; i <= warp; i++) {
        left_tile loaded = load_left(its, stride);
        uint32_t both = to_bf16(static_cast<float>(warp + 1)).bits;
        bool is_right = loaded.registers[i] == (both | both << 16);
        args.sums[threadIdx.x] = is_right ? 1.0F : 0.0F;
    }
}

void warps_load_for_themselves(void **) {
    in_every_order([] {
        std::vector<float> seen(64, 0.0F);
        product_args args = {};
        args.sums = seen.data();
        assert_ran(launch("two warps", two_warps_kernel, dim3{1}, dim3{64},
                          2 * 16 * stride * sizeof(bf16), nullptr, args));
        for (float it : seen) {
            assert_true(it == 1.0F);
        }
    });
}

} // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_is_that_of_the_manual),
        cmocka_unit_test(map_by_hand),
        cmocka_unit_test(products_are_exact_under_every_salt),
        cmocka_unit_test(narrow_products_are_exact_under_every_salt),
        cmocka_unit_test(every_code_survives_the_product),
        cmocka_unit_test(warps_load_for_themselves),
    };
    return cmocka_run_group_tests_name("tile", tests, nullptr, nullptr);
}
