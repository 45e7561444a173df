/*
 * bf16, fp16, e4m3 and e5m2 from their definitions: every code, the middle between any two
 * neighbours, what lies beside it, and values worked out by hand.
 */
#include "cuda/number.h"
#include "tests/cmocka.h"

#include <cmath>

namespace {

using namespace kref;

/* What a format is: digits of the code, and the largest finite one. */
struct format {
    int mantissa_bits;
    int bias;
    unsigned largest;
    unsigned sign;
};

const format bf16_format = {7, 127, 0x7f7f, 0x8000};
const format fp16_format = {10, 15, 0x7bff, 0x8000};
const format e4m3_format = {3, 7, 0x7e, 0x80};
const format e5m2_format = {2, 15, 0x7b, 0x80};

/* (1 + mantissa / 2^m) 2^(exponent - bias), or without the 1 where the exponent's field is 0. */
double value_of(const format &its, unsigned code) {
    int units = 1 << its.mantissa_bits;
    int exponent = static_cast<int>(code) >> its.mantissa_bits;
    int mantissa = static_cast<int>(code) % units;
    if (exponent == 0) {
        exponent = 1;
    } else {
        mantissa += units;
    }
    return std::ldexp(mantissa, exponent - its.bias - its.mantissa_bits);
}

float up(float value) {
    return std::nextafterf(value, INFINITY);
}

float down(float value) {
    return std::nextafterf(value, 0.0F);
}

/* Each finite code is its own nearest; the middle of two neighbours goes to the even one, and what
 * lies just beside the middle to the nearer one. So with the other sign. */
template <typename Encode, typename Decode>
void rounds_to_nearest(const format &its, Encode encode, Decode decode) {
    for (unsigned code = 0; code <= its.largest; code++) {
        auto exact = static_cast<float>(value_of(its, code));
        assert_true(decode(code) == exact);
        assert_true(decode(code | its.sign) == -exact);
        assert_int_equal(encode(exact), code);
        assert_int_equal(encode(-exact), code | its.sign);
        if (code == its.largest) {
            break;
        }
        double next = value_of(its, code + 1);
        auto middle = static_cast<float>((value_of(its, code) + next) / 2);
        unsigned even = code + code % 2;
        assert_int_equal(encode(middle), even);
        assert_int_equal(encode(-middle), even | its.sign);
        assert_int_equal(encode(down(middle)), code);
        assert_int_equal(encode(up(middle)), code + 1);
    }
}

void bf16_rounds_to_nearest(void **) {
    rounds_to_nearest(
        bf16_format, [](float value) { return unsigned{to_bf16(value).bits}; },
        [](unsigned code) { return to_float(bf16{static_cast<uint16_t>(code)}); });
}

void fp16_rounds_to_nearest(void **) {
    rounds_to_nearest(
        fp16_format, [](float value) { return unsigned{to_fp16(value).bits}; },
        [](unsigned code) { return to_float(fp16{static_cast<uint16_t>(code)}); });
}

void e4m3_rounds_to_nearest(void **) {
    rounds_to_nearest(
        e4m3_format, [](float value) { return unsigned{to_e4m3(value).bits}; },
        [](unsigned code) { return to_float(e4m3{static_cast<uint8_t>(code)}); });
}

void e5m2_rounds_to_nearest(void **) {
    rounds_to_nearest(
        e5m2_format, [](float value) { return unsigned{to_e5m2(value).bits}; },
        [](unsigned code) { return to_float(e5m2{static_cast<uint8_t>(code)}); });
}

void values_by_hand(void **) {
    assert_int_equal(to_bf16(1.0F).bits, 0x3f80);
    assert_int_equal(to_bf16(-2.5F).bits, 0xc020);
    assert_int_equal(to_bf16(3.14159265F).bits, 0x4049); /* 3.140625 */
    assert_int_equal(to_e4m3(1.0F).bits, 0x38);
    assert_int_equal(to_e4m3(-0.3F).bits, 0xaa); /* -0.3125 = -1.25 x 2^-2 */
    assert_int_equal(to_e4m3(0x1p-9F).bits, 0x01);
    assert_int_equal(to_e5m2(1.0F).bits, 0x3c);
    assert_int_equal(to_e5m2(-0.3F).bits, 0xb5); /* -0.3125 */
    assert_int_equal(to_e5m2(0x1p-16F).bits, 0x01);
}

/* What is too large, and what is no number. */
void ends_of_the_range(void **) {
    float nan = std::nanf("");
    assert_int_equal(to_bf16(3.4e38F).bits, 0x7f80);
    assert_int_equal(to_bf16(-INFINITY).bits, 0xff80);
    assert_int_equal(to_bf16(-nan).bits, 0x7fff);
    assert_true(std::isinf(to_float(bf16{0x7f80})));
    assert_true(std::isnan(to_float(bf16{0xffff})));

    assert_int_equal(to_fp16(65519.0F).bits, 0x7bff);
    assert_int_equal(to_fp16(-65520.0F).bits, 0xfc00);
    assert_int_equal(to_fp16(nan).bits, 0x7fff);
    assert_int_equal(to_fp16(-1e-30F).bits, 0x8000);
    assert_true(to_float(fp16{0x7c00}) == INFINITY);
    assert_true(std::isnan(to_float(fp16{0x7c01})));

    assert_int_equal(to_e4m3(449.0F).bits, 0x7e);
    assert_int_equal(to_e4m3(-1e30F).bits, 0xfe);
    assert_int_equal(to_e4m3(INFINITY).bits, 0x7e);
    assert_int_equal(to_e4m3(nan).bits, 0x7f);
    assert_int_equal(to_e4m3(1e-30F).bits, 0);
    assert_true(std::isnan(to_float(e4m3{0x7f})));
    assert_true(std::isnan(to_float(e4m3{0xff})));

    assert_int_equal(to_e5m2(57345.0F).bits, 0x7b);
    assert_int_equal(to_e5m2(-INFINITY).bits, 0xfb);
    assert_int_equal(to_e5m2(-nan).bits, 0x7f);
    assert_int_equal(to_e5m2(-1e-30F).bits, 0x80);
    assert_true(to_float(e5m2{0x7c}) == INFINITY);
    assert_true(to_float(e5m2{0xfc}) == -INFINITY);
    assert_true(std::isnan(to_float(e5m2{0x7d})));
}

} // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bf16_rounds_to_nearest), cmocka_unit_test(fp16_rounds_to_nearest),
        cmocka_unit_test(e4m3_rounds_to_nearest), cmocka_unit_test(e5m2_rounds_to_nearest),
        cmocka_unit_test(values_by_hand),         cmocka_unit_test(ends_of_the_range),
    };
    return cmocka_run_group_tests_name("numbers", tests, nullptr, nullptr);
}
