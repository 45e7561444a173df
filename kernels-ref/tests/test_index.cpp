/*
 * index_scores and select_top against their oracles, alone and one behind the other; and their
 * counts against their closed forms.
 */
#include "cuda/index_scores.h"
#include "cuda/select_top.h"
#include "figures/index.h"
#include "oracle/index.h"
#include "tests/checking.h"

#include <algorithm>

namespace {

using namespace kref;
using namespace kref::tests;

/* ---- Scores ---- */

constexpr size_t width = 128;

struct score_shape {
    std::vector<int32_t> lengths;
    int heads;
    int block_tokens;
    bool has_codes = false;
};

class score_case {
  public:
    explicit score_case(const score_shape &its)
        : its_(its), tokens_max_(*std::max_element(its.lengths.begin(), its.lengths.end())),
          blocks_max_((tokens_max_ + its.block_tokens - 1) / its.block_tokens),
          queries_(draw_bf16(sequences() * heads() * width, 1)),
          weights_(draw_floats(sequences() * heads(), 2)), keys_(draw_bf16(rows() * width, 3)),
          codes_(draw_e4m3(rows() * width, 4, 448.0F)), scales_(draw_floats(rows(), 5)) {
        for (float &scale : scales_) {
            scale = std::fabs(scale) * 0x1p-8F;
        }
        /* The blocks of the pool, from the last to the first. */
        for (size_t i = 0; i < sequences() * size(blocks_max_); i++) {
            table_.push_back(static_cast<int32_t>(sequences() * size(blocks_max_) - 1 - i));
        }
    }

    void expect(std::vector<double> *expected, std::vector<double> *tolerances) const {
        std::vector<double> queries = to_doubles(queries_);
        std::vector<double> weights = to_doubles(weights_);
        std::vector<double> keys = key_values();
        for (size_t s = 0; s < sequences(); s++) {
            for (int t = 0; t < its_.lengths[s]; t++) {
                size_t block = size(table_[s * size(blocks_max_) + size(t / its_.block_tokens)]);
                size_t row = block * size(its_.block_tokens) + size(t % its_.block_tokens);
                double tolerance = 0.0;
                expected->push_back(
                    kref_index_score(its_.heads, width, &queries[s * heads() * width],
                                     &weights[s * heads()], &keys[row * width], &tolerance));
                tolerances->push_back(tolerance);
            }
        }
    }

    /* Row after row, without what is behind the lengths, where nothing was written. */
    std::vector<double> run() const {
        device_array<bf16> queries(queries_);
        device_array<float> weights(weights_);
        device_array<bf16> keys(keys_);
        device_array<e4m3> codes(codes_);
        device_array<float> scales(scales_);
        device_array<int32_t> table(table_);
        device_array<int32_t> lengths(its_.lengths);
        device_array<float> scores(sequences() * size(tokens_max_));
        index_scores_args args = {};
        args.queries = queries.data();
        args.weights = weights.data();
        args.keys = its_.has_codes ? nullptr : keys.data();
        args.key_codes = its_.has_codes ? codes.data() : nullptr;
        args.key_scales = its_.has_codes ? scales.data() : nullptr;
        args.block_table = table.data();
        args.lengths = lengths.data();
        args.scores = scores.data();
        args.sequences = static_cast<int>(sequences());
        args.heads = its_.heads;
        args.block_tokens = its_.block_tokens;
        args.blocks_max = blocks_max_;
        args.tokens_max = tokens_max_;
        begin_counting();
        assert_ran(index_scores(args, nullptr));
        assert_counted(kref_index_scores_work(args.sequences, its_.lengths.data(), tokens_max_,
                                              its_.heads, its_.has_codes));
        std::vector<float> all = scores.read();
        std::vector<double> seen;
        for (size_t i = 0; i < all.size(); i++) {
            bool is_token = static_cast<int32_t>(i) % tokens_max_ <
                            its_.lengths[i / size(tokens_max_)];
            assert_true(is_token || std::isnan(all[i]));
            if (is_token) {
                seen.push_back(static_cast<double>(all[i]));
            }
        }
        return seen;
    }

  private:
    static size_t size(int value) {
        return static_cast<size_t>(value);
    }
    size_t sequences() const {
        return its_.lengths.size();
    }
    size_t heads() const {
        return size(its_.heads);
    }
    size_t rows() const { /* of the cache */
        return sequences() * size(blocks_max_ * its_.block_tokens);
    }
    static std::vector<float> draw_floats(size_t count, uint64_t seed) {
        dice its(seed);
        std::vector<float> floats(count);
        for (float &value : floats) {
            value = its.signed_unit();
        }
        return floats;
    }

    /* What the keys are worth. */
    std::vector<double> key_values() const {
        if (!its_.has_codes) {
            return to_doubles(keys_);
        }
        std::vector<double> values = to_doubles(codes_);
        for (size_t i = 0; i < values.size(); i++) {
            values[i] *= static_cast<double>(scales_[i / width]);
        }
        return values;
    }

    score_shape its_;
    int tokens_max_;
    int blocks_max_;
    std::vector<bf16> queries_;
    std::vector<float> weights_;
    std::vector<bf16> keys_;
    std::vector<e4m3> codes_;
    std::vector<float> scales_;
    std::vector<int32_t> table_;
};

void scores_agree(const score_shape &its) {
    score_case it(its);
    std::vector<double> expected;
    std::vector<double> tolerances;
    it.expect(&expected, &tolerances);
    std::vector<double> first;
    in_every_order([&] {
        std::vector<double> actual = it.run();
        assert_close(actual, expected, tolerances);
        if (first.empty()) {
            first = actual;
        }
        assert_true(actual == first);
    });
}

void scores_of_all_lengths(void **) {
    scores_agree({{1, 0, 63, 64, 65, 130}, 16, 16});
    scores_agree({{37, 5}, 64, 16});
}

void pages_of_any_size(void **) {
    scores_agree({{70, 3}, 32, 1});
    scores_agree({{70, 3}, 48, 7});
    scores_agree({{70, 3}, 16, 128});
}

void keys_in_fp8(void **) {
    scores_agree({{1, 0, 63, 64, 65, 130}, 16, 16, true});
    scores_agree({{70, 3}, 64, 7, true});
}

void index_scores_refuses_bad_shapes(void **) {
    index_scores_args args = {};
    bf16 key = {};
    e4m3 code = {};
    float scale = 1.0F;
    args.keys = &key;
    args.sequences = 1;
    args.heads = 24;
    args.block_tokens = 16;
    assert_non_null(strstr(index_scores(args, nullptr), "multiple of 16 from 16 to 64"));
    args.heads = 80;
    assert_non_null(strstr(index_scores(args, nullptr), "multiple of 16 from 16 to 64"));
    args.heads = 64;
    args.block_tokens = 0;
    assert_non_null(strstr(index_scores(args, nullptr), "block_tokens must be positive"));
    args.sequences = 65536;
    assert_non_null(strstr(index_scores(args, nullptr), "65535"));
    args.sequences = 1;
    args.block_tokens = 16;
    assert_null(index_scores_refusal(args));
    args.key_codes = &code;
    assert_non_null(strstr(index_scores(args, nullptr), "exactly one of keys and key_codes"));
    args.keys = nullptr;
    assert_non_null(strstr(index_scores(args, nullptr), "key_codes take key_scales"));
    args.key_scales = &scale;
    assert_null(index_scores_refusal(args));
}

/* ---- Selection ---- */

/* Rows of one width, of which the first lengths[i] numbers count. */
void selects(const std::vector<float> &numbers, const std::vector<int32_t> &lengths, int top) {
    size_t rows = lengths.size();
    size_t row_width = numbers.size() / rows;
    std::vector<double> exact = to_doubles(numbers);
    std::vector<int32_t> expected(rows * static_cast<size_t>(top));
    for (size_t row = 0; row < rows; row++) {
        kref_select_top(&exact[row * row_width], lengths[row], top,
                        &expected[row * static_cast<size_t>(top)]);
    }
    device_array<float> device_numbers(numbers);
    device_array<int32_t> device_lengths(lengths);
    in_every_order([&] {
        device_array<int32_t> chosen(expected.size());
        select_top_args args = {};
        args.numbers = device_numbers.data();
        args.lengths = device_lengths.data();
        args.chosen = chosen.data();
        args.rows = static_cast<int>(rows);
        args.width = static_cast<int>(row_width);
        args.top = top;
        begin_counting();
        assert_ran(select_top(args, nullptr));
        assert_counted(kref_select_top_work(args.rows, lengths.data(), top));
        assert_true(chosen.read() == expected);
    });
}

std::vector<float> draw_numbers(size_t count, uint64_t seed) {
    dice its(seed);
    std::vector<float> numbers(count);
    for (float &number : numbers) {
        number = its.signed_unit();
    }
    return numbers;
}

/* Fewer than are asked for, as many, one more, one more than a pass of the block. */
void top_of_all_lengths(void **) {
    selects(draw_numbers(size_t{6} * 600, 1), {0, 1, 16, 17, 257, 600}, 16);
    selects(draw_numbers(size_t{2} * 300, 2), {300, 299}, 1);
    selects(draw_numbers(size_t{2} * 300, 3), {300, 299}, 298);
}

/* All the same; a few values; and what differs only in the last bits, or in sign. */
void first_of_equals(void **) {
    selects(std::vector<float>(600, 0.25F), {300, 280}, 7);
    std::vector<float> few = draw_numbers(600, 4);
    for (float &number : few) {
        number = std::round(number * 2.0F);
    }
    selects(few, {300, 300}, 100);
    std::vector<float> close = draw_numbers(600, 5);
    for (float &number : close) {
        number = 1.0F + 0x1p-23F * std::round(number * 3.0F);
    }
    selects(close, {300, 300}, 50);
    std::vector<float> zeros(600, 0.0F);
    for (size_t i = 0; i < zeros.size(); i += 3) {
        zeros[i] = -0.0F;
    }
    selects(zeros, {300, 300}, 20);
}

void numbers_of_all_sizes(void **) {
    std::vector<float> numbers = {1e30F, -1e30F, INFINITY, -INFINITY, 1e-40F, -1e-40F, 0.0F, 3.0F};
    for (int top = 1; top <= 8; top++) {
        selects(numbers, {8}, top);
    }
}

/* What the kernels are for: the chosen tokens have the greatest scores. */
void scores_are_selected(void **) {
    score_case it({{200}, 16, 16});
    std::vector<double> scores = it.run();
    std::vector<float> numbers(scores.begin(), scores.end());
    selects(numbers, {200}, 32);
}

void select_top_refuses_bad_shapes(void **) {
    select_top_args args = {};
    args.rows = 1;
    assert_non_null(strstr(select_top(args, nullptr), "top must be positive"));
    args.top = 1;
    args.rows = -1;
    assert_non_null(strstr(select_top(args, nullptr), "not be negative"));
}

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_of_all_lengths),
        cmocka_unit_test(pages_of_any_size),
        cmocka_unit_test(keys_in_fp8),
        cmocka_unit_test(index_scores_refuses_bad_shapes),
        cmocka_unit_test(top_of_all_lengths),
        cmocka_unit_test(first_of_equals),
        cmocka_unit_test(numbers_of_all_sizes),
        cmocka_unit_test(scores_are_selected),
        cmocka_unit_test(select_top_refuses_bad_shapes),
    };
    return cmocka_run_group_tests_name("index", tests, nullptr, nullptr);
}
