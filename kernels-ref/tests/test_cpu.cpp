/*
 * The CPU backend of the bench against the oracles, over the odd shapes of the kernels' own tests:
 * rows, products and attention in bf16.
 */
#include "bench/cpu/attention.h"
#include "bench/cpu/elementwise.h"
#include "bench/cpu/gemm.h"
#include "oracle/attention.h"
#include "oracle/elementwise.h"
#include "oracle/gemm.h"
#include "tests/cpu.h"

namespace {

using namespace kref;
using namespace kref::tests;

/* ---- Elementwise ---- */

void norms_rows(int rows, int width, bool has_update) {
    auto count = static_cast<size_t>(rows) * static_cast<size_t>(width);
    std::vector<bf16> stream = draw_bf16(count, 1, 3.0F);
    std::vector<bf16> update = draw_bf16(count, 2);
    std::vector<bf16> weight = draw_bf16(static_cast<size_t>(width), 3);
    std::vector<bf16> normed(count);
    constexpr double epsilon = 0x1p-17;
    std::vector<double> kept = to_doubles(stream);
    std::vector<double> added = to_doubles(update);
    std::vector<double> weights = to_doubles(weight);
    std::vector<double> expected(count);
    std::vector<double> tolerances(count);
    for (size_t at = 0; at < count; at += static_cast<size_t>(width)) {
        kref_rms_norm_row(&kept[at], has_update ? &added[at] : nullptr, weights.data(), width,
                          epsilon, &expected[at], &tolerances[at]);
    }
    kref_cpu_norm norm = {};
    norm.stream = bits(stream);
    norm.update = has_update ? bits(update) : nullptr;
    norm.weight = bits(weight);
    norm.normed = bits(normed);
    norm.rows = rows;
    norm.width = width;
    norm.epsilon = static_cast<float>(epsilon);
    kref_cpu_rms_norm(&norm);
    assert_close(to_doubles(normed), expected, tolerances);
    assert_true(to_doubles(stream) == kept);
}

void rms_norm_agrees(void **) {
    norms_rows(1, 8, true);
    norms_rows(3, 264, true);
    norms_rows(2, 4096, true);
    norms_rows(5, 128, false);
}

void rope_agrees(void **) {
    constexpr int tokens = 5;
    constexpr int query_heads = 3;
    constexpr int head_dim = 48;
    constexpr int positions = 40;
    constexpr double base = 10000.0;
    const std::vector<int32_t> at = {0, 7, 39, 1, 12};
    const std::vector<int32_t> slots = {4, -1, 0, 2, 6}; /* slots 1, 3 and 5 stay as they are */
    std::vector<float> turns;
    for (int position = 0; position < positions; position++) {
        for (int i = 0; i < head_dim; i++) {
            double angle = position * std::pow(base, -2.0 * (i % (head_dim / 2)) / head_dim);
            turns.push_back(
                static_cast<float>(i < head_dim / 2 ? std::cos(angle) : std::sin(angle)));
        }
    }
    std::vector<bf16> queries = draw_bf16(size_t{tokens} * query_heads * head_dim, 1);
    std::vector<bf16> keys = draw_bf16(size_t{tokens} * head_dim, 2);
    std::vector<bf16> values = draw_bf16(size_t{tokens} * head_dim, 3);
    std::vector<bf16> key_cache = draw_bf16(size_t{7} * head_dim, 4);
    std::vector<bf16> value_cache = draw_bf16(size_t{7} * head_dim, 5);

    std::vector<double> query_inputs = to_doubles(queries);
    std::vector<double> key_inputs = to_doubles(keys);
    std::vector<double> turned(queries.size());
    std::vector<double> tolerances(queries.size());
    std::vector<double> cached = to_doubles(key_cache);
    std::vector<double> cached_values = to_doubles(value_cache);
    std::vector<double> cache_tolerances(cached.size());
    for (size_t token = 0; token < tokens; token++) {
        for (size_t head = 0; head < query_heads; head++) {
            size_t first = (token * query_heads + head) * head_dim;
            kref_rope_head(&query_inputs[first], head_dim, at[token], base, &turned[first],
                           &tolerances[first]);
        }
        if (slots[token] >= 0) {
            size_t slot = static_cast<size_t>(slots[token]) * head_dim;
            kref_rope_head(&key_inputs[token * head_dim], head_dim, at[token], base, &cached[slot],
                           &cache_tolerances[slot]);
            for (size_t i = 0; i < head_dim; i++) {
                cached_values[slot + i] = static_cast<double>(
                    to_float(values[token * head_dim + i]));
            }
        }
    }
    kref_cpu_turn turn = {};
    turn.queries = bits(queries);
    turn.keys = bits(keys);
    turn.values = bits(values);
    turn.key_cache = bits(key_cache);
    turn.value_cache = bits(value_cache);
    turn.positions = at.data();
    turn.slots = slots.data();
    turn.turns = turns.data();
    turn.tokens = tokens;
    turn.query_heads = query_heads;
    turn.kv_heads = 1;
    turn.head_dim = head_dim;
    kref_cpu_rope(&turn);
    assert_close(to_doubles(queries), turned, tolerances);
    assert_close(to_doubles(key_cache), cached, cache_tolerances);
    assert_true(to_doubles(value_cache) == cached_values);
}

void activates(int rows, int width, kref_activation kind, bool is_gated) {
    size_t count = static_cast<size_t>(rows) * static_cast<size_t>(width);
    std::vector<bf16> input = draw_bf16(is_gated ? 2 * count : count, 1, 6.0F);
    std::vector<bf16> output(count);
    std::vector<double> inputs = to_doubles(input);
    std::vector<double> expected(count);
    std::vector<double> tolerances(count);
    auto its_width = static_cast<size_t>(width);
    for (size_t i = 0; i < count; i++) {
        size_t row = i / its_width;
        size_t at = is_gated ? 2 * row * its_width + i % its_width : i;
        double up = is_gated ? inputs[at + its_width] : 1.0;
        expected[i] = kref_activate(kind, inputs[at], up, &tolerances[i]);
    }
    kref_cpu_activation(bits(input), bits(output), rows, width, kind == KREF_GELU_TANH, is_gated);
    assert_close(to_doubles(output), expected, tolerances);
}

void activation_agrees(void **) {
    activates(3, 40, KREF_SILU, true);
    activates(2, 2056, KREF_GELU_TANH, true);
    activates(1, 8, KREF_SILU, false);
    activates(5, 264, KREF_GELU_TANH, false);
}

/* ---- Products ---- */

template <typename Element>
void multiplies(const std::vector<Element> &left, const std::vector<Element> &right, int m, int n,
                int k) {
    auto count = static_cast<size_t>(m) * static_cast<size_t>(n);
    std::vector<bf16> product(count);
    std::vector<double> lefts = to_doubles(left);
    std::vector<double> rights = to_doubles(right);
    std::vector<double> expected(count);
    std::vector<double> tolerances(count);
    kref_gemm form = {m, n, k, 0.5, KREF_F32_UNIT};
    kref_expected both = {expected.data(), tolerances.data()};
    kref_gemm_product(&form, lefts.data(), rights.data(), &both);
    round_tolerances(expected, &tolerances);
    kref_cpu_product its = {};
    its.left = left.data();
    its.right = right.data();
    its.product = bits(product);
    its.element_bytes = sizeof(Element);
    its.m = m;
    its.n = n;
    its.k = k;
    its.scale = 0.5F;
    assert_true(kref_cpu_gemm(&its));
    assert_close(to_doubles(product), expected, tolerances);
}

void gemm_agrees(void **) {
    struct shape {
        int m;
        int n;
        int k;
    };
    for (const shape &its : {shape{1, 8, 8}, shape{5, 40, 264}, shape{33, 72, 1000}}) {
        auto left = static_cast<size_t>(its.m) * static_cast<size_t>(its.k);
        auto right = static_cast<size_t>(its.n) * static_cast<size_t>(its.k);
        multiplies(draw_bf16(left, 1), draw_bf16(right, 2), its.m, its.n, its.k);
        multiplies(draw_e4m3(left, 3, 4.0F), draw_e4m3(right, 4, 4.0F), its.m, its.n, its.k);
    }
}

/* ---- Attention ---- */

struct heads_shape {
    int query_heads;
    int kv_heads;
    int head_dim;
    int window_tokens;
};

kref_heads oracle_heads(const heads_shape &its) {
    return {its.query_heads, its.kv_heads, its.head_dim, its.window_tokens,
            1.0 / std::sqrt(its.head_dim)};
}

kref_cpu_heads cpu_heads(const heads_shape &its) {
    return {its.query_heads, its.kv_heads, its.window_tokens,
            1.0F / std::sqrt(static_cast<float>(its.head_dim))};
}

void prefills(const heads_shape &its, const std::vector<int32_t> &query_starts,
              const std::vector<int32_t> &key_starts) {
    int sequences = static_cast<int>(query_starts.size()) - 1;
    auto query_count = static_cast<size_t>(query_starts.back() * its.query_heads * its.head_dim);
    auto key_count = static_cast<size_t>(key_starts.back() * its.kv_heads * its.head_dim);
    std::vector<bf16> queries = draw_bf16(query_count, 1, 2.0F);
    std::vector<bf16> keys = draw_bf16(key_count, 2, 2.0F);
    std::vector<bf16> values = draw_bf16(key_count, 3);
    std::vector<bf16> outputs(query_count);
    std::vector<double> expected(query_count);
    std::vector<double> tolerances(query_count);
    kref_heads heads = oracle_heads(its);
    kref_expected both = {expected.data(), tolerances.data()};
    kref_prefill_attention(&heads, sequences, query_starts.data(), key_starts.data(),
                           to_doubles(queries).data(), to_doubles(keys).data(),
                           to_doubles(values).data(), &both);
    round_tolerances(expected, &tolerances);
    kref_cpu_prefill prefill = {};
    prefill.heads = cpu_heads(its);
    kref_cpu_plain rows = {bits(keys), bits(values), its.kv_heads, its.head_dim};
    prefill.rows = kref_cpu_plain_rows(&rows);
    prefill.queries = bits(queries);
    prefill.query_starts = query_starts.data();
    prefill.key_starts = key_starts.data();
    prefill.outputs = bits(outputs);
    prefill.sequences = sequences;
    for (int s = 0; s < sequences; s++) {
        int chunk = query_starts[static_cast<size_t>(s) + 1] - query_starts[static_cast<size_t>(s)];
        prefill.queries_max = chunk > prefill.queries_max ? chunk : prefill.queries_max;
    }
    kref_cpu_prefill_attention(&prefill);
    assert_close(to_doubles(outputs), expected, tolerances);
}

void prefill_agrees(void **) {
    prefills({1, 1, 64, 0}, {0, 1}, {0, 1});
    prefills({4, 2, 64, 0}, {0, 17, 17, 20}, {0, 45, 45, 145});
    prefills({16, 1, 128, 0}, {0, 33}, {0, 67});
    prefills({2, 2, 64, 9}, {0, 50, 51}, {0, 50, 90});
    prefills({3, 3, 128, 1}, {0, 20}, {0, 37});
}

void decodes(const heads_shape &its, int block_tokens, const std::vector<int32_t> &lengths) {
    constexpr int blocks_max = 40;
    auto sequences = lengths.size();
    size_t blocks = sequences * blocks_max;
    std::vector<int32_t> table;
    for (size_t i = 0; i < blocks; i++) {
        table.push_back(static_cast<int32_t>(i * 7 % blocks)); /* 7 shares no factor with 40 n */
    }
    size_t row = static_cast<size_t>(its.kv_heads) * static_cast<size_t>(its.head_dim);
    size_t count = sequences * static_cast<size_t>(its.query_heads * its.head_dim);
    std::vector<bf16> queries = draw_bf16(count, 1, 2.0F);
    std::vector<bf16> keys = draw_bf16(blocks * static_cast<size_t>(block_tokens) * row, 2, 2.0F);
    std::vector<bf16> values = draw_bf16(keys.size(), 3);
    std::vector<bf16> outputs(count);
    std::vector<double> expected(count);
    std::vector<double> tolerances(count);
    kref_heads heads = oracle_heads(its);
    kref_paging paging = {table.data(), lengths.data(), blocks_max, block_tokens};
    kref_expected both = {expected.data(), tolerances.data()};
    kref_decode_attention(&heads, static_cast<int>(sequences), &paging, to_doubles(queries).data(),
                          to_doubles(keys).data(), to_doubles(values).data(), &both);
    round_tolerances(expected, &tolerances);
    kref_cpu_decode decode = {};
    decode.heads = cpu_heads(its);
    kref_cpu_plain rows = {bits(keys), bits(values), its.kv_heads, its.head_dim};
    decode.rows = kref_cpu_plain_rows(&rows);
    decode.queries = bits(queries);
    decode.block_table = table.data();
    decode.lengths = lengths.data();
    decode.outputs = bits(outputs);
    decode.sequences = static_cast<int>(sequences);
    decode.block_tokens = block_tokens;
    decode.blocks_max = blocks_max;
    kref_cpu_decode_attention(&decode);
    assert_close(to_doubles(outputs), expected, tolerances);
}

void decode_agrees(void **) {
    decodes({8, 2, 64, 0}, 7, {1, 0, 33});
    decodes({16, 1, 128, 0}, 16, {129});
    decodes({20, 1, 64, 0}, 1, {37, 3}); /* more heads than a tile has rows */
    decodes({5, 5, 128, 30}, 16, {31, 200, 5});
}

} // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rms_norm_agrees),   cmocka_unit_test(rope_agrees),
        cmocka_unit_test(activation_agrees), cmocka_unit_test(gemm_agrees),
        cmocka_unit_test(prefill_agrees),    cmocka_unit_test(decode_agrees),
    };
    return cmocka_run_group_tests_name("cpu", tests, nullptr, nullptr);
}
