/*
 * A mixture of experts step by step, each kernel against its oracle: router, expert_order,
 * expert_gemm, expert_sum; with experts that nobody goes to, and that everybody goes to.
 */
#include "cuda/expert_gemm.h"
#include "cuda/expert_order.h"
#include "cuda/expert_sum.h"
#include "cuda/router.h"
#include "figures/work.h"
#include "oracle/experts.h"
#include "oracle/rounding.h"
#include "tests/checking.h"

namespace {

using namespace kref;
using namespace kref::tests;

size_t area(int rows, int width) {
    return static_cast<size_t>(rows) * static_cast<size_t>(width);
}

std::vector<float> draw_floats(size_t count, uint64_t seed, float amplitude) {
    dice its(seed);
    std::vector<float> values(count);
    for (float &value : values) {
        value = amplitude * its.signed_unit();
    }
    return values;
}

/* ---- Router ---- */

struct routing {
    std::vector<int32_t> chosen;
    std::vector<double> weights;
};

struct crowd {
    int tokens;
    int experts;
    int top_k;
    bool is_normalised = true;
};

routing route(const crowd &its, const std::vector<float> &scores) {
    device_array<float> device_scores(scores);
    device_array<int32_t> chosen(area(its.tokens, its.top_k));
    device_array<float> weights(area(its.tokens, its.top_k));
    router_args args = {};
    args.scores = device_scores.data();
    args.chosen = chosen.data();
    args.weights = weights.data();
    args.tokens = its.tokens;
    args.experts = its.experts;
    args.top_k = its.top_k;
    args.is_normalised = its.is_normalised;
    assert_ran(router(args, nullptr));
    return routing{chosen.read(), to_doubles(weights.read())};
}

void routes(const crowd &its, const std::vector<float> &scores) {
    size_t pairs = area(its.tokens, its.top_k);
    routing expected = {std::vector<int32_t>(pairs), std::vector<double>(pairs)};
    std::vector<double> tolerances(pairs);
    std::vector<double> exact = to_doubles(scores);
    for (int token = 0; token < its.tokens; token++) {
        size_t at = area(token, its.top_k);
        kref_expected weights = {&expected.weights[at], &tolerances[at]};
        kref_route(&exact[area(token, its.experts)], its.experts, its.top_k, its.is_normalised,
                   &expected.chosen[at], &weights);
    }
    in_every_order([&] {
        begin_counting();
        routing actual = route(its, scores);
        assert_counted(kref_router_work(its.tokens, its.experts, its.top_k));
        assert_true(actual.chosen == expected.chosen);
        assert_close(actual.weights, expected.weights, tolerances);
    });
}

void routes(const crowd &its) {
    routes(its, draw_floats(area(its.tokens, its.experts), 1, 5.0F));
}

void router_agrees_with_oracle(void **) {
    routes({1, 1, 1});
    routes({5, 8, 2});
    routes({3, 8, 2, false});
    routes({2, 33, 33 / 2, false});
    routes({6, 256, 8});
    routes({1, 1024, 32});
    routes({0, 8, 2});
}

/* Of equal scores the first; the two zeros are equal; -infinity is chosen last. */
void equal_scores_go_to_the_first(void **) {
    routes({1, 40, 5}, std::vector<float>(40, -3.0F));
    routes({2, 4, 3}, {-0.0F, 0.0F, -1.0F, 0.0F, 7.0F, -INFINITY, -0.0F, 0.0F});
}

void router_refuses_bad_shapes(void **) {
    router_args args = {};
    args.tokens = -1;
    assert_non_null(strstr(router(args, nullptr), "negative"));
    args.tokens = 1;
    args.experts = 1025;
    assert_non_null(strstr(router(args, nullptr), "1 to 1024 experts"));
    args.experts = 4;
    args.top_k = 5;
    assert_non_null(strstr(router(args, nullptr), "not more than there are experts"));
    args.experts = 64;
    args.top_k = 33;
    assert_non_null(strstr(router(args, nullptr), "top_k must be 1 to 32"));
}

/* ---- Order ---- */

/* A drawn choice of experts, which need not be different for a token: the sort does not care. */
struct choice {
    int experts;
    std::vector<int32_t> chosen;
};

/* Two draws, of which the lower counts: the first experts get more, the last ones may get none. */
choice draw_choice(int experts, int pairs) {
    dice its(7);
    choice drawn = {experts, std::vector<int32_t>(static_cast<size_t>(pairs))};
    for (int32_t &expert : drawn.chosen) {
        uint64_t first = its.next() % static_cast<uint64_t>(experts);
        uint64_t second = its.next() % static_cast<uint64_t>(experts);
        expert = static_cast<int32_t>(first < second ? first : second);
    }
    return drawn;
}

/* The order as the oracle has it, and as the kernels leave it. */
class order_case {
  public:
    explicit order_case(const choice &its)
        : its_(its), starts_(static_cast<size_t>(its.experts) + 1), order_(its.chosen.size()),
          places_(its.chosen.size()), chosen_(its.chosen), device_starts_(starts_.size()),
          device_order_(order_.size()), device_places_(places_.size()),
          tiles_(area(expert_tiles_max(shape()), 2)), tile_count_(1) {
        kref_expert_order(its.chosen.data(), shape().pairs, its.experts, starts_.data(),
                          order_.data(), places_.data());
        for (size_t i = 0; i < static_cast<size_t>(its.experts); i++) {
            counts_.push_back(starts_[i + 1] - starts_[i]);
        }
    }

    expert_groups groups() const {
        expert_groups groups = shape();
        groups.starts = device_starts_.data();
        groups.order = device_order_.data();
        groups.places = device_places_.data();
        groups.tiles = tiles_.data();
        groups.tile_count = tile_count_.data();
        return groups;
    }

    void run() const {
        device_array<int32_t> workspace(static_cast<size_t>(expert_order_workspace(shape())));
        expert_order_args args = {};
        args.chosen = chosen_.data();
        args.workspace = workspace.data();
        args.groups = groups();
        assert_ran(expert_order(args, nullptr));
    }

    void check() const {
        assert_true(device_starts_.read() == starts_);
        assert_true(device_order_.read() == order_);
        assert_true(device_places_.read() == places_);
        check_tiles();
    }

    kref_expert_shape work_shape() const {
        kref_expert_shape shape = {};
        shape.counts = counts_.data();
        shape.experts = its_.experts;
        shape.pairs = static_cast<int64_t>(its_.chosen.size());
        return shape;
    }

    kref_experts experts() const {
        kref_experts experts = {};
        experts.starts = starts_.data();
        experts.order = order_.data();
        experts.experts = its_.experts;
        return experts;
    }

    size_t pairs() const {
        return order_.size();
    }

    const device_array<int32_t> &places() const {
        return device_places_;
    }

  private:
    expert_groups shape() const {
        expert_groups groups = {};
        groups.pairs = static_cast<int>(its_.chosen.size());
        groups.experts = its_.experts;
        return groups;
    }

    /* One behind the other they cover every expert's places. */
    void check_tiles() const {
        int rows = expert_tile_rows(shape());
        std::vector<int32_t> tiles = tiles_.read();
        size_t tile = 0;
        for (int expert = 0; expert < its_.experts; expert++) {
            auto at = static_cast<size_t>(expert);
            for (int place = starts_[at]; place < starts_[at + 1]; place += rows) {
                assert_int_equal(tiles[2 * tile], expert);
                assert_int_equal(tiles[2 * tile + 1], place);
                tile++;
            }
        }
        assert_int_equal(tile_count_.read()[0], tile);
        assert_true(tile <= static_cast<size_t>(expert_tiles_max(shape())));
    }

    choice its_;
    std::vector<int32_t> starts_;
    std::vector<int32_t> order_;
    std::vector<int32_t> places_;
    std::vector<int32_t> counts_;
    device_array<int32_t> chosen_;
    device_array<int32_t> device_starts_;
    device_array<int32_t> device_order_;
    device_array<int32_t> device_places_;
    device_array<int32_t> tiles_;
    device_array<int32_t> tile_count_;
};

void sorts(const choice &its) {
    in_every_order([&] {
        order_case it(its);
        begin_counting();
        it.run();
        kref_expert_shape shape = it.work_shape();
        assert_counted(kref_expert_order_work(&shape));
        it.check();
    });
}

void order_agrees_with_oracle(void **) {
    sorts(draw_choice(1, 5));
    sorts(draw_choice(7, 40));
    sorts(draw_choice(32, 1024));
    sorts(draw_choice(9, 280));   /* several tiles of 32 rows an expert */
    sorts(draw_choice(3, 700));   /* and of 128 */
    sorts(draw_choice(70, 2500)); /* three slices, several warps */
}

void order_without_pairs_is_empty(void **) {
    sorts({5, {}});
}

void all_pairs_of_one_expert(void **) {
    sorts({4, std::vector<int32_t>(150, 2)});
}

/* As many threads as a block may have: too many for the race checker. */
void as_many_experts_as_possible(void **) {
#if !defined(KREF_TSAN)
    sorts(draw_choice(1024, 300));
#endif
}

void order_refuses_bad_shapes(void **) {
    expert_order_args args = {};
    args.groups.experts = 1025;
    assert_non_null(strstr(expert_order(args, nullptr), "1 to 1024 experts"));
    args.groups.experts = 4;
    args.groups.pairs = -1;
    assert_non_null(strstr(expert_order(args, nullptr), "negative"));
}

/* ---- Products ---- */

struct layer {
    int top_k; /* 0 = rows at their places */
    int n;
    int k;
};

void multiplies(const choice &chosen, const layer &its) {
    order_case sorted(chosen);
    sorted.run();
    size_t sources = its.top_k > 0 ? sorted.pairs() / static_cast<size_t>(its.top_k)
                                   : sorted.pairs();
    size_t outputs = sorted.pairs() * static_cast<size_t>(its.n);
    device_array<bf16> rows(draw_bf16(sources * static_cast<size_t>(its.k), 1));
    device_array<bf16> weights(
        draw_bf16(area(chosen.experts, its.n) * static_cast<size_t>(its.k), 2));
    kref_experts experts = sorted.experts();
    experts.top_k = its.top_k;
    experts.n = its.n;
    experts.k = its.k;
    std::vector<double> expected(outputs);
    std::vector<double> tolerances(outputs);
    kref_expected at = {expected.data(), tolerances.data()};
    kref_expert_gemm(&experts, to_doubles(rows.read()).data(), to_doubles(weights.read()).data(),
                     &at);

    kref_expert_shape shape = sorted.work_shape();
    shape.top_k = its.top_k;
    shape.n = its.n;
    shape.k = its.k;
    shape.output_bytes = 4;
    in_every_order([&] {
        device_array<float> product(outputs);
        expert_gemm_args args = {};
        args.rows = rows.data();
        args.weights = weights.data();
        args.groups = sorted.groups();
        args.exact_product = product.data();
        args.top_k = its.top_k;
        args.n = its.n;
        args.k = its.k;
        begin_counting();
        assert_ran(expert_gemm(args, nullptr));
        assert_counted(kref_expert_gemm_work(&shape));
        assert_close(to_doubles(product.read()), expected, tolerances);
    });
}

void products_agree_with_oracle(void **) {
    multiplies(draw_choice(5, 12), {2, 24, 40});
    multiplies(draw_choice(9, 60), {4, 136, 72});
    multiplies(draw_choice(6, 50), {0, 40, 88});
    multiplies({3, {}}, {2, 8, 8});
}

/* Several tiles of 128 rows, the last of them ragged, and an expert without rows between. */
void experts_with_many_rows(void **) {
    std::vector<int32_t> chosen(160, 0);
    chosen.insert(chosen.end(), 40, 2);
    multiplies({3, chosen}, {1, 16, 24});
}

void products_are_rounded_once(void **) {
    order_case sorted(draw_choice(4, 20));
    sorted.run();
    device_array<bf16> rows(draw_bf16(20 * 32, 1));
    device_array<bf16> weights(draw_bf16(4 * 16 * 32, 2));
    device_array<float> exact(20 * 16);
    device_array<bf16> rounded(20 * 16);
    expert_gemm_args args = {};
    args.rows = rows.data();
    args.weights = weights.data();
    args.groups = sorted.groups();
    args.exact_product = exact.data();
    args.n = 16;
    args.k = 32;
    assert_ran(expert_gemm(args, nullptr));
    args.exact_product = nullptr;
    args.product = rounded.data();
    assert_ran(expert_gemm(args, nullptr));
    std::vector<double> exact_values = to_doubles(exact.read());
    std::vector<double> rounded_values = to_doubles(rounded.read());
    for (size_t i = 0; i < exact_values.size(); i++) {
        assert_true(rounded_values[i] == kref_round_bf16(exact_values[i]));
    }
}

void expert_gemm_refuses_bad_shapes(void **) {
    float product = 0.0F;
    expert_gemm_args good = {};
    good.exact_product = &product;
    good.groups.experts = 2;
    good.n = 8;
    good.k = 8;
    assert_null(expert_gemm_refusal(good));
    expert_gemm_args bad = good;
    bad.groups.experts = 0;
    assert_non_null(strstr(expert_gemm(bad, nullptr), "there must be an expert"));
    bad = good;
    bad.n = 4;
    assert_non_null(strstr(expert_gemm(bad, nullptr), "n must be a multiple of 8"));
    bad = good;
    bad.k = 12;
    assert_non_null(strstr(expert_gemm(bad, nullptr), "k must be a positive multiple of 8"));
    bad = good;
    bad.top_k = -1;
    assert_non_null(strstr(expert_gemm(bad, nullptr), "top_k"));
    bad = good;
    bad.exact_product = nullptr;
    assert_non_null(strstr(expert_gemm(bad, nullptr), "one of the products"));
}

/* ---- Sums ---- */

void sums_up(int tokens, int top_k, int width) {
    size_t pairs = area(tokens, top_k);
    order_case sorted(draw_choice(6, static_cast<int>(pairs)));
    sorted.run();
    device_array<bf16> rows(draw_bf16(pairs * static_cast<size_t>(width), 1));
    device_array<float> weights(draw_floats(pairs, 2, 1.0F));
    std::vector<double> all_rows = to_doubles(rows.read());
    std::vector<double> all_weights = to_doubles(weights.read());
    std::vector<int32_t> places = sorted.places().read();
    std::vector<double> expected(area(tokens, width));
    std::vector<double> tolerances(area(tokens, width));
    for (int token = 0; token < tokens; token++) {
        size_t at = area(token, width);
        size_t pair = area(token, top_k);
        kref_expected its = {&expected[at], &tolerances[at]};
        kref_expert_sum(all_rows.data(), &places[pair], &all_weights[pair], top_k, width, &its);
    }
    in_every_order([&] {
        device_array<float> exact(expected.size());
        device_array<bf16> rounded(expected.size());
        expert_sum_args args = {};
        args.rows = rows.data();
        args.places = sorted.places().data();
        args.weights = weights.data();
        args.exact_sums = exact.data();
        args.tokens = tokens;
        args.top_k = top_k;
        args.width = width;
        begin_counting();
        assert_ran(expert_sum(args, nullptr));
        assert_counted(kref_expert_sum_work(tokens, top_k, width, 4));
        std::vector<double> sums = to_doubles(exact.read());
        assert_close(sums, expected, tolerances);
        args.exact_sums = nullptr;
        args.sums = rounded.data();
        assert_ran(expert_sum(args, nullptr));
        std::vector<double> rounded_sums = to_doubles(rounded.read());
        for (size_t i = 0; i < sums.size(); i++) {
            assert_true(rounded_sums[i] == kref_round_bf16(sums[i]));
        }
    });
}

void sums_agree_with_oracle(void **) {
    sums_up(1, 1, 8);
    sums_up(7, 3, 488);
    sums_up(0, 2, 8);
}

void expert_sum_refuses_bad_shapes(void **) {
    float sums = 0.0F;
    expert_sum_args args = {};
    args.exact_sums = &sums;
    args.tokens = 1;
    args.top_k = 0;
    args.width = 8;
    assert_non_null(strstr(expert_sum(args, nullptr), "top_k must be positive"));
    args.top_k = 1;
    args.width = 12;
    assert_non_null(strstr(expert_sum(args, nullptr), "multiple of 8"));
    args.width = 8;
    args.tokens = -1;
    assert_non_null(strstr(expert_sum(args, nullptr), "negative"));
    args.tokens = 1;
    args.exact_sums = nullptr;
    assert_non_null(strstr(expert_sum(args, nullptr), "one of the sums"));
}

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(router_agrees_with_oracle),
        cmocka_unit_test(equal_scores_go_to_the_first),
        cmocka_unit_test(router_refuses_bad_shapes),
        cmocka_unit_test(order_agrees_with_oracle),
        cmocka_unit_test(order_without_pairs_is_empty),
        cmocka_unit_test(all_pairs_of_one_expert),
        cmocka_unit_test(as_many_experts_as_possible),
        cmocka_unit_test(order_refuses_bad_shapes),
        cmocka_unit_test(products_agree_with_oracle),
        cmocka_unit_test(experts_with_many_rows),
        cmocka_unit_test(products_are_rounded_once),
        cmocka_unit_test(expert_gemm_refuses_bad_shapes),
        cmocka_unit_test(sums_agree_with_oracle),
        cmocka_unit_test(expert_sum_refuses_bad_shapes),
    };
    return cmocka_run_group_tests_name("experts", tests, nullptr, nullptr);
}
