/*
 * A whole mixture of experts, kernel after kernel: gemm for the scores, router, expert_order,
 * expert_gemm, activation, expert_gemm, expert_sum. Laws that hold for the whole, so that what the
 * kernels hand to each other is right; each alone is held against its oracle in test_experts.cpp.
 */
#include "cuda/activation.h"
#include "cuda/expert_gemm.h"
#include "cuda/expert_sum.h"
#include "cuda/gemm.h"
#include "cuda/router.h"
#include "oracle/rounding.h"
#include "tests/checking.h"

namespace {

using namespace kref;
using namespace kref::tests;

constexpr int TOKENS = 21;
constexpr int EXPERTS = 8;
constexpr int TOP_K = 3;
constexpr int PAIRS = TOKENS * TOP_K;
constexpr int HIDDEN = 40;
constexpr int WIDTH = 24;
constexpr size_t ROUTER = HIDDEN; /* elements of an expert in each of the matrices */
constexpr size_t UP = size_t{2} * WIDTH * HIDDEN;
constexpr size_t DOWN = size_t{HIDDEN} * WIDTH;

struct weights {
    std::vector<bf16> router; /* [EXPERTS][HIDDEN] */
    std::vector<bf16> up;     /* [EXPERTS][2 WIDTH][HIDDEN]: gate, then up */
    std::vector<bf16> down;   /* [EXPERTS][HIDDEN][WIDTH] */
};

weights draw_weights() {
    return weights{draw_bf16(EXPERTS * ROUTER, 1), draw_bf16(EXPERTS * UP, 2),
                   draw_bf16(EXPERTS * DOWN, 3)};
}

std::vector<bf16> draw_tokens() {
    return draw_bf16(size_t{TOKENS} * HIDDEN, 4);
}

void multiply(const device_array<bf16> &left, const device_array<bf16> &right, int m, int n, int k,
              global<bf16> rounded, global<float> exact) {
    gemm_args<bf16> args = {};
    args.left = left.data();
    args.right = right.data();
    args.product = rounded;
    args.exact_product = exact;
    args.m = m;
    args.n = n;
    args.k = k;
    args.scale = 1.0F;
    assert_ran(gemm(args, nullptr));
}

void activate(const device_array<bf16> &inner, const device_array<bf16> &activated, int rows) {
    activation_args args = {};
    args.input = inner.data();
    args.output = activated.data();
    args.rows = rows;
    args.width = WIDTH;
    args.kind = activation_kind::silu;
    args.is_gated = true;
    assert_ran(activation(args, nullptr));
}

/* One feed-forward for all tokens, by the first expert's matrices. */
std::vector<double> run_dense(const weights &its, const std::vector<bf16> &tokens) {
    device_array<bf16> input(tokens);
    device_array<bf16> up(std::vector<bf16>(its.up.begin(), its.up.begin() + UP));
    device_array<bf16> down(std::vector<bf16>(its.down.begin(), its.down.begin() + DOWN));
    device_array<bf16> inner(size_t{TOKENS} * 2 * WIDTH);
    device_array<bf16> activated(size_t{TOKENS} * WIDTH);
    device_array<bf16> output(size_t{TOKENS} * HIDDEN);
    multiply(input, up, TOKENS, 2 * WIDTH, HIDDEN, inner.data(), nullptr);
    activate(inner, activated, TOKENS);
    multiply(activated, down, TOKENS, HIDDEN, WIDTH, output.data(), nullptr);
    return to_doubles(output.read());
}

/* What the layer keeps between its kernels. */
struct layer_memory {
    device_array<bf16> tokens;
    device_array<bf16> router;
    device_array<bf16> up;
    device_array<bf16> down;
    device_array<float> scores{size_t{TOKENS} * EXPERTS};
    device_array<int32_t> chosen{size_t{PAIRS}};
    device_array<float> shares{size_t{PAIRS}};
    device_array<int32_t> starts{size_t{EXPERTS} + 1};
    device_array<int32_t> order{size_t{PAIRS}};
    device_array<int32_t> places{size_t{PAIRS}};
    device_array<int32_t> tiles{size_t{PAIRS} * 2};
    device_array<int32_t> tile_count{size_t{1}};
    device_array<int32_t> workspace{size_t{EXPERTS}};
    device_array<bf16> inner{size_t{PAIRS} * 2 * WIDTH};
    device_array<bf16> activated{size_t{PAIRS} * WIDTH};
    device_array<bf16> outer{size_t{PAIRS} * HIDDEN};
    device_array<float> sums{size_t{TOKENS} * HIDDEN};

    layer_memory(const weights &its, const std::vector<bf16> &all_tokens)
        : tokens(all_tokens), router(its.router), up(its.up), down(its.down) {
    }

    expert_groups groups() const {
        expert_groups groups = {};
        groups.starts = starts.data();
        groups.order = order.data();
        groups.places = places.data();
        groups.tiles = tiles.data();
        groups.tile_count = tile_count.data();
        groups.pairs = PAIRS;
        groups.experts = EXPERTS;
        return groups;
    }
};

void choose_experts(const layer_memory &memory) {
    multiply(memory.tokens, memory.router, TOKENS, EXPERTS, HIDDEN, nullptr, memory.scores.data());
    router_args routing = {};
    routing.scores = memory.scores.data();
    routing.chosen = memory.chosen.data();
    routing.weights = memory.shares.data();
    routing.tokens = TOKENS;
    routing.experts = EXPERTS;
    routing.top_k = TOP_K;
    routing.is_normalised = true;
    assert_ran(router(routing, nullptr));
    expert_order_args sorting = {};
    sorting.chosen = memory.chosen.data();
    sorting.workspace = memory.workspace.data();
    sorting.groups = memory.groups();
    assert_ran(expert_order(sorting, nullptr));
}

void ask_experts(const layer_memory &memory) {
    expert_gemm_args product = {};
    product.rows = memory.tokens.data();
    product.weights = memory.up.data();
    product.groups = memory.groups();
    product.product = memory.inner.data();
    product.top_k = TOP_K;
    product.n = 2 * WIDTH;
    product.k = HIDDEN;
    assert_ran(expert_gemm(product, nullptr));
    activate(memory.inner, memory.activated, PAIRS);
    product.rows = memory.activated.data();
    product.weights = memory.down.data();
    product.product = memory.outer.data();
    product.top_k = 0;
    product.n = HIDDEN;
    product.k = WIDTH;
    assert_ran(expert_gemm(product, nullptr));
}

std::vector<double> run_layer(const weights &its, const std::vector<bf16> &tokens) {
    layer_memory memory(its, tokens);
    choose_experts(memory);
    ask_experts(memory);
    expert_sum_args summing = {};
    summing.rows = memory.outer.data();
    summing.places = memory.places.data();
    summing.weights = memory.shares.data();
    summing.exact_sums = memory.sums.data();
    summing.tokens = TOKENS;
    summing.top_k = TOP_K;
    summing.width = HIDDEN;
    assert_ran(expert_sum(summing, nullptr));
    return to_doubles(memory.sums.read());
}

/* All experts are the first one, and the weights sum to 1: then the mixture is one feed-forward, up
 * to the roundings of TOP_K weights, of their sum and of the sum over experts. */
void equal_experts_are_one_feed_forward(void **) {
    weights its = draw_weights();
    for (size_t i = 0; i < its.up.size(); i++) {
        its.up[i] = its.up[i % UP];
    }
    for (size_t i = 0; i < its.down.size(); i++) {
        its.down[i] = its.down[i % DOWN];
    }
    std::vector<bf16> tokens = draw_tokens();
    std::vector<double> expected = run_dense(its, tokens);
    std::vector<double> tolerances;
    for (double value : expected) {
        tolerances.push_back(std::fabs(value) * (3 * TOP_K + 2) * KREF_F32_UNIT);
    }
    in_every_order([&] { assert_close(run_layer(its, tokens), expected, tolerances); });
}

/* Who the experts are does not depend on their numbers. Scores are different, so a token has its
 * experts in the same order, and gets the same bits. */
void numbers_of_experts_do_not_matter(void **) {
    const size_t numbers[EXPERTS] = {3, 0, 5, 7, 1, 4, 6, 2};
    weights its = draw_weights();
    weights renumbered = its;
    for (size_t i = 0; i < EXPERTS; i++) {
        size_t to = numbers[i];
        for (size_t j = 0; j < ROUTER; j++) {
            renumbered.router[to * ROUTER + j] = its.router[i * ROUTER + j];
        }
        for (size_t j = 0; j < UP; j++) {
            renumbered.up[to * UP + j] = its.up[i * UP + j];
        }
        for (size_t j = 0; j < DOWN; j++) {
            renumbered.down[to * DOWN + j] = its.down[i * DOWN + j];
        }
    }
    std::vector<bf16> tokens = draw_tokens();
    std::vector<double> expected = run_layer(its, tokens);
    assert_true(run_layer(renumbered, tokens) == expected);
}

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_experts_are_one_feed_forward),
        cmocka_unit_test(numbers_of_experts_do_not_matter),
    };
    return cmocka_run_group_tests_name("expert_layer", tests, nullptr, nullptr);
}
