/*
 * The CPU backend of the bench against the oracles: a mixture of experts, the index of sparse
 * attention, the gated delta rule.
 */
#include "bench/cpu/delta.h"
#include "bench/cpu/experts.h"
#include "bench/cpu/index.h"
#include "oracle/delta.h"
#include "oracle/experts.h"
#include "oracle/index.h"
#include "tests/cpu.h"
#include "tests/paging.h"

#include <algorithm>

namespace {

using namespace kref;
using namespace kref::tests;

size_t size(int value) {
    return static_cast<size_t>(value);
}

/* Between low and high. */
std::vector<float> draw_between(size_t count, uint64_t seed, float low, float high) {
    dice its(seed);
    std::vector<float> values(count);
    for (float &value : values) {
        value = low + (high - low) * 0.5F * (its.signed_unit() + 1.0F);
    }
    return values;
}

/* ---- Experts ---- */

void routes(int tokens, int experts, int top_k, bool is_normalised) {
    std::vector<float> scores = draw_between(size(tokens * experts), 1, -4.0F, 4.0F);
    scores[size(experts) - 1] = scores[0]; /* of equals the first */
    size_t pairs = size(tokens * top_k);
    std::vector<int32_t> chosen(pairs);
    std::vector<float> weights(pairs);
    std::vector<int32_t> expected(pairs);
    std::vector<double> shares(pairs);
    std::vector<double> tolerances(pairs);
    std::vector<double> inputs = to_doubles(scores);
    for (int token = 0; token < tokens; token++) {
        size_t at = size(token * top_k);
        kref_expected both = {&shares[at], &tolerances[at]};
        kref_route(&inputs[size(token * experts)], experts, top_k, is_normalised, &expected[at],
                   &both);
    }
    kref_cpu_route(scores.data(), chosen.data(), weights.data(), tokens, experts, top_k,
                   is_normalised);
    assert_true(chosen == expected);
    assert_close(to_doubles(weights), shares, tolerances);
}

void tokens_are_routed(void **) {
    routes(3, 7, 1, false);
    routes(5, 130, 8, true);
    routes(2, 16, 16, false); /* all of them */
}

std::vector<int32_t> draw_chosen(int pairs, int experts, uint64_t seed) {
    dice its(seed);
    std::vector<int32_t> chosen;
    for (int i = 0; i < pairs; i++) { /* the last expert gets none */
        chosen.push_back(static_cast<int32_t>(its.next() % size(experts - 1)));
    }
    return chosen;
}

struct expert_order {
    std::vector<int32_t> starts;
    std::vector<int32_t> order;
    std::vector<int32_t> places;

    expert_order(int pairs, int experts)
        : starts(size(experts) + 1), order(size(pairs)), places(size(pairs)) {
    }
};

void pairs_are_sorted(void **) {
    for (int pairs : {1, 5, 300}) {
        constexpr int experts = 6;
        std::vector<int32_t> chosen = draw_chosen(pairs, experts, 3);
        expert_order expected(pairs, experts);
        expert_order actual(pairs, experts);
        kref_expert_order(chosen.data(), pairs, experts, expected.starts.data(),
                          expected.order.data(), expected.places.data());
        kref_cpu_expert_order(chosen.data(), pairs, experts, actual.starts.data(),
                              actual.order.data(), actual.places.data());
        assert_true(actual.starts == expected.starts);
        assert_true(actual.order == expected.order);
        assert_true(actual.places == expected.places);
    }
}

/* top_k = 0: the rows lie sorted. */
void multiplies_experts(int pairs, int top_k, int n, int k) {
    constexpr int experts = 5;
    std::vector<int32_t> chosen = draw_chosen(pairs, experts, 3);
    expert_order sorted(pairs, experts);
    kref_expert_order(chosen.data(), pairs, experts, sorted.starts.data(), sorted.order.data(),
                      sorted.places.data());
    std::vector<bf16> rows = draw_bf16(size((top_k > 0 ? pairs / top_k : pairs) * k), 1);
    std::vector<bf16> weights = draw_bf16(size(experts * n * k), 2);
    std::vector<bf16> product(size(pairs * n));
    std::vector<double> expected(product.size());
    std::vector<double> tolerances(product.size());
    kref_experts oracle = {sorted.starts.data(), sorted.order.data(), experts, top_k, n, k};
    kref_expected both = {expected.data(), tolerances.data()};
    kref_expert_gemm(&oracle, to_doubles(rows).data(), to_doubles(weights).data(), &both);
    round_tolerances(expected, &tolerances);
    kref_cpu_expert_product its = {};
    its.rows = bits(rows);
    its.weights = bits(weights);
    its.starts = sorted.starts.data();
    its.order = sorted.order.data();
    its.product = bits(product);
    its.pairs = pairs;
    its.experts = experts;
    its.top_k = top_k;
    its.n = n;
    its.k = k;
    assert_true(kref_cpu_expert_gemm(&its));
    assert_close(to_doubles(product), expected, tolerances);
}

void experts_multiply(void **) {
    multiplies_experts(1, 1, 8, 8);
    multiplies_experts(42, 3, 40, 264);
    multiplies_experts(42, 0, 72, 24);
}

void sums_experts(int tokens, int top_k, int width) {
    int pairs = tokens * top_k;
    std::vector<bf16> rows = draw_bf16(size(pairs * width), 1);
    std::vector<float> weights = draw_between(size(pairs), 2, 0.0F, 1.0F);
    std::vector<int32_t> places;
    for (int i = 0; i < pairs; i++) {
        places.push_back(pairs - 1 - i);
    }
    std::vector<bf16> sums(size(tokens * width));
    std::vector<double> expected(sums.size());
    std::vector<double> tolerances(sums.size());
    std::vector<double> inputs = to_doubles(rows);
    std::vector<double> factors = to_doubles(weights);
    for (int token = 0; token < tokens; token++) {
        kref_expected both = {&expected[size(token * width)], &tolerances[size(token * width)]};
        kref_expert_sum(inputs.data(), &places[size(token * top_k)], &factors[size(token * top_k)],
                        top_k, width, &both);
    }
    round_tolerances(expected, &tolerances);
    kref_cpu_expert_sum(bits(rows), places.data(), weights.data(), bits(sums), tokens, top_k,
                        width);
    assert_close(to_doubles(sums), expected, tolerances);
}

void experts_are_summed(void **) {
    sums_experts(1, 1, 8);
    sums_experts(3, 4, 136);
}

/* ---- Index ---- */

void scores_keys(int heads, int block_tokens, const std::vector<int32_t> &lengths, bool has_codes) {
    constexpr int width = KREF_CPU_INDEX_WIDTH;
    paged_batch pages = draw_pages(lengths, block_tokens);
    int tokens_max = *std::max_element(lengths.begin(), lengths.end());
    std::vector<bf16> queries = draw_bf16(lengths.size() * size(heads * width), 1);
    std::vector<float> weights = draw_between(lengths.size() * size(heads), 2, -1.0F, 1.0F);
    std::vector<bf16> keys = draw_bf16(pages.slots() * width, 3);
    std::vector<e4m3> codes = draw_e4m3(pages.slots() * width, 4, 448.0F);
    std::vector<float> scales = draw_between(pages.slots(), 5, 0.0F, 0x1p-8F);
    std::vector<float> scores(lengths.size() * size(tokens_max), 7.0F);
    std::vector<double> expected(scores.size(), 7.0); /* what is behind a length stays */
    std::vector<double> tolerances(scores.size(), 0.0);
    std::vector<double> query_inputs = to_doubles(queries);
    std::vector<double> key_inputs = has_codes ? to_doubles(codes) : to_doubles(keys);
    for (size_t i = 0; i < key_inputs.size() && has_codes; i++) {
        key_inputs[i] *= static_cast<double>(scales[i / width]);
    }
    std::vector<double> factors = to_doubles(weights);
    for (size_t s = 0; s < lengths.size(); s++) {
        for (size_t token = 0; token < size(lengths[s]); token++) {
            size_t entry = s * size(pages.blocks_max) + token / size(block_tokens);
            size_t slot = size(pages.table[entry] * block_tokens) + token % size(block_tokens);
            size_t at = s * size(tokens_max) + token;
            expected[at] = kref_index_score(heads, width, &query_inputs[s * size(heads * width)],
                                            &factors[s * size(heads)], &key_inputs[slot * width],
                                            &tolerances[at]);
        }
    }
    kref_cpu_index index = {};
    index.queries = bits(queries);
    index.weights = weights.data();
    index.keys = has_codes ? nullptr : bits(keys);
    index.key_codes = has_codes ? reinterpret_cast<uint8_t *>(codes.data()) : nullptr;
    index.key_scales = has_codes ? scales.data() : nullptr;
    index.block_table = pages.table.data();
    index.lengths = lengths.data();
    index.scores = scores.data();
    index.sequences = static_cast<int>(lengths.size());
    index.heads = heads;
    index.block_tokens = block_tokens;
    index.blocks_max = pages.blocks_max;
    index.tokens_max = tokens_max;
    kref_cpu_index_scores(&index);
    assert_close(to_doubles(scores), expected, tolerances);
}

void keys_are_scored(void **) {
    scores_keys(16, 7, {1, 0, 45}, false);
    scores_keys(64, 64, {33}, false);
    scores_keys(16, 7, {1, 0, 45}, true);
}

/* Few values, so that many are equal, and zeros of both signs. */
void selects(const std::vector<int32_t> &lengths, int width, int top, int values) {
    dice its(4);
    std::vector<float> numbers(lengths.size() * size(width));
    for (float &number : numbers) {
        number = static_cast<float>(static_cast<int>(its.next() % size(values)) - values / 2);
        number = number == 0.0F && its.next() % 2 == 0 ? -0.0F : number;
    }
    std::vector<int32_t> chosen(lengths.size() * size(top), 7);
    std::vector<int32_t> expected(chosen.size());
    std::vector<double> inputs = to_doubles(numbers);
    for (size_t row = 0; row < lengths.size(); row++) {
        kref_select_top(&inputs[row * size(width)], lengths[row], top, &expected[row * size(top)]);
    }
    kref_cpu_select_top(numbers.data(), lengths.data(), chosen.data(),
                        static_cast<int>(lengths.size()), width, top);
    assert_true(chosen == expected);
}

void greatest_are_selected(void **) {
    selects({0, 1, 7, 300, 299}, 300, 20, 9);
    selects({300, 20, 19}, 300, 20, 1000000);
    selects({300}, 300, 1, 3);
    selects({64}, 64, 64, 5);
    selects({30}, 30, 15, 3); /* zeros of both signs at the border */
}

/* ---- Delta rule ---- */

struct delta_shape {
    std::vector<int32_t> starts;
    int key_heads;
    int heads;
    int key_dim;
    int value_dim;
    bool has_channel_decays;
    float decay_max;
};

/* Keys are as long as 1 at most. The states lie in the slots from the last to the first. */
void keeps_state(const delta_shape &its) {
    size_t tokens = size(its.starts.back());
    size_t sequences = its.starts.size() - 1;
    size_t key_row = size(its.key_heads * its.key_dim);
    size_t value_row = size(its.heads * its.value_dim);
    size_t decay_row = size(its.heads * (its.has_channel_decays ? its.key_dim : 1));
    size_t state_size = size(its.heads * its.key_dim * its.value_dim);
    float reach = 1.0F / std::sqrt(static_cast<float>(its.key_dim));
    std::vector<bf16> queries = draw_bf16(tokens * key_row, 1, reach);
    std::vector<bf16> keys = draw_bf16(tokens * key_row, 2, reach);
    std::vector<bf16> values = draw_bf16(tokens * value_row, 3);
    std::vector<float> decays = draw_between(tokens * decay_row, 4, -its.decay_max, 0.0F);
    std::vector<float> strengths = draw_between(tokens * size(its.heads), 5, 0.0F, 1.0F);
    std::vector<float> states = draw_between(sequences * state_size, 6, -0.2F, 0.2F);
    std::vector<bf16> outputs(tokens * value_row);
    std::vector<int32_t> slots;
    for (size_t s = 0; s < sequences; s++) {
        slots.push_back(static_cast<int32_t>(sequences - 1 - s));
    }

    std::vector<double> expected(outputs.size());
    std::vector<double> tolerances(outputs.size());
    std::vector<double> expected_states = to_doubles(states);
    std::vector<double> state_tolerances(states.size());
    std::vector<double> wide[] = {to_doubles(queries), to_doubles(keys), to_doubles(values),
                                  to_doubles(decays), to_doubles(strengths)};
    kref_delta_rule oracle = {its.key_heads,
                              its.heads,
                              its.key_dim,
                              its.value_dim,
                              its.has_channel_decays,
                              0.75,
                              KREF_STEP_UNIT(its.key_dim)};
    for (size_t s = 0; s < sequences; s++) {
        size_t first = size(its.starts[s]);
        size_t state = size(slots[s]) * state_size;
        kref_expected both = {expected.data() + first * value_row,
                              tolerances.data() + first * value_row};
        kref_delta_tokens(&oracle, its.starts[s + 1] - its.starts[s],
                          wide[0].data() + first * key_row, wide[1].data() + first * key_row,
                          wide[2].data() + first * value_row, wide[3].data() + first * decay_row,
                          wide[4].data() + first * size(its.heads), &expected_states[state],
                          &state_tolerances[state], &both);
    }
    round_tolerances(expected, &tolerances);
    kref_cpu_delta rule = {};
    rule.queries = bits(queries);
    rule.keys = bits(keys);
    rule.values = bits(values);
    rule.log_decays = decays.data();
    rule.strengths = strengths.data();
    rule.starts = its.starts.data();
    rule.slots = slots.data();
    rule.states = states.data();
    rule.outputs = bits(outputs);
    rule.sequences = static_cast<int>(sequences);
    rule.key_heads = its.key_heads;
    rule.heads = its.heads;
    rule.key_dim = its.key_dim;
    rule.value_dim = its.value_dim;
    rule.has_channel_decays = its.has_channel_decays;
    rule.scale = 0.75F;
    kref_cpu_delta_rule(&rule);
    assert_close(to_doubles(outputs), expected, tolerances);
    assert_close(to_doubles(states), expected_states, state_tolerances);
}

void states_are_kept(void **) {
    keeps_state({{0, 1, 1, 5}, 1, 2, 64, 64, false, 0.5F});
    keeps_state({{0, 18}, 2, 4, 64, 128, true, 0.5F});
    keeps_state({{0, 20}, 1, 1, 128, 64, true, 200.0F}); /* nothing is left of a state */
}

} // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_routed), cmocka_unit_test(pairs_are_sorted),
        cmocka_unit_test(experts_multiply),  cmocka_unit_test(experts_are_summed),
        cmocka_unit_test(keys_are_scored),   cmocka_unit_test(greatest_are_selected),
        cmocka_unit_test(states_are_kept),
    };
    return cmocka_run_group_tests_name("cpu layers", tests, nullptr, nullptr);
}
