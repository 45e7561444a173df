/*
 * kv_append against its oracle: scales and codes of every format, slots in any order, padding; and
 * its counts against their closed forms.
 */
#include "cuda/kv_append.h"
#include "figures/copy.h"
#include "oracle/quantize.h"
#include "tests/checking.h"

namespace {

using namespace kref;
using namespace kref::tests;

constexpr size_t slots_max = 40;

struct append_shape {
    cache_format format;
    std::vector<int32_t> slots;
    int kv_heads;
    int head_dim;
    float amplitude = 1.0F;

    size_t heads() const {
        return static_cast<size_t>(kv_heads);
    }
    size_t width() const {
        return static_cast<size_t>(head_dim);
    }
    size_t codes() const {
        return static_cast<size_t>(row_code_bytes(format, head_dim));
    }
    size_t scales() const {
        return static_cast<size_t>(row_scales(format, head_dim));
    }
};

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

/* ---- A row that came out, against the oracle ---- */

/* Code of element i in the packed row. */
unsigned code_at(const append_shape &its, const uint8_t *row, size_t i) {
    if (its.format != cache_format::q4_0) {
        return row[i];
    }
    size_t in_group = i % Q4_GROUP;
    unsigned pair = row[i / Q4_GROUP * (Q4_GROUP / 2) + in_group % (Q4_GROUP / 2)];
    return in_group < Q4_GROUP / 2 ? pair & 15U : pair >> 4;
}

/* Neighbours in value: a sign of its own in e4m3, two's complement in int8. */
int order_of(const append_shape &its, unsigned code) {
    if (its.format == cache_format::fp8) {
        return (code & 0x80U) != 0 ? -static_cast<int>(code & 0x7fU) : static_cast<int>(code);
    }
    return its.format == cache_format::int8 ? int{static_cast<int8_t>(code)}
                                            : static_cast<int>(code);
}

void check_codes(const append_shape &its, const uint8_t *row, const std::vector<uint8_t> &expected,
                 const bool *is_close) {
    for (size_t i = 0; i < its.width(); i++) {
        int actual = order_of(its, code_at(its, row, i));
        int difference = std::abs(actual - order_of(its, expected[i]));
        assert_true(difference <= (is_close[i] ? 1 : 0));
    }
}

void check_row(const append_shape &its, const double *values, double head_scale,
               const uint8_t *codes, const fp16 *scales) {
    std::vector<uint8_t> expected(its.width());
    bool is_close[256];
    kref_codes to = {expected.data(), is_close};
    switch (its.format) {
    case cache_format::fp8:
        kref_quantize_fp8(values, its.head_dim, head_scale, &to);
        break;
    case cache_format::int8: {
        double scale = kref_quantize_int8(values, its.head_dim, &to);
        assert_true(static_cast<double>(to_float(scales[0])) == scale);
        break;
    }
    case cache_format::q4_0:
        for (size_t group = 0; group < its.scales(); group++) {
            kref_codes part = {expected.data() + group * Q4_GROUP, is_close + group * Q4_GROUP};
            double scale = kref_quantize_q4(values + group * Q4_GROUP, &part);
            assert_true(static_cast<double>(to_float(scales[group])) == scale);
        }
        break;
    }
    check_codes(its, codes, expected, is_close);
}

/* ---- Keys or values ---- */

class side {
  public:
    side(const append_shape &its, uint64_t seed)
        : its_(its),
          rows_(draw_bf16(its.slots.size() * its.heads() * its.width(), seed, its.amplitude)),
          device_rows_(rows_), codes_(slots_max * its.heads() * its.codes()),
          scales_(slots_max * its.heads() * its.scales()), head_scales_(draw_scales(its)),
          device_head_scales_(head_scales_) {
    }

    append_target target() const {
        append_target target = {};
        target.rows = device_rows_.data();
        target.codes = codes_.data();
        if (its_.format == cache_format::fp8) {
            target.head_scales = device_head_scales_.data();
        } else {
            target.scales = scales_.data();
        }
        return target;
    }

    /* Each token in its slot, and nothing in the others. */
    void check() const {
        std::vector<uint8_t> codes = codes_.read();
        std::vector<fp16> scales = scales_.read();
        std::vector<double> rows = to_doubles(rows_);
        std::vector<bool> is_written(slots_max, false);
        for (size_t token = 0; token < its_.slots.size(); token++) {
            if (its_.slots[token] < 0) {
                continue;
            }
            auto slot = static_cast<size_t>(its_.slots[token]);
            is_written[slot] = true;
            for (size_t head = 0; head < its_.heads(); head++) {
                size_t row = slot * its_.heads() + head;
                check_row(its_, &rows[(token * its_.heads() + head) * its_.width()],
                          static_cast<double>(head_scales_[head]), &codes[row * its_.codes()],
                          scales.data() + row * its_.scales());
            }
        }
        size_t slot_codes = its_.heads() * its_.codes();
        for (size_t i = 0; i < codes.size(); i++) {
            assert_true(is_written[i / slot_codes] || codes[i] == 0xff);
        }
    }

    void clear() {
        codes_.write(std::vector<uint8_t>(slots_max * its_.heads() * its_.codes(), 0xff));
    }

  private:
    static std::vector<float> draw_scales(const append_shape &its) {
        std::vector<float> scales;
        float unit = its.amplitude > 0.0F ? its.amplitude : 1.0F;
        for (int head = 0; head < its.kv_heads; head++) {
            scales.push_back(unit * static_cast<float>(head + 3) / 512.0F);
        }
        return scales;
    }

    append_shape its_;
    std::vector<bf16> rows_;
    device_array<bf16> device_rows_;
    device_array<uint8_t> codes_;
    device_array<fp16> scales_;
    std::vector<float> head_scales_;
    device_array<float> device_head_scales_;
};

void appends(const append_shape &its) {
    side keys(its, 1);
    side values(its, 2);
    device_array<int32_t> slots(its.slots);
    int64_t written = 0;
    for (int32_t slot : its.slots) {
        written += slot >= 0 ? 1 : 0;
    }
    auto tokens = static_cast<int>(its.slots.size());
    in_every_order([&] {
        keys.clear();
        values.clear();
        kv_append_args args = {};
        args.keys = keys.target();
        args.values = values.target();
        args.slots = slots.data();
        args.format = its.format;
        args.tokens = tokens;
        args.kv_heads = its.kv_heads;
        args.head_dim = its.head_dim;
        begin_counting();
        assert_ran(kv_append(args, nullptr));
        assert_counted(kref_kv_append_work(figure_format(its.format), tokens, written, its.kv_heads,
                                           its.head_dim));
        keys.check();
        values.check();
    });
}

constexpr cache_format formats[] = {cache_format::fp8, cache_format::int8, cache_format::q4_0};
const std::vector<int32_t> some_slots = {17, 0, 39, -1, 8};

void rows_are_quantised(void **) {
    for (cache_format format : formats) {
        appends({format, {5}, 1, 32});
        appends({format, some_slots, 3, 64});
        appends({format, some_slots, 2, 128});
        appends({format, some_slots, 1, 256});
    }
}

void rows_of_all_sizes(void **) {
    for (cache_format format : formats) {
        appends({format, some_slots, 2, 64, 1000.0F});
        appends({format, some_slots, 2, 64, 0x1p-12F});
        /* Scales of q4_0 and of int8 that are 1.4 units of an fp16 and become 1 unit. */
        appends({format, some_slots, 2, 64, 8.0F * 0x1.6p-24F});
        appends({format, some_slots, 2, 64, 127.0F * 0x1.6p-24F});
    }
}

void padding_is_not_written(void **) {
    for (cache_format format : formats) {
        appends({format, {-1, -1}, 2, 64});
        appends({format, {}, 2, 64});
    }
}

/* A row of zeros has a scale of 0 and no NaN. */
void zeros_stay_zeros(void **) {
    for (cache_format format : formats) {
        appends({format, {0, 1}, 1, 64, 0.0F});
    }
}

void bad_shapes_are_refused(void **) {
    kv_append_args args = {};
    args.tokens = 1;
    args.kv_heads = 1;
    args.head_dim = 80;
    assert_non_null(strstr(kv_append(args, nullptr), "head_dim must be 32, 64, 128 or 256"));
    args.head_dim = 64;
    args.format = cache_format::fp8;
    assert_non_null(strstr(kv_append(args, nullptr), "fp8 takes head_scales"));
    args.kv_heads = 0;
    assert_non_null(strstr(kv_append(args, nullptr), "a key-value head"));
    args.tokens = -1;
    assert_non_null(strstr(kv_append(args, nullptr), "negative"));
}

} // namespace

int main() {
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_quantised),     cmocka_unit_test(rows_of_all_sizes),
        cmocka_unit_test(padding_is_not_written), cmocka_unit_test(zeros_stay_zeros),
        cmocka_unit_test(bad_shapes_are_refused),
    };
    return cmocka_run_group_tests_name("kv_append", tests, nullptr, nullptr);
}
