/*
 * The CPU backend of the bench against the oracles: caches of latents and of codes, what is written
 * into them, and copies.
 */
#include "bench/cpu/attention.h"
#include "bench/cpu/codes.h"
#include "bench/cpu/copy.h"
#include "oracle/mla.h"
#include "oracle/quantize.h"
#include "tests/cpu.h"
#include "tests/paging.h"

#include <algorithm>
#include <memory>

namespace {

using namespace kref;
using namespace kref::tests;

size_t size(int value) {
    return static_cast<size_t>(value);
}

/* ---- Latents ---- */

constexpr int latent = 512;
constexpr int rope = 64;
constexpr int nope = 128;
constexpr int value_width = 128;

kref_mla oracle_mla(int heads) {
    return {heads, latent, rope, nope, value_width, 1.0 / std::sqrt(nope + rope)};
}

float mla_scale() {
    return 1.0F / std::sqrt(static_cast<float>(nope + rope));
}

void decodes_latents(int heads, int block_tokens, const std::vector<int32_t> &lengths) {
    paged_batch pages = draw_pages(lengths, block_tokens);
    size_t queries_count = lengths.size() * size(heads);
    std::vector<bf16> queries = draw_bf16(queries_count * (latent + rope), 1);
    std::vector<bf16> cache = draw_bf16(pages.slots() * (latent + rope), 2, 2.0F);
    std::vector<bf16> outputs(queries_count * latent);
    std::vector<double> expected(outputs.size());
    std::vector<double> tolerances(outputs.size());
    kref_mla mla = oracle_mla(heads);
    kref_paging paging = {pages.table.data(), lengths.data(), pages.blocks_max, block_tokens};
    kref_expected both = {expected.data(), tolerances.data()};
    kref_mla_decode(&mla, static_cast<int>(lengths.size()), &paging, to_doubles(queries).data(),
                    to_doubles(cache).data(), &both);
    round_tolerances(expected, &tolerances);
    kref_cpu_latent rows = {bits(cache), latent, rope};
    kref_cpu_decode decode = {};
    decode.heads = {heads, 1, 0, mla_scale()};
    decode.rows = kref_cpu_latent_rows(&rows);
    decode.queries = bits(queries);
    decode.block_table = pages.table.data();
    decode.lengths = lengths.data();
    decode.outputs = bits(outputs);
    decode.sequences = static_cast<int>(lengths.size());
    decode.block_tokens = block_tokens;
    decode.blocks_max = pages.blocks_max;
    kref_cpu_decode_attention(&decode);
    assert_close(to_doubles(outputs), expected, tolerances);
}

void latents_are_decoded(void **) {
    decodes_latents(1, 7, {1, 0, 33});
    decodes_latents(20, 64, {70}); /* more heads than a tile has rows */
}

void prefills_latents(int heads, const std::vector<int32_t> &query_starts,
                      const std::vector<int32_t> &key_starts) {
    int sequences = static_cast<int>(query_starts.size()) - 1;
    size_t query_tokens = size(query_starts.back());
    size_t key_tokens = size(key_starts.back());
    std::vector<bf16> queries = draw_bf16(query_tokens * size(heads) * (nope + rope), 1);
    std::vector<bf16> expanded = draw_bf16(key_tokens * size(heads) * (nope + value_width), 2,
                                           2.0F);
    std::vector<bf16> rows = draw_bf16(key_tokens * (latent + rope), 3, 2.0F);
    std::vector<bf16> outputs(query_tokens * size(heads) * value_width);
    std::vector<double> expected(outputs.size());
    std::vector<double> tolerances(outputs.size());
    kref_mla mla = oracle_mla(heads);
    kref_expected both = {expected.data(), tolerances.data()};
    kref_mla_prefill(&mla, sequences, query_starts.data(), key_starts.data(),
                     to_doubles(queries).data(), to_doubles(expanded).data(),
                     to_doubles(rows).data(), &both);
    round_tolerances(expected, &tolerances);
    kref_cpu_expanded its = {};
    its.shared = {bits(rows), latent, rope};
    its.expanded = bits(expanded);
    its.kv_heads = heads;
    its.nope = nope;
    its.value = value_width;
    kref_cpu_prefill prefill = {};
    prefill.heads = {heads, heads, 0, mla_scale()};
    prefill.rows = kref_cpu_expanded_rows(&its);
    prefill.queries = bits(queries);
    prefill.query_starts = query_starts.data();
    prefill.key_starts = key_starts.data();
    prefill.outputs = bits(outputs);
    prefill.sequences = sequences;
    prefill.queries_max = query_starts.back();
    kref_cpu_prefill_attention(&prefill);
    assert_close(to_doubles(outputs), expected, tolerances);
}

void latents_are_prefilled(void **) {
    prefills_latents(1, {0, 1}, {0, 1});
    prefills_latents(2, {0, 17, 17, 20}, {0, 45, 45, 78});
}

/* ---- Codes ---- */

struct coded_shape {
    kref_cpu_format format;
    int kv_heads;
    int head_dim;

    kref_cpu_layout layout() const {
        return {format, kv_heads, head_dim};
    }
    size_t code_bytes() const { /* of a row */
        return size(format == KREF_CPU_Q4_0 ? head_dim / 2 : head_dim);
    }
    size_t scale_count() const {
        return size(format == KREF_CPU_Q4_0 ? head_dim / KREF_CPU_Q4_GROUP : 1);
    }
};

/* Keys or values of a pool. */
struct coded_array {
    std::vector<uint8_t> codes;
    std::vector<fp16> scales;
    std::vector<float> head_scales;

    coded_array(const coded_shape &its, int slots)
        : codes(size(slots * its.kv_heads) * its.code_bytes(), 0xa5),
          scales(size(slots * its.kv_heads) * its.scale_count(), to_fp16(0x1p-6F)) {
        for (int head = 0; head < its.kv_heads; head++) {
            head_scales.push_back(0x1p-8F * static_cast<float>(head + 3));
        }
    }

    kref_cpu_appended appended(std::vector<bf16> &from) {
        return {bits(from), codes.data(), bits(scales), head_scales.data()};
    }
    kref_cpu_codes read_only() {
        return {codes.data(), bits(scales), head_scales.data()};
    }
};

/* The code of an element of a row, as a number. */
int code_at(const coded_shape &its, const uint8_t *codes, size_t i) {
    if (its.format != KREF_CPU_Q4_0) {
        return static_cast<int8_t>(codes[i]);
    }
    unsigned pair = codes[i / 32 * 16 + i % 16];
    return static_cast<int>(i % 32 < 16 ? pair & 15U : pair >> 4);
}

/* One row of a cache against its oracle: codes where they are not close, and the scale. */
void assert_row(const coded_shape &its, const coded_array &actual, size_t row,
                const std::vector<double> &from) {
    const uint8_t *codes = &actual.codes[row * its.code_bytes()];
    const fp16 *scales = &actual.scales[row * its.scale_count()];
    std::vector<uint8_t> wanted(from.size());
    std::unique_ptr<bool[]> is_close(new bool[from.size()]());
    kref_codes to = {wanted.data(), is_close.get()};
    std::vector<double> scale(its.scale_count(), 0.0);
    if (its.format == KREF_CPU_FP8) {
        double head_scale = static_cast<double>(actual.head_scales[row % size(its.kv_heads)]);
        kref_quantize_fp8(from.data(), its.head_dim, head_scale, &to);
    } else if (its.format == KREF_CPU_INT8) {
        scale[0] = kref_quantize_int8(from.data(), its.head_dim, &to);
    } else {
        for (size_t i = 0; i < its.scale_count(); i++) {
            size_t at = i * KREF_CPU_Q4_GROUP;
            kref_codes part = {&wanted[at], &is_close[at]};
            scale[i] = kref_quantize_q4(&from[at], &part);
        }
    }
    for (size_t i = 0; i < scale.size() && its.format != KREF_CPU_FP8; i++) {
        assert_true(static_cast<double>(to_float(scales[i])) == scale[i]);
    }
    for (size_t i = 0; i < from.size(); i++) {
        int off = std::abs(code_at(its, codes, i) - static_cast<int8_t>(wanted[i]));
        assert_true(off == 0 || (is_close[i] && off == 1));
    }
}

void appends(const coded_shape &its, float amplitude) {
    constexpr int slots = 7;
    const std::vector<int32_t> to = {4, -1, 0, 6};
    size_t row = size(its.kv_heads * its.head_dim);
    std::vector<bf16> keys = draw_bf16(to.size() * row, 1, amplitude);
    std::vector<bf16> values = draw_bf16(to.size() * row, 2, amplitude / 32.0F);
    std::fill_n(keys.begin(), its.head_dim, bf16{}); /* a row of zeros */
    coded_array key_cache(its, slots);
    coded_array value_cache(its, slots);
    coded_array untouched(its, slots);
    kref_cpu_layout layout = its.layout();
    kref_cpu_appended key_target = key_cache.appended(keys);
    kref_cpu_appended value_target = value_cache.appended(values);
    kref_cpu_append(&layout, &key_target, &value_target, to.data(), static_cast<int>(to.size()));
    std::vector<double> key_inputs = to_doubles(keys);
    std::vector<double> value_inputs = to_doubles(values);
    for (int slot = 0; slot < slots; slot++) {
        auto token = std::find(to.begin(), to.end(), slot);
        for (int head = 0; head < its.kv_heads; head++) {
            size_t at = size(slot * its.kv_heads + head);
            if (token == to.end()) {
                size_t first = at * its.code_bytes();
                assert_memory_equal(&key_cache.codes[first], &untouched.codes[first],
                                    its.code_bytes());
                continue;
            }
            size_t from = size(static_cast<int>(token - to.begin()) * its.kv_heads + head) *
                          size(its.head_dim);
            size_t end = from + size(its.head_dim);
            assert_row(its, key_cache, at, {&key_inputs[from], &key_inputs[end]});
            assert_row(its, value_cache, at, {&value_inputs[from], &value_inputs[end]});
        }
    }
}

void rows_become_codes(void **) {
    for (kref_cpu_format format : {KREF_CPU_FP8, KREF_CPU_INT8, KREF_CPU_Q4_0}) {
        appends({format, 1, 32}, 4.0F);
        appends({format, 3, 128}, 4.0F);
    }
}

/* Scales of 1.4 units of an fp16 become 1 unit: of q4_0 the greatest are then worth -11 steps. */
void scales_may_be_subnormal(void **) {
    for (kref_cpu_format format : {KREF_CPU_FP8, KREF_CPU_INT8, KREF_CPU_Q4_0}) {
        appends({format, 3, 128}, 8.0F * 0x1.6p-24F);
        appends({format, 3, 128}, 127.0F * 0x1.6p-24F);
    }
}

/* What the rows of a cache are worth, by the definition of the formats. */
std::vector<double> worth_of(const coded_shape &its, const coded_array &cache) {
    std::vector<double> worth;
    size_t rows = cache.codes.size() / its.code_bytes();
    for (size_t at = 0; at < rows * size(its.head_dim); at++) {
        size_t row = at / size(its.head_dim);
        size_t i = at % size(its.head_dim);
        const uint8_t *codes = &cache.codes[row * its.code_bytes()];
        const fp16 *scales = &cache.scales[row * its.scale_count()];
        double value = 0.0;
        if (its.format == KREF_CPU_FP8) {
            value = kref_e4m3_value(codes[i]) *
                    static_cast<double>(cache.head_scales[row % size(its.kv_heads)]);
        } else if (its.format == KREF_CPU_INT8) {
            value = code_at(its, codes, i) * static_cast<double>(to_float(scales[0]));
        } else {
            value = (code_at(its, codes, i) - 8) * static_cast<double>(to_float(scales[i / 32]));
        }
        worth.push_back(kref_round_bf16(value));
    }
    return worth;
}

/* Behind append, so that codes are such as there are. */
void decodes_codes(const coded_shape &its, int query_heads, int window_tokens,
                   const std::vector<int32_t> &lengths) {
    constexpr int block_tokens = 5;
    paged_batch pages = draw_pages(lengths, block_tokens);
    int slots = static_cast<int>(pages.slots());
    coded_array keys(its, slots);
    coded_array values(its, slots);
    std::vector<int32_t> to;
    for (int slot = 0; slot < slots; slot++) {
        to.push_back(slot);
    }
    size_t elements = size(slots * its.kv_heads * its.head_dim);
    std::vector<bf16> key_rows = draw_bf16(elements, 1, 2.0F);
    std::vector<bf16> value_rows = draw_bf16(elements, 2);
    kref_cpu_coded cache = {its.layout(), keys.read_only(), values.read_only()};
    kref_cpu_appended key_target = keys.appended(key_rows);
    kref_cpu_appended value_target = values.appended(value_rows);
    kref_cpu_append(&cache.layout, &key_target, &value_target, to.data(), slots);

    size_t count = lengths.size() * size(query_heads * its.head_dim);
    std::vector<bf16> queries = draw_bf16(count, 3, 2.0F);
    std::vector<bf16> outputs(count);
    std::vector<double> expected(count);
    std::vector<double> tolerances(count);
    kref_heads heads = {query_heads, its.kv_heads, its.head_dim, window_tokens, 0.125};
    kref_paging paging = {pages.table.data(), lengths.data(), pages.blocks_max, block_tokens};
    kref_expected both = {expected.data(), tolerances.data()};
    kref_decode_attention(&heads, static_cast<int>(lengths.size()), &paging,
                          to_doubles(queries).data(), worth_of(its, keys).data(),
                          worth_of(its, values).data(), &both);
    round_tolerances(expected, &tolerances);
    kref_cpu_decode decode = {};
    decode.heads = {query_heads, its.kv_heads, window_tokens, 0.125F};
    decode.rows = kref_cpu_coded_rows(&cache);
    decode.queries = bits(queries);
    decode.block_table = pages.table.data();
    decode.lengths = lengths.data();
    decode.outputs = bits(outputs);
    decode.sequences = static_cast<int>(lengths.size());
    decode.block_tokens = block_tokens;
    decode.blocks_max = pages.blocks_max;
    kref_cpu_decode_attention(&decode);
    assert_close(to_doubles(outputs), expected, tolerances);
}

void codes_are_decoded(void **) {
    for (kref_cpu_format format : {KREF_CPU_FP8, KREF_CPU_INT8, KREF_CPU_Q4_0}) {
        decodes_codes({format, 2, 64}, 8, 0, {1, 0, 37});
        decodes_codes({format, 1, 128}, 3, 20, {66});
    }
}

/* ---- Copies ---- */

constexpr size_t block_words = 5;
constexpr size_t pool_blocks = 6;

std::vector<uint64_t> draw_words(size_t count) {
    dice its(1);
    std::vector<uint64_t> words(count);
    for (uint64_t &word : words) {
        word = its.next();
    }
    return words;
}

void copies(void (*copy)(const kref_cpu_blocks *it), const std::vector<int32_t> *from,
            const std::vector<int32_t> *to) {
    std::vector<uint64_t> source = draw_words(pool_blocks * block_words);
    std::vector<uint64_t> target(source.size(), 0);
    std::vector<uint64_t> expected = target;
    constexpr int blocks = 3;
    for (int i = 0; i < blocks; i++) {
        size_t from_block = size(from != nullptr ? (*from)[size(i)] : i);
        size_t to_block = size(to != nullptr ? (*to)[size(i)] : i);
        std::copy_n(&source[from_block * block_words], block_words,
                    &expected[to_block * block_words]);
    }
    kref_cpu_blocks its = {source.data(),
                           target.data(),
                           from != nullptr ? from->data() : nullptr,
                           to != nullptr ? to->data() : nullptr,
                           block_words * sizeof(uint64_t),
                           blocks};
    copy(&its);
    assert_true(target == expected);
}

void blocks_are_copied(void **) {
    const std::vector<int32_t> some = {5, 0, 3};
    const std::vector<int32_t> others = {2, 4, 1};
    for (auto *copy : {kref_cpu_block_copy, kref_cpu_block_copy_each}) {
        copies(copy, nullptr, nullptr);
        copies(copy, &some, nullptr);
        copies(copy, nullptr, &others);
        copies(copy, &some, &others);
    }
}

void rows_are_gathered(void **) {
    constexpr int width = 24;
    constexpr int top = 4;
    paged_batch pages = draw_pages({9, 4}, 3);
    const std::vector<int32_t> chosen = {0, 4, 8, -1, 3, -1, -1, -1};
    std::vector<bf16> cache = draw_bf16(pages.slots() * width, 1);
    std::vector<bf16> rows(chosen.size() * width, to_bf16(7.0F));
    kref_cpu_gather gather = {};
    gather.cache = bits(cache);
    gather.block_table = pages.table.data();
    gather.chosen = chosen.data();
    gather.rows = bits(rows);
    gather.sequences = 2;
    gather.top = top;
    gather.width = width;
    gather.block_tokens = pages.block_tokens;
    gather.blocks_max = pages.blocks_max;
    kref_cpu_gather_rows(&gather);
    for (size_t i = 0; i < rows.size(); i++) {
        size_t row = i / width;
        float expected = 0.0F;
        if (chosen[row] >= 0) {
            size_t entry = row / top * size(pages.blocks_max) + size(chosen[row]) / 3;
            size_t slot = size(pages.table[entry]) * 3 + size(chosen[row]) % 3;
            expected = to_float(cache[slot * width + i % width]);
        }
        assert_true(to_float(rows[i]) == expected);
    }
}

} // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latents_are_decoded), cmocka_unit_test(latents_are_prefilled),
        cmocka_unit_test(rows_become_codes),   cmocka_unit_test(scales_may_be_subnormal),
        cmocka_unit_test(codes_are_decoded),   cmocka_unit_test(blocks_are_copied),
        cmocka_unit_test(rows_are_gathered),
    };
    return cmocka_run_group_tests_name("cpu caches", tests, nullptr, nullptr);
}
