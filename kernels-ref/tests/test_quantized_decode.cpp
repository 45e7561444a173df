/*
 * quantized_decode against the oracle of decode_attention, over what the codes are worth: every
 * format, pages, splits, windows, shared heads; behind kv_append; and its counts.
 */
#include "cuda/kv_append.h"
#include "cuda/quantized_decode.h"
#include "figures/quantized.h"
#include "oracle/attention.h"
#include "oracle/quantize.h"
#include "oracle/rounding.h"
#include "tests/paging.h"

namespace {

using namespace kref;
using namespace kref::tests;

struct batch {
    cache_format format;
    std::vector<int32_t> lengths;
    int query_heads;
    int kv_heads;
    int head_dim;
    int block_tokens = 16;
    int splits = 1;
    int window_tokens = 0;
};

size_t size(int value) {
    return static_cast<size_t>(value);
}

kref_cache_format figure_format(cache_format format) {
    switch (format) {
    case cache_format::fp8:
        return KREF_CACHE_FP8;
    case cache_format::int8:
        return KREF_CACHE_INT8;
    case cache_format::q4_0:
        break;
    }
    return KREF_CACHE_Q4_0;
}

/* Keys or values of a pool: any codes but NaNs, any scales. */
class coded_cache {
  public:
    coded_cache(const batch &its, size_t slots, uint64_t seed)
        : its_(its), rows_(slots * size(its.kv_heads)), codes_(rows_ * row_codes()),
          scales_(rows_ * row_scale_count()), head_scales_(size(its.kv_heads)) {
        dice random(seed);
        for (uint8_t &code : codes_) {
            code = static_cast<uint8_t>(random.next());
            bool is_nan = its.format == cache_format::fp8 && (code & 0x7fU) == 0x7fU;
            code = is_nan ? uint8_t{0x11} : code;
        }
        float unit = its.format == cache_format::q4_0 ? 0x1p-3F : 0x1p-7F;
        for (fp16 &scale : scales_) {
            scale = to_fp16(unit * (1.5F + 0.5F * random.signed_unit()));
        }
        for (size_t head = 0; head < head_scales_.size(); head++) {
            head_scales_[head] = static_cast<float>(head + seed) * 0x1p-9F;
        }
    }

    /* All rows, as what they are worth. */
    std::vector<double> values() const {
        std::vector<double> values;
        for (size_t row = 0; row < rows_; row++) {
            for (size_t i = 0; i < size(its_.head_dim); i++) {
                values.push_back(kref_round_bf16(value_at(row, i)));
            }
        }
        return values;
    }

    const std::vector<uint8_t> &codes() const {
        return codes_;
    }
    const std::vector<fp16> &scales() const {
        return scales_;
    }
    const std::vector<float> &head_scales() const {
        return head_scales_;
    }

  private:
    size_t row_codes() const {
        return size(row_code_bytes(its_.format, its_.head_dim));
    }
    size_t row_scale_count() const {
        return size(row_scales(its_.format, its_.head_dim));
    }

    double value_at(size_t row, size_t i) const {
        const uint8_t *codes = &codes_[row * row_codes()];
        const fp16 *scales = scales_.data() + row * row_scale_count();
        switch (its_.format) {
        case cache_format::fp8:
            return kref_e4m3_value(codes[i]) *
                   static_cast<double>(head_scales_[row % size(its_.kv_heads)]);
        case cache_format::int8:
            return static_cast<int8_t>(codes[i]) * static_cast<double>(to_float(scales[0]));
        case cache_format::q4_0:
            break;
        }
        unsigned pair = codes[i / 32 * 16 + i % 16];
        int code = static_cast<int>(i % 32 < 16 ? pair & 15U : pair >> 4);
        return (code - 8) * static_cast<double>(to_float(scales[i / 32]));
    }

    batch its_;
    size_t rows_;
    std::vector<uint8_t> codes_;
    std::vector<fp16> scales_;
    std::vector<float> head_scales_;
};

/* A cache where a kernel can read it. */
class device_cache {
  public:
    explicit device_cache(const coded_cache &its)
        : codes_(its.codes()), scales_(its.scales()), head_scales_(its.head_scales()) {
    }

    quantized_rows rows(cache_format format) const {
        quantized_rows rows = {};
        rows.codes = codes_.data();
        if (format == cache_format::fp8) {
            rows.head_scales = head_scales_.data();
        } else {
            rows.scales = scales_.data();
        }
        return rows;
    }

  private:
    device_array<uint8_t> codes_;
    device_array<fp16> scales_;
    device_array<float> head_scales_;
};

class decode_case {
  public:
    explicit decode_case(const batch &its)
        : its_(its), pages_(draw_pages(its.lengths, its.block_tokens)),
          queries_(draw_bf16(outputs(), 1)), keys_(its, pages_.slots(), 2),
          values_(its, pages_.slots(), 3), device_queries_(queries_), device_keys_(keys_),
          device_values_(values_), block_table_(pages_.table), lengths_(its.lengths) {
    }

    quantized_decode_args args() const {
        quantized_decode_args args = {};
        args.keys = device_keys_.rows(its_.format);
        args.values = device_values_.rows(its_.format);
        args.format = its_.format;
        decode_attention_args &attention = args.attention;
        attention.queries = device_queries_.data();
        attention.block_table = block_table_.data();
        attention.lengths = lengths_.data();
        attention.sequences = static_cast<int>(its_.lengths.size());
        attention.query_heads = its_.query_heads;
        attention.kv_heads = its_.kv_heads;
        attention.head_dim = its_.head_dim;
        attention.block_tokens = its_.block_tokens;
        attention.blocks_max = pages_.blocks_max;
        attention.window_tokens = its_.window_tokens;
        attention.splits = its_.splits;
        attention.scale = 1.0F / std::sqrt(static_cast<float>(its_.head_dim));
        return args;
    }

    template <typename Output> std::vector<double> run() const {
        device_array<Output> outputs(this->outputs());
        quantized_decode_args args = this->args();
        device_array<float> workspace(
            static_cast<size_t>(decode_attention_workspace(args.attention)));
        args.attention.workspace = its_.splits > 1 ? workspace.data() : nullptr;
        if constexpr (sizeof(Output) == sizeof(float)) {
            args.attention.exact_outputs = outputs.data();
        } else {
            args.attention.outputs = outputs.data();
        }
        begin_counting();
        assert_ran(quantized_decode(args, nullptr));
        assert_counted(work(sizeof(Output)));
        return to_doubles(outputs.read());
    }

    void expect(std::vector<double> *expected, std::vector<double> *tolerances) const {
        expected->assign(outputs(), 0.0);
        tolerances->assign(outputs(), 0.0);
        kref_heads heads = {its_.query_heads, its_.kv_heads, its_.head_dim, its_.window_tokens,
                            static_cast<double>(args().attention.scale)};
        kref_paging paging = {pages_.table.data(), its_.lengths.data(), pages_.blocks_max,
                              its_.block_tokens};
        kref_expected its = {expected->data(), tolerances->data()};
        kref_decode_attention(&heads, static_cast<int>(its_.lengths.size()), &paging,
                              to_doubles(queries_).data(), keys_.values().data(),
                              values_.values().data(), &its);
    }

  private:
    size_t outputs() const {
        return its_.lengths.size() * size(its_.query_heads) * size(its_.head_dim);
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
        return kref_quantized_decode_work(&shape, figure_format(its_.format));
    }

    batch its_;
    paged_batch pages_;
    std::vector<bf16> queries_;
    coded_cache keys_;
    coded_cache values_;
    device_array<bf16> device_queries_;
    device_cache device_keys_;
    device_cache device_values_;
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
        std::vector<double> actual = it.run<float>();
        assert_close(actual, expected, tolerances);
        if (first.empty()) {
            first = actual;
        }
        assert_true(actual == first);
    });
}

constexpr cache_format formats[] = {cache_format::fp8, cache_format::int8, cache_format::q4_0};

void lengths_of_all_kinds(void **) {
    for (cache_format format : formats) {
        agrees_with_oracle({format, {1, 0, 17, 64, 129}, 4, 2, 64});
        agrees_with_oracle({format, {3, 70}, 2, 1, 128});
    }
}

void pages_and_shared_heads(void **) {
    for (cache_format format : formats) {
        agrees_with_oracle({format, {37, 5}, 5, 1, 64, 7});
        agrees_with_oracle({format, {21}, 16, 1, 64, 1});
    }
}

void splits_and_windows(void **) {
    for (cache_format format : formats) {
        agrees_with_oracle({format, {200, 0, 30}, 2, 1, 64, 16, 3});
        agrees_with_oracle({format, {140}, 4, 2, 64, 16, 2, 100});
    }
}

void outputs_are_rounded_once(void **) {
    for (cache_format format : formats) {
        decode_case it({format, {40, 5}, 4, 2, 64, 16, 2});
        std::vector<double> exact = it.run<float>();
        std::vector<double> rounded = it.run<bf16>();
        for (size_t i = 0; i < exact.size(); i++) {
            assert_true(rounded[i] == kref_round_bf16(exact[i]));
        }
    }
}

/* What kv_append writes, this reads: the one token of a sequence is its own output, as it is worth
 * in the cache. */
void reads_what_was_appended(void **) {
    constexpr int head_dim = 64;
    std::vector<bf16> row = draw_bf16(head_dim, 9);
    device_array<bf16> token(row);
    device_array<int32_t> slot(std::vector<int32_t>{0});
    device_array<int32_t> length(std::vector<int32_t>{1});
    device_array<float> head_scale(std::vector<float>{0x1p-8F});
    for (cache_format format : formats) {
        bool is_fp8 = format == cache_format::fp8;
        device_array<uint8_t> codes(size(row_code_bytes(format, head_dim)));
        device_array<fp16> scales(size(row_scales(format, head_dim)));
        device_array<float> outputs(head_dim);
        append_target target = {};
        target.rows = token.data();
        target.codes = codes.data();
        target.scales = is_fp8 ? nullptr : scales.data();
        target.head_scales = is_fp8 ? head_scale.data() : nullptr;
        kv_append_args append = {target, target, slot.data(), format, 1, 1, head_dim};
        assert_ran(kv_append(append, nullptr));

        quantized_decode_args decode = {};
        decode.keys.codes = codes.data();
        decode.keys.scales = is_fp8 ? nullptr : scales.data();
        decode.keys.head_scales = is_fp8 ? head_scale.data() : nullptr;
        decode.values = decode.keys;
        decode.format = format;
        decode.attention.queries = token.data();
        decode.attention.block_table = slot.data();
        decode.attention.lengths = length.data();
        decode.attention.exact_outputs = outputs.data();
        decode.attention.sequences = 1;
        decode.attention.query_heads = 1;
        decode.attention.kv_heads = 1;
        decode.attention.head_dim = head_dim;
        decode.attention.block_tokens = 1;
        decode.attention.blocks_max = 1;
        decode.attention.splits = 1;
        decode.attention.scale = 1.0F;
        assert_ran(quantized_decode(decode, nullptr));
        /* Half a step of the format, and the rounding of what it is worth: of q4_0 a whole step,
         * where the greatest has the other sign. Elements are up to 1. */
        double step = is_fp8 ? 0x1p-3 : format == cache_format::int8 ? 1.0 / 127 : 1.0 / 4;
        std::vector<double> values = to_doubles(row);
        std::vector<double> actual = to_doubles(outputs.read());
        for (size_t i = 0; i < values.size(); i++) {
            assert_true(std::fabs(actual[i] - values[i]) <= 0.5 * step * 1.01 + 0x1p-8);
        }
    }
}

void bad_shapes_are_refused(void **) {
    decode_case it({cache_format::int8, {4}, 4, 2, 64});
    device_array<float> outputs(256);
    quantized_decode_args bad = it.args();
    bad.attention.exact_outputs = outputs.data();
    assert_null(quantized_decode_refusal(bad));
    bad.format = cache_format::fp8;
    assert_non_null(strstr(quantized_decode(bad, nullptr), "fp8 takes head_scales"));
    bad.attention.head_dim = 80;
    assert_non_null(strstr(quantized_decode(bad, nullptr), "head_dim must be 64 or 128"));
}

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_of_all_kinds),    cmocka_unit_test(pages_and_shared_heads),
        cmocka_unit_test(splits_and_windows),      cmocka_unit_test(outputs_are_rounded_once),
        cmocka_unit_test(reads_what_was_appended), cmocka_unit_test(bad_shapes_are_refused),
    };
    return cmocka_run_group_tests_name("quantized_decode", tests, nullptr, nullptr);
}
