/*
 * rms_norm, rope and activation against their oracles, and their counts against their closed forms.
 */
#include "cuda/activation.h"
#include "cuda/rms_norm.h"
#include "cuda/rope.h"
#include "oracle/elementwise.h"
#include "tests/checking.h"

namespace {

using namespace kref;
using namespace kref::tests;

/* ---- RMSNorm ---- */

void norms_rows(int rows, int width, bool has_update) {
    auto count = static_cast<size_t>(rows) * static_cast<size_t>(width);
    std::vector<bf16> stream = draw_bf16(count, 1, 3.0F);
    std::vector<bf16> update = draw_bf16(count, 2);
    std::vector<bf16> weight = draw_bf16(static_cast<size_t>(width), 3);
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
    in_every_order([&] {
        device_array<bf16> device_stream(stream);
        device_array<bf16> device_update(update);
        device_array<bf16> device_weight(weight);
        device_array<bf16> normed(count);
        rms_norm_args args = {};
        args.stream = device_stream.data();
        args.update = has_update ? device_update.data() : nullptr;
        args.weight = device_weight.data();
        args.normed = normed.data();
        args.rows = rows;
        args.width = width;
        args.epsilon = static_cast<float>(epsilon);
        begin_counting();
        assert_ran(rms_norm(args, nullptr));
        if (rows > 0) {
            assert_counted(kref_rms_norm_work(rows, width, has_update));
        }
        assert_close(to_doubles(normed.read()), expected, tolerances);
        assert_true(to_doubles(device_stream.read()) == kept);
    });
}

void rms_norm_agrees_with_oracle(void **) {
    norms_rows(1, 8, true);
    norms_rows(3, 264, true);
    norms_rows(2, 4096, true);
    norms_rows(1, 8200, true);
    norms_rows(5, 128, false);
    norms_rows(0, 64, true);
}

void rms_norm_refuses_bad_shapes(void **) {
    rms_norm_args args = {};
    args.rows = 1;
    args.width = 12;
    assert_non_null(strstr(rms_norm(args, nullptr), "multiple of 8"));
    args.width = 40000;
    assert_non_null(strstr(rms_norm(args, nullptr), "32768"));
    args.width = 8;
    args.rows = -1;
    assert_non_null(strstr(rms_norm(args, nullptr), "negative"));
}

/* ---- RoPE ---- */

constexpr double rope_base = 10000.0;
constexpr int positions_max = 70;

std::vector<float> table_of_turns(int head_dim) {
    std::vector<float> turns;
    for (int position = 0; position < positions_max; position++) {
        for (int i = 0; i < head_dim; i++) {
            int pair = i % (head_dim / 2);
            double angle = position * std::pow(rope_base, -2.0 * pair / head_dim);
            double turn = i < head_dim / 2 ? std::cos(angle) : std::sin(angle);
            turns.push_back(static_cast<float>(turn));
        }
    }
    return turns;
}

struct rope_shape {
    std::vector<int32_t> positions;
    std::vector<int32_t> slots;
    int query_heads;
    int kv_heads;
    int head_dim;
};

class rope_case {
  public:
    explicit rope_case(const rope_shape &its) : its_(its) {
    }

    void run() {
        rope_args args = {};
        args.queries = queries_.data();
        args.keys = keys_.data();
        args.values = values_.data();
        args.key_cache = key_cache_.data();
        args.value_cache = value_cache_.data();
        args.positions = positions_.data();
        args.slots = slots_.data();
        args.turns = turns_.data();
        args.tokens = static_cast<int>(its_.positions.size());
        args.query_heads = its_.query_heads;
        args.kv_heads = its_.kv_heads;
        args.head_dim = its_.head_dim;
        int64_t written = 0;
        for (int32_t slot : its_.slots) {
            written += slot >= 0 ? 1 : 0;
        }
        begin_counting();
        assert_ran(rope(args, nullptr));
        assert_counted(
            kref_rope_work(args.tokens, written, its_.query_heads, its_.kv_heads, its_.head_dim));
    }

    /* Queries turned, keys turned and values as they are in their slots, and the other slots
     * untouched. */
    void check() {
        std::vector<double> queries = to_doubles(queries_.read());
        check_turned(queries, to_doubles(drawn_queries_), its_.query_heads, rows_of_tokens());
        std::vector<double> cache = to_doubles(key_cache_.read());
        check_turned(cache, to_doubles(drawn_keys_), its_.kv_heads, its_.slots);

        std::vector<bf16> values = value_cache_.read();
        std::vector<bool> is_written(slot_count, false);
        for (size_t token = 0; token < its_.slots.size(); token++) {
            if (its_.slots[token] < 0) {
                continue;
            }
            auto slot = static_cast<size_t>(its_.slots[token]);
            is_written[slot] = true;
            for (size_t i = 0; i < kv_width_; i++) {
                assert_int_equal(values[slot * kv_width_ + i].bits,
                                 drawn_values_[token * kv_width_ + i].bits);
            }
        }
        for (size_t i = 0; i < values.size(); i++) {
            if (!is_written[i / kv_width_]) {
                assert_int_equal(values[i].bits, 0xffff);
                assert_true(std::isnan(cache[i]));
            }
        }
    }

  private:
    static constexpr size_t slot_count = 12;

    std::vector<int32_t> rows_of_tokens() const {
        std::vector<int32_t> rows;
        for (size_t token = 0; token < its_.positions.size(); token++) {
            rows.push_back(static_cast<int32_t>(token));
        }
        return rows;
    }

    /* Token t of `drawn` must be found, turned, in row rows[t] of `actual`. */
    void check_turned(const std::vector<double> &actual, const std::vector<double> &drawn,
                      int heads, const std::vector<int32_t> &rows) const {
        auto head_dim = static_cast<size_t>(its_.head_dim);
        size_t width = static_cast<size_t>(heads) * head_dim;
        std::vector<double> expected(head_dim);
        std::vector<double> tolerances(head_dim);
        for (size_t i = 0; i < rows.size() * static_cast<size_t>(heads); i++) {
            size_t token = i / static_cast<size_t>(heads);
            size_t at = i % static_cast<size_t>(heads) * head_dim;
            if (rows[token] < 0) {
                continue;
            }
            kref_rope_head(&drawn[token * width + at], its_.head_dim, its_.positions[token],
                           rope_base, expected.data(), tolerances.data());
            const double *found = &actual[static_cast<size_t>(rows[token]) * width + at];
            assert_close(std::vector<double>(found, found + head_dim), expected, tolerances);
        }
    }

    rope_shape its_;
    size_t tokens_ = its_.positions.size();
    size_t kv_width_ = static_cast<size_t>(its_.kv_heads) * static_cast<size_t>(its_.head_dim);
    std::vector<bf16> drawn_queries_ = draw_bf16(
        tokens_ * static_cast<size_t>(its_.query_heads * its_.head_dim), 1);
    std::vector<bf16> drawn_keys_ = draw_bf16(tokens_ * kv_width_, 2);
    std::vector<bf16> drawn_values_ = draw_bf16(tokens_ * kv_width_, 3);
    device_array<bf16> queries_{drawn_queries_};
    device_array<bf16> keys_{drawn_keys_};
    device_array<bf16> values_{drawn_values_};
    device_array<bf16> key_cache_{slot_count * kv_width_};
    device_array<bf16> value_cache_{slot_count * kv_width_};
    device_array<int32_t> positions_{its_.positions};
    device_array<int32_t> slots_{its_.slots};
    device_array<float> turns_{table_of_turns(its_.head_dim)};
};

void turns_heads(const rope_shape &its) {
    in_every_order([&] {
        rope_case it(its);
        it.run();
        it.check();
    });
}

void rope_agrees_with_oracle(void **) {
    turns_heads({{0}, {3}, 1, 1, 16});
    turns_heads({{69, 1, 30, 2}, {11, 0, 5, 6}, 4, 2, 64});
    turns_heads({{7, 8, 9}, {2, -1, 4}, 5, 1, 128});
    turns_heads({{7, 8}, {0, 1}, 1, 1, 512});
    turns_heads({{7, 8}, {-1, -1}, 2, 1, 80});
}

void rope_refuses_bad_shapes(void **) {
    rope_args args = {};
    args.tokens = 1;
    args.query_heads = 1;
    args.kv_heads = 1;
    args.head_dim = 72;
    assert_non_null(strstr(rope(args, nullptr), "multiple of 16"));
    args.head_dim = 528;
    assert_non_null(strstr(rope(args, nullptr), "512"));
    args.head_dim = 64;
    args.kv_heads = 0;
    assert_non_null(strstr(rope(args, nullptr), "key-value head"));
    args.tokens = -1;
    assert_non_null(strstr(rope(args, nullptr), "negative"));
}

/* ---- Activations ---- */

void activates(int rows, int width, activation_kind kind, bool is_gated) {
    auto count = static_cast<size_t>(rows) * static_cast<size_t>(width);
    auto wide = static_cast<size_t>(width);
    std::vector<bf16> input = draw_bf16(count * (is_gated ? 2 : 1), 4, 12.0F);
    std::vector<double> values = to_doubles(input);
    std::vector<double> expected(count);
    std::vector<double> tolerances(count);
    kref_activation its = kind == activation_kind::silu ? KREF_SILU : KREF_GELU_TANH;
    for (size_t i = 0; i < count; i++) {
        size_t at = is_gated ? i / wide * 2 * wide + i % wide : i;
        double up = is_gated ? values[at + wide] : 1.0;
        expected[i] = kref_activate(its, values[at], up, &tolerances[i]);
    }
    in_every_order([&] {
        device_array<bf16> device_input(input);
        device_array<bf16> output(count);
        activation_args args = {};
        args.input = device_input.data();
        args.output = output.data();
        args.rows = rows;
        args.width = width;
        args.kind = kind;
        args.is_gated = is_gated;
        begin_counting();
        assert_ran(activation(args, nullptr));
        assert_counted(
            kref_activation_work(rows, width, kind == activation_kind::gelu_tanh, is_gated));
        assert_close(to_doubles(output.read()), expected, tolerances);
    });
}

void activation_agrees_with_oracle(void **) {
    for (activation_kind kind : {activation_kind::silu, activation_kind::gelu_tanh}) {
        for (bool is_gated : {true, false}) {
            activates(1, 8, kind, is_gated);
            activates(7, 488, kind, is_gated);
            activates(0, 8, kind, is_gated);
        }
    }
}

void activation_refuses_bad_shapes(void **) {
    activation_args args = {};
    args.rows = 1;
    args.width = 4;
    assert_non_null(strstr(activation(args, nullptr), "multiple of 8"));
    args.width = 8;
    args.rows = -1;
    assert_non_null(strstr(activation(args, nullptr), "negative"));
}

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rms_norm_agrees_with_oracle),
        cmocka_unit_test(rms_norm_refuses_bad_shapes),
        cmocka_unit_test(rope_agrees_with_oracle),
        cmocka_unit_test(rope_refuses_bad_shapes),
        cmocka_unit_test(activation_agrees_with_oracle),
        cmocka_unit_test(activation_refuses_bad_shapes),
    };
    return cmocka_run_group_tests_name("elementwise", tests, nullptr, nullptr);
}
