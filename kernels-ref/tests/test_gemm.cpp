/*
 * gemm against its oracle, of bf16 and of e4m3, over shapes that fill no block, and its counts
 * against their closed forms.
 */
#include "cuda/gemm.h"
#include "cuda/library_gemm.h"
#include "figures/work.h"
#include "oracle/gemm.h"
#include "oracle/rounding.h"
#include "tests/checking.h"

namespace {

using namespace kref;
using namespace kref::tests;

struct shape {
    int m;
    int n;
    int k;
    float scale = 1.0F;
};

template <typename Element> std::vector<Element> draw(size_t count, uint64_t seed);

template <> std::vector<bf16> draw(size_t count, uint64_t seed) {
    return draw_bf16(count, seed);
}

template <> std::vector<e4m3> draw(size_t count, uint64_t seed) {
    return draw_e4m3(count, seed, 400.0F);
}

template <typename Element> class gemm_case {
  public:
    explicit gemm_case(const shape &its)
        : its_(its), left_(draw<Element>(count(its.m, its.k), 1)),
          right_(draw<Element>(count(its.n, its.k), 2)) {
    }

    gemm_args<Element> args() const {
        gemm_args<Element> args = {};
        args.left = left_.data();
        args.right = right_.data();
        args.m = its_.m;
        args.n = its_.n;
        args.k = its_.k;
        args.scale = its_.scale;
        return args;
    }

    size_t outputs() const {
        return count(its_.m, its_.n);
    }

    std::vector<double> run_exact() const {
        device_array<float> product(outputs());
        gemm_args<Element> args = this->args();
        args.exact_product = product.data();
        assert_ran(gemm(args, nullptr));
        return to_doubles(product.read());
    }

    std::vector<double> run_rounded() const {
        device_array<bf16> product(outputs());
        gemm_args<Element> args = this->args();
        args.product = product.data();
        assert_ran(gemm(args, nullptr));
        return to_doubles(product.read());
    }

    void expect(std::vector<double> *expected, std::vector<double> *tolerances,
                double unit = KREF_F32_UNIT) const {
        expected->assign(outputs(), 0.0);
        tolerances->assign(outputs(), 0.0);
        kref_gemm gemm = {its_.m, its_.n, its_.k, static_cast<double>(its_.scale), unit};
        kref_expected its = {expected->data(), tolerances->data()};
        kref_gemm_product(&gemm, to_doubles(left_.read()).data(), to_doubles(right_.read()).data(),
                          &its);
    }

    kref_work work(int output_bytes) const {
        kref_gemm_shape shape = {its_.m, its_.n, its_.k, sizeof(Element), output_bytes};
        return kref_gemm_work(&shape);
    }

  private:
    static size_t count(int rows, int width) {
        return static_cast<size_t>(rows) * static_cast<size_t>(width);
    }

    shape its_;
    device_array<Element> left_;
    device_array<Element> right_;
};

/* Within the tolerance, the same bits in every order, and exactly the FLOPs and bytes. */
template <typename Element> void agrees_with_oracle(const shape &its) {
    gemm_case<Element> it(its);
    std::vector<double> expected;
    std::vector<double> tolerances;
    it.expect(&expected, &tolerances);
    std::vector<double> first;
    in_every_order([&] {
        begin_counting();
        std::vector<double> actual = it.run_exact();
        assert_counted(it.work(4));
        assert_close(actual, expected, tolerances);
        if (first.empty()) {
            first = actual;
        }
        assert_true(actual == first);
    });
}

void one_row_and_few(void **) {
    agrees_with_oracle<bf16>({1, 8, 8});
    agrees_with_oracle<bf16>({5, 136, 264});
    agrees_with_oracle<bf16>({32, 128, 64});
    agrees_with_oracle<bf16>({0, 8, 8});
}

void rows_of_all_kinds(void **) {
    agrees_with_oracle<bf16>({33, 40, 64});
    agrees_with_oracle<bf16>({128, 128, 128});
    agrees_with_oracle<bf16>({131, 144, 200});
}

/* The depth from less than a step to more than all stages. */
void depths_of_all_kinds(void **) {
    for (int k : {8, 64, 72, 200, 456}) {
        agrees_with_oracle<bf16>({3, 24, k});
    }
}

void product_is_scaled(void **) {
    agrees_with_oracle<bf16>({40, 16, 32, -0.37F});
}

/* As a device from sm_89 on computes it, and widened. */
void e4m3_agrees_with_oracle(void **) {
    agrees_with_oracle<e4m3>({1, 8, 16});
    agrees_with_oracle<e4m3>({7, 136, 400, 0.02F});
    agrees_with_oracle<e4m3>({129, 40, 144});
}

void both_ways_of_e4m3_agree([[maybe_unused]] void **state) {
#if !defined(KREF_ON_DEVICE)
    gemm_case<e4m3> it({35, 24, 160, 0.5F});
    std::vector<double> expected;
    std::vector<double> tolerances;
    it.expect(&expected, &tolerances);
    emulation::current_settings().has_e4m3_products = false;
    begin_counting();
    assert_close(it.run_exact(), expected, tolerances);
    assert_counted(it.work(4));
    emulation::current_settings().has_e4m3_products = true;
#endif
}

void product_is_rounded_once(void **) {
    gemm_case<bf16> few({9, 24, 72});
    gemm_case<bf16> many({45, 136, 72});
    for (const gemm_case<bf16> *it : {&few, &many}) {
        std::vector<double> exact = it->run_exact();
        std::vector<double> rounded = it->run_rounded();
        for (size_t i = 0; i < exact.size(); i++) {
            assert_true(rounded[i] == kref_round_bf16(exact[i]));
        }
    }
}

void bad_shapes_are_refused(void **) {
    gemm_case<bf16> it({4, 8, 8});
    device_array<float> product(it.outputs());
    gemm_args<bf16> good = it.args();
    good.exact_product = product.data();
    assert_null(gemm_refusal(good));

    gemm_args<bf16> bad = good;
    bad.m = -1;
    assert_non_null(strstr(gemm(bad, nullptr), "m must not be negative"));
    bad = good;
    bad.n = 12;
    assert_non_null(strstr(gemm(bad, nullptr), "n must be a multiple of 8"));
    bad = good;
    bad.n = 8388488;
    assert_non_null(strstr(gemm(bad, nullptr), "8388480"));
    bad = good;
    bad.k = 0;
    assert_non_null(strstr(gemm(bad, nullptr), "k must be a positive multiple"));
    bad = good;
    bad.exact_product = nullptr;
    assert_non_null(strstr(gemm(bad, nullptr), "one of the products"));

    gemm_args<e4m3> narrow = {};
    narrow.exact_product = product.data();
    narrow.m = 1;
    narrow.n = 8;
    narrow.k = 24;
    assert_non_null(strstr(gemm_refusal(narrow), "of 16 e4m3"));
    narrow.k = 32;
    assert_null(gemm_refusal(narrow));
}

/* ---- cuBLASLt ---- */

const char *const absent = "library_gemm: built without cuBLASLt";

/* False if there is no library. */
template <typename Element> bool library_agrees(const shape &its, double unit) {
    gemm_case<Element> it(its);
    device_array<float> product(it.outputs());
    gemm_args<Element> args = it.args();
    args.exact_product = product.data();
    library_gemm library;
    const char *error = library.prepare(args);
    if (error != nullptr && strcmp(error, absent) == 0) {
        assert_string_equal(library.run(args, nullptr), absent);
        return false;
    }
    assert_ran(error);
    assert_ran(library.run(args, nullptr));
    std::vector<double> expected;
    std::vector<double> tolerances;
    it.expect(&expected, &tolerances, unit);
    assert_close(to_doubles(product.read()), expected, tolerances);
    return true;
}

/* The library knows e4m3 where the device does. */
bool device_knows_e4m3() {
#if defined(KREF_ON_DEVICE)
    int major = 0;
    int minor = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
    return 10 * major + minor >= 89;
#else
    return true;
#endif
}

void library_agrees_with_oracle(void **) {
    bool is_there = library_agrees<bf16>({1, 8, 8}, KREF_F32_UNIT);
    is_there &= library_agrees<bf16>({131, 144, 200, 0.5F}, KREF_F32_UNIT);
    if (device_knows_e4m3()) {
        is_there &= library_agrees<e4m3>({128, 144, 208, 0.02F}, KREF_WGMMA_E4M3_UNIT);
    }
    if (!is_there) {
        print_message("skipped: %s\n", absent);
        skip();
    }
}

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_and_few),
        cmocka_unit_test(rows_of_all_kinds),
        cmocka_unit_test(depths_of_all_kinds),
        cmocka_unit_test(product_is_scaled),
        cmocka_unit_test(e4m3_agrees_with_oracle),
        cmocka_unit_test(both_ways_of_e4m3_agree),
        cmocka_unit_test(product_is_rounded_once),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(library_agrees_with_oracle),
    };
    return cmocka_run_group_tests_name("gemm", tests, nullptr, nullptr);
}
