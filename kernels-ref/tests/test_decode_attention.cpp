/*
 * decode_attention against its oracle: pages in any order, splits, windows, shared heads, sequences
 * of all lengths; and its counts against their closed forms.
 */
#include "cuda/decode_attention.h"
#include "oracle/attention.h"
#include "oracle/rounding.h"
#include "tests/paging.h"

namespace {

using namespace kref;
using namespace kref::tests;

struct batch {
    std::vector<int32_t> lengths;
    int query_heads;
    int kv_heads;
    int head_dim;
    int block_tokens = 16;
    int splits = 1;
    int window_tokens = 0;
    float amplitude = 1.0F; /* of the queries: large ones make peaked weights */
};

class decode_case {
  public:
    explicit decode_case(const batch &its)
        : its_(its), pages_(draw_pages(its.lengths, its.block_tokens)),
          queries_(draw_bf16(its.lengths.size() * width(), 1, its.amplitude)), keys_(draw_cache(2)),
          values_(draw_cache(3)), block_table_(pages_.table), lengths_(its.lengths) {
    }

    decode_attention_args args() const {
        decode_attention_args args = {};
        args.queries = queries_.data();
        args.key_cache = keys_.data();
        args.value_cache = values_.data();
        args.block_table = block_table_.data();
        args.lengths = lengths_.data();
        args.sequences = static_cast<int>(its_.lengths.size());
        args.query_heads = its_.query_heads;
        args.kv_heads = its_.kv_heads;
        args.head_dim = its_.head_dim;
        args.block_tokens = its_.block_tokens;
        args.blocks_max = pages_.blocks_max;
        args.window_tokens = its_.window_tokens;
        args.splits = its_.splits;
        args.scale = 1.0F / std::sqrt(static_cast<float>(its_.head_dim));
        return args;
    }

    size_t outputs() const {
        return its_.lengths.size() * width();
    }

    std::vector<double> run_exact() const {
        device_array<float> outputs(this->outputs());
        decode_attention_args args = this->args();
        args.exact_outputs = outputs.data();
        run(&args);
        return to_doubles(outputs.read());
    }

    std::vector<double> run_rounded() const {
        device_array<bf16> outputs(this->outputs());
        decode_attention_args args = this->args();
        args.outputs = outputs.data();
        run(&args);
        return to_doubles(outputs.read());
    }

    void expect(std::vector<double> *expected, std::vector<double> *tolerances) const {
        expected->assign(outputs(), 0.0);
        tolerances->assign(outputs(), 0.0);
        kref_heads heads = {its_.query_heads, its_.kv_heads, its_.head_dim, its_.window_tokens,
                            static_cast<double>(args().scale)};
        kref_paging paging = {pages_.table.data(), its_.lengths.data(), pages_.blocks_max,
                              its_.block_tokens};
        kref_expected its = {expected->data(), tolerances->data()};
        kref_decode_attention(&heads, static_cast<int>(its_.lengths.size()), &paging,
                              to_doubles(queries_.read()).data(), to_doubles(keys_.read()).data(),
                              to_doubles(values_.read()).data(), &its);
    }

    kref_work work(int output_bytes) const {
        kref_attention_shape shape = {};
        shape.sequences = static_cast<int>(its_.lengths.size());
        shape.tokens = its_.lengths.data();
        shape.query_heads = its_.query_heads;
        shape.kv_heads = its_.kv_heads;
        shape.head_dim = its_.head_dim;
        shape.window_tokens = its_.window_tokens;
        shape.splits = its_.splits;
        shape.output_bytes = output_bytes;
        return kref_decode_attention_work(&shape);
    }

  private:
    void run(decode_attention_args *args) const {
        device_array<float> workspace(static_cast<size_t>(decode_attention_workspace(*args)));
        args->workspace = its_.splits > 1 ? workspace.data() : nullptr;
        assert_ran(decode_attention(*args, nullptr));
    }

    size_t width() const {
        return static_cast<size_t>(its_.query_heads) * static_cast<size_t>(its_.head_dim);
    }

    std::vector<bf16> draw_cache(uint64_t seed) const {
        size_t row = static_cast<size_t>(its_.kv_heads) * static_cast<size_t>(its_.head_dim);
        return draw_bf16(pages_.slots() * row, seed);
    }

    batch its_;
    paged_batch pages_;
    device_array<bf16> queries_;
    device_array<bf16> keys_;
    device_array<bf16> values_;
    device_array<int32_t> block_table_;
    device_array<int32_t> lengths_;
};

/* Within the tolerance, and the same bits in every order. */
void agrees_with_oracle(const batch &its) {
    decode_case it(its);
    std::vector<double> expected;
    std::vector<double> tolerances;
    it.expect(&expected, &tolerances);
    std::vector<double> first;
    in_every_order([&] {
        std::vector<double> actual = it.run_exact();
        assert_close(actual, expected, tolerances);
        if (first.empty()) {
            first = actual;
        }
        assert_true(actual == first);
    });
}

const std::vector<int32_t> all_lengths = {1, 3, 17, 31, 64, 65, 129, 200};

void lengths_of_all_kinds(void **) {
    agrees_with_oracle({all_lengths, 4, 1, 64});
    agrees_with_oracle({all_lengths, 2, 2, 128});
}

void pages_of_any_size(void **) {
    agrees_with_oracle({{50, 7, 129}, 2, 1, 64, 7});
    agrees_with_oracle({{50, 7, 129}, 2, 1, 64, 1});
    agrees_with_oracle({{50, 7, 129}, 2, 1, 64, 128});
}

void heads_share_keys(void **) {
    agrees_with_oracle({{37}, 3, 3, 64});
    agrees_with_oracle({{37}, 10, 2, 64});
    agrees_with_oracle({{37}, 16, 1, 128});
}

/* Of 200 tokens in 64s, two splits have 128 and 72, and five leave one with nothing. */
void splits_are_combined(void **) {
    agrees_with_oracle({all_lengths, 4, 1, 64, 16, 2});
    agrees_with_oracle({all_lengths, 4, 2, 128, 16, 5});
}

void empty_sequences_give_zeros(void **) {
    agrees_with_oracle({{0, 20, 0}, 2, 1, 64, 16, 1});
    agrees_with_oracle({{0, 20, 0}, 2, 1, 64, 16, 3});
}

void window_hides_what_is_far(void **) {
    agrees_with_oracle({all_lengths, 2, 1, 64, 16, 1, 1});
    agrees_with_oracle({all_lengths, 2, 1, 64, 16, 1, 30});
    agrees_with_oracle({all_lengths, 2, 1, 64, 16, 3, 100});
}

void peaked_weights(void **) {
    agrees_with_oracle({{100, 33}, 4, 1, 128, 16, 2, 0, 60.0F});
}

void outputs_are_rounded_once(void **) {
    for (int splits = 1; splits <= 2; splits++) {
        decode_case it({{90, 5}, 4, 2, 64, 16, splits});
        std::vector<double> exact = it.run_exact();
        std::vector<double> rounded = it.run_rounded();
        for (size_t i = 0; i < exact.size(); i++) {
            assert_true(rounded[i] == kref_round_bf16(exact[i]));
        }
    }
}

void bad_shapes_are_refused(void **) {
    decode_case it({{4}, 4, 2, 64});
    device_array<float> outputs(it.outputs());
    decode_attention_args good = it.args();
    good.exact_outputs = outputs.data();
    assert_null(decode_attention_refusal(good));

    decode_attention_args bad = good;
    bad.head_dim = 80;
    assert_non_null(strstr(decode_attention(bad, nullptr), "head_dim must be 64 or 128"));
    bad = good;
    bad.query_heads = 34;
    assert_non_null(strstr(decode_attention(bad, nullptr), "kv_heads times 1 to 16"));
    bad = good;
    bad.splits = 2;
    assert_non_null(strstr(decode_attention(bad, nullptr), "need a workspace"));
    bad = good;
    bad.block_tokens = 0;
    assert_non_null(strstr(decode_attention(bad, nullptr), "block_tokens must be positive"));
    bad = good;
    bad.exact_outputs = nullptr;
    assert_non_null(strstr(decode_attention(bad, nullptr), "one of the outputs"));
    bad = good;
    bad.sequences = -1;
    assert_non_null(strstr(decode_attention(bad, nullptr), "65535"));
}

#if defined(KREF_COUNTS)

void assert_counts(const batch &its) {
    decode_case it(its);
    begin_counting();
    it.run_exact();
    assert_counted(it.work(4));
    begin_counting();
    it.run_rounded();
    assert_counted(it.work(2));
}

void counts_equal_closed_forms(void **) {
    assert_counts({{64}, 1, 1, 128});
    assert_counts({{0, 1, 50, 200}, 10, 2, 64});
    assert_counts({{0, 1, 50, 200}, 8, 1, 64, 7, 5});
    assert_counts({{300, 20}, 4, 2, 128, 16, 3, 130});
}

/* Each cached element is copied once for all heads that share it. */
void cache_is_read_once(void **) {
    decode_case it({{129, 40, 1}, 8, 2, 64, 16, 2});
    emulation::current_settings().has_sectors = true;
    emulation::reset_tally();
    it.run_exact();
    emulation::tally counted = emulation::take_tally();
    emulation::current_settings().has_sectors = false;
    int64_t tokens = 129 + 40 + 1;
    int64_t cache_bytes = 2 * 2 * int64_t{2} * 64 * tokens;
    assert_int_equal(counted.copied_bytes, cache_bytes);
    assert_true(counted.read_sectors * emulation::sector_bytes >=
                static_cast<uint64_t>(cache_bytes));
}

#endif

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_of_all_kinds),
        cmocka_unit_test(pages_of_any_size),
        cmocka_unit_test(heads_share_keys),
        cmocka_unit_test(splits_are_combined),
        cmocka_unit_test(empty_sequences_give_zeros),
        cmocka_unit_test(window_hides_what_is_far),
        cmocka_unit_test(peaked_weights),
        cmocka_unit_test(outputs_are_rounded_once),
        cmocka_unit_test(bad_shapes_are_refused),
#if defined(KREF_COUNTS)
        cmocka_unit_test(counts_equal_closed_forms),
        cmocka_unit_test(cache_is_read_once),
#endif
    };
    return cmocka_run_group_tests_name("decode_attention", tests, nullptr, nullptr);
}
