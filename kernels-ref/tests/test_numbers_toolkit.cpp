/*
 * The own bf16, fp16, e4m3 and e5m2 against those of the CUDA toolkit, bit for bit; skipped where
 * its headers are not installed. They compute on the host, no device and no nvcc needed.
 */
#include "cuda/number.h"
#include "tests/cmocka.h"

#if __has_include(<cuda_bf16.h>) && __has_include(<cuda_fp8.h>)
#define KREF_HAS_TOOLKIT
/* They are system headers to the compiler, so their warnings are not ours. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#endif

namespace {

using namespace kref;

#if defined(KREF_HAS_TOOLKIT)

void assert_same_codes(float value) {
    unsigned theirs[4] = {
        __bfloat16_as_ushort(__float2bfloat16_rn(value)),
        __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3),
        __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2),
        __half_as_ushort(__float2half_rn(value)),
    };
    unsigned ours[4] = {to_bf16(value).bits, to_e4m3(value).bits, to_e5m2(value).bits,
                        to_fp16(value).bits};
    for (int i = 0; i < 4; i++) {
        if (theirs[i] != ours[i]) {
            print_error("float %08x, format %d\n", bits_of(value), i);
            assert_int_equal(theirs[i], ours[i]);
        }
    }
}

/* 69 million patterns: every exponent, both signs, NaNs and infinities among them. */
void a_dense_sample_of_floats(void **) {
    constexpr uint64_t step = 62; /* with the odd offset below, even and odd patterns come */
    for (uint64_t bits = 0; bits < 0x80000000U; bits += step) {
        assert_same_codes(float_of(static_cast<uint32_t>(bits)));
        assert_same_codes(float_of(static_cast<uint32_t>(bits + 0x80000000U + 31)));
    }
}

/* Around every pattern that is short in binary: all ties of the three formats, their neighbours,
 * the smallest and the largest values. */
void all_ties_and_their_neighbours(void **) {
    for (uint64_t high = 0; high < 0x20000; high++) {
        for (int beside = -2; beside <= 2; beside++) {
            auto bits = static_cast<uint32_t>((high << 15) + static_cast<uint64_t>(beside));
            assert_same_codes(float_of(bits));
        }
    }
}

/* All codes; a toolkit's value is a float, or a half that becomes one. */
void every_code_has_the_same_value(void **) {
    for (unsigned code = 0; code < 0x10000; code++) {
        auto its = static_cast<uint16_t>(code);
        float theirs = __bfloat162float(__ushort_as_bfloat16(its));
        assert_int_equal(bits_of(theirs), bits_of(to_float(bf16{its})));
        float half = __half2float(__ushort_as_half(its));
        if ((code & 0x7fffU) <= 0x7c00U) { /* a NaN keeps its bits there */
            assert_int_equal(bits_of(half), bits_of(to_float(fp16{its})));
        }
    }
    for (unsigned code = 0; code < 0x100; code++) {
        auto its = static_cast<uint8_t>(code);
        __nv_fp8_e4m3 four;
        __nv_fp8_e5m2 five;
        four.__x = its;
        five.__x = its;
        assert_int_equal(bits_of(static_cast<float>(four)), bits_of(to_float(e4m3{its})));
        assert_int_equal(bits_of(static_cast<float>(five)), bits_of(to_float(e5m2{its})));
    }
}

#else

void a_dense_sample_of_floats(void **) {
    print_message("skipped: no CUDA toolkit\n");
    skip();
}

void all_ties_and_their_neighbours(void **) {
    skip();
}

void every_code_has_the_same_value(void **) {
    skip();
}

#endif

} // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dense_sample_of_floats),
        cmocka_unit_test(all_ties_and_their_neighbours),
        cmocka_unit_test(every_code_has_the_same_value),
    };
    return cmocka_run_group_tests_name("numbers_toolkit", tests, nullptr, nullptr);
}
